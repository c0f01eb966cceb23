"""A year in the life of some accounts: requests and responses are recorded."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from httpx2 import Client, Response

from crofter.clock import DAY, HOUR
from tests.resources.money import CARD
from tests.year.clouds import BEGINNING, KilledServer, RestartingServer

PLANS = ("g6-nanode-1", "g6-standard-1", "g6-standard-2", "g6-standard-6", "g6-dedicated-8")
COUNTRIES = ("", "DE", "AU", "US", "GB")
CARDS = ("valid", "valid", "valid", "declined")
CODE = "SANDBOX-100"
ACTIONS = (
    *("create", "create", "create", "resize", "resize", "backups", "address", "delete", "transfer", "transfer"),
    *("pay", "rename", "volume", "balancer"),
)
SOON = 60_000
"""Milliseconds. Longer work does not start this shortly before the end of an hour: its events do not show the hour of
the change.
"""


class Event(NamedTuple):
    """An event of the log, read before its deletion."""

    id: int
    account: int
    action: str
    status: str
    created: str
    finished: int | None
    entity: str | None


class ResourceChange(NamedTuple):
    """A creation, change or deletion of a volume or load balancer, with its time."""

    at: int
    account: int
    what: str
    number: int
    size: int


@dataclass
class Log:
    """Facts without an event: requested plans, and contents of transfers."""

    events: dict[int, Event] = field(default_factory=dict)
    plans: dict[int, list[str]] = field(default_factory=dict)
    backed_up: set[int] = field(default_factory=set)
    placed: set[int] = field(default_factory=set)
    """Instances that are on a host: what has no image is nowhere, and sends nothing."""
    contents: dict[str, list[int]] = field(default_factory=dict)
    ended: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Result and time of each transfer: the completion has no event."""
    countries: dict[int, str] = field(default_factory=dict)
    redeemed: dict[int, int] = field(default_factory=dict)
    made: list[ResourceChange] = field(default_factory=list)
    predictable_traffic: bool = True
    """True if the traffic of each instance is predictable; otherwise all traffic is within the plans."""
    _open: int = 0

    def read(self, application: RestartingServer | KilledServer) -> None:
        columns = "id, account_id, action, status, created, finished, entity_id"
        for row in application.rows(f"SELECT {columns} FROM event WHERE id >= {self._open} ORDER BY id"):
            self.events[row[0]] = Event(*row)
        unfinished = [event.id for event in self.events.values() if event.status in ("scheduled", "started")]
        self._open = min(unfinished, default=max(self.events, default=0))


class Year:
    """Accounts that create, resize, back up, transfer and delete; in a server that dies on them now and then."""

    def __init__(self, application: RestartingServer | KilledServer, seed: int, accounts: int) -> None:
        self.application = application
        self.rng = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.log = Log(predictable_traffic=isinstance(application, RestartingServer))
        self._began: dict[int, list[int]] = {}
        """When each instance, and what hangs on it, began to cost money."""
        opened = [
            application.account(username=f"owner-{at}", card=CARDS[at % 4], public_ips=3) for at in range(accounts)
        ]
        self.numbers = [number for number, _ in opened]
        self.tokens = [token for _, token in opened]
        for at, number in enumerate(self.numbers):
            self.log.countries[number] = COUNTRIES[at % len(COUNTRIES)]
            if country := self.log.countries[number]:
                assert self._owner(at).put("/v4/account", json={"country": country}).status_code == 200
            if at % 3 == 0:
                assert self._owner(at).post("/v4/account/promo-codes", json={"promo_code": CODE}).status_code == 200
                self.log.redeemed[number] = application.now()

    def _owner(self, at: int) -> Client:
        return self.application.client(self.tokens[at])

    def run(self, days: int, actions: int) -> None:
        end = BEGINNING + days * DAY
        while self.application.now() < end:
            self.application.advance(self.rng.randrange(12 * 3600, 84 * 3600))
            for _ in range(actions):
                self._act(self.rng.randrange(len(self.tokens)))
                self.application.settle()
            self.log.read(self.application)
        self._end()

    def _end(self) -> None:
        """Every month that had begun is billed, and what is under way comes to its end."""
        self.application.advance(40 * DAY / 1000)
        self.log.read(self.application)
        for token in self.log.contents:
            sender = next(event for event in self.log.events.values() if event.entity == f'"{token}"').account
            client = self._owner(self.numbers.index(sender))
            transfer = client.get(f"/v4/account/service-transfers/{token}").json()
            self.log.ended[token] = (transfer["status"], transfer["updated"])

    def _act(self, at: int) -> None:
        self.application.advance(
            1 - self.application.now() % 1000 / 1000
        )  # requests are sent at full seconds, the precision of events
        entry = self.rng.choice(ACTIONS) if self.done["manage"] else "manage"
        owner = self._owner(at)
        instances = owner.get("/v4/compute/instances?page_size=500").json()["data"]
        number = self.rng.choice(instances)["id"] if instances else 0
        if entry == "create" or number or entry in ("volume", "balancer", "pay", "manage"):
            answer = getattr(self, f"_{entry}")(at, owner, number)
            self.done[entry] += answer is not None and answer.status_code == 200

    def _hour_ends_soon(self, number: int) -> bool:
        now = self.application.now()
        return any((now - began) % HOUR >= HOUR - SOON for began in (0, *self._began[number]))

    # ---- actions ----------------------------------------------------------------------------------------------------

    def _create(self, _at: int, owner: Client, _number: int) -> Response:
        body = {"region": "us-east", "type": self.rng.choice(PLANS), "backups_enabled": self.rng.random() < 0.3}
        if self.rng.random() < 0.6:
            body |= {"image": "compute/debian11", "root_pass": "Vq7!mmpx-Tolp"}
        answer = owner.post("/v4/compute/instances", json=body)
        if answer.status_code == 200:
            made = answer.json()
            self.log.plans[made["id"]] = [made["type"]]
            self._began[made["id"]] = [self.application.now()]
            if "image" in body:
                self.log.placed.add(made["id"])
            if made["backups"]["enabled"]:
                self.log.backed_up.add(made["id"])
        return answer

    def _resize(self, _at: int, owner: Client, number: int) -> Response | None:
        if self._hour_ends_soon(number):
            return None
        plan = self.rng.choice(PLANS)
        answer = owner.post(f"/v4/compute/instances/{number}/resize", json={"type": plan})
        if answer.status_code == 200:
            self.log.plans[number].append(plan)
        return answer

    def _backups(self, _at: int, owner: Client, number: int) -> Response:
        verb = self.rng.choice(("enable", "cancel"))
        self._began[number].append(self.application.now())
        return owner.post(f"/v4/compute/instances/{number}/backups/{verb}")

    def _address(self, _at: int, owner: Client, number: int) -> Response:
        url = f"/v4/compute/instances/{number}/ips"
        held = owner.get(url).json()["ipv4"]["public"]
        if len(held) > 1 and self.rng.random() < 0.4:
            return owner.delete(f"{url}/{held[-1]['address']}")
        self._began[number].append(self.application.now())
        return owner.post(url, json={"type": "ipv4", "public": True})

    def _delete(self, _at: int, owner: Client, number: int) -> Response | None:
        return None if self._hour_ends_soon(number) else owner.delete(f"/v4/compute/instances/{number}")

    def _rename(self, _at: int, owner: Client, number: int) -> Response:
        label = f"renamed-{self.rng.randrange(10**6)}"
        return owner.put(f"/v4/compute/instances/{number}", json={"label": label})

    def _transfer(self, _at: int, owner: Client, number: int) -> Response | None:
        if self._hour_ends_soon(number):
            return None
        made = owner.post("/v4/account/service-transfers", json={"entities": {"computes": [number]}})
        if made.status_code != 200:
            return None
        token = made.json()["token"]
        self.log.contents[token] = [number]
        if self.rng.random() < 0.2:
            return owner.delete(f"/v4/account/service-transfers/{token}")
        receiver = self._owner(self.rng.randrange(len(self.tokens)))
        return receiver.post(f"/v4/account/service-transfers/{token}/accept")

    def _pay(self, _at: int, owner: Client, _number: int) -> Response | None:
        owed = owner.get("/v4/account").json()["balance"]
        if owed <= 0:
            return None
        if self.rng.random() < 0.5:
            owner.post("/v4/account/credit-card", json=CARD)
        return owner.post("/v4/account/payments", json={"usd": f"{owed:.2f}"})

    def _manage(self, _at: int, owner: Client, _number: int) -> Response:
        return owner.post("/v4/account/settings/managed-enable")

    # ---- volumes and load balancers --------------------------------------------------------------------------------

    def _volume(self, at: int, owner: Client, _number: int) -> Response | None:
        mine = self._still_there("volume", self.numbers[at])
        size = self.rng.randrange(10, 500)
        if mine is None:
            return self._make(at, owner, "volume", size, {"region": "us-east", "size": size})
        if self.rng.random() < 0.5 or size <= mine.size:
            return self._remove(owner, "volumes", mine)
        return self._grow(owner, mine, size)

    def _balancer(self, at: int, owner: Client, _number: int) -> Response | None:
        mine = self._still_there("nodebalancer", self.numbers[at])
        if mine is None:
            return self._make(at, owner, "nodebalancer", 1, {"region": "us-east"})
        return self._remove(owner, "nodebalancers", mine)

    def _still_there(self, what: str, account: int) -> ResourceChange | None:
        last = {fact.number: fact for fact in self.log.made if (fact.what, fact.account) == (what, account)}
        return next((fact for fact in last.values() if fact.size), None)

    def _make(self, at: int, owner: Client, what: str, size: int, body: dict[str, Any]) -> Response:
        now = self.application.now()
        answer = owner.post(f"/v4/{what}s", json={"label": f"{what}-{len(self.log.made)}", **body})
        if answer.status_code == 200:
            self.log.made.append(ResourceChange(now, self.numbers[at], what, answer.json()["id"], size))
        return answer

    def _grow(self, owner: Client, mine: ResourceChange, size: int) -> Response | None:
        if self._ends_soon(mine):
            return None
        answer = owner.post(f"/v4/volumes/{mine.number}/resize", json={"size": size})
        if answer.status_code == 200:
            self.application.settle()  # the new size is paid for when it is there
            self.log.made.append(mine._replace(at=self.application.now(), size=size))
        return answer

    def _remove(self, owner: Client, collection: str, mine: ResourceChange) -> Response | None:
        if self._ends_soon(mine):
            return None
        now = self.application.now()
        answer = owner.delete(f"/v4/{collection}/{mine.number}")
        if answer.status_code == 200:
            self.log.made.append(mine._replace(at=now, size=0))
        return answer

    def _ends_soon(self, mine: ResourceChange) -> bool:
        began = [fact.at for fact in self.log.made if (fact.what, fact.number) == (mine.what, mine.number)]
        return any((self.application.now() - moment) % HOUR >= HOUR - SOON for moment in (0, *began))
