"""A year of money, fast-forwarded: whatever happened on the way, every invoice is what the usage comes to."""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client

from crofter.clock import DAY, HOUR, Setting
from crofter.db import meta, open_database
from crofter.db.schema import prepare
from crofter.drivers.payments import InDoubt, Outcome, SimulatedGateway
from tests.cloud import Cloud
from tests.resources.money import CARD, books_are_in_order, moment, rows

BEGINNING = "2027-01-10T08:00:00"
PLANS = ("g6-nanode-1", "g6-standard-1", "g6-standard-2", "g6-standard-6", "g6-dedicated-8")
COUNTRIES = ("", "DE", "AU", "US", "GB")
TAXES = {"DE": Decimal("0.19"), "AU": Decimal("0.10"), "GB": Decimal("0.20")}
CARDS = ("valid", "valid", "valid", "declined")
CENT = 10_000
DIFFERENT_EACH_TIME = {"meta", "worker", "account_user"}
"""Tables that hold real time, or a salt for a password."""


class Crash(BaseException):
    """A worker that dies."""


class Trouble(SimulatedGateway):
    """A gateway in a bad year: answers get lost on either way, and workers die on either side of a charge."""

    def __init__(self, gateway: SimulatedGateway, seed: int) -> None:
        super().__init__(gateway._database)
        self._dice = random.Random(seed)
        self.seen: Counter[str] = Counter()

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        chance = self._dice.randrange(10)
        if chance in (0, 1):
            self.seen["before"] += 1
            raise Crash if chance else InDoubt
        outcome = super().charge(key, customer, token, cents)
        if chance in (2, 3):
            self.seen["after"] += 1
            raise Crash if chance == 3 else InDoubt
        return outcome


class Year:
    """Accounts that create, resize, back up, transfer and delete; in a house that is sometimes torn down."""

    def __init__(self, folder: Path, seed: int, accounts: int) -> None:
        self._folder, self._seed = folder, seed
        self.dice = random.Random(seed)
        self.done: Counter[str] = Counter()
        _stand_still(folder)
        self.cloud = self._open()
        self.tokens = [
            self.cloud.account(username=f"owner-{number}", card=CARDS[number % 4], public_ips=3)["token"]
            for number in range(accounts)
        ]
        self.owners = [self.cloud.client(token) for token in self.tokens]
        self.troubles: Counter[str] = Counter()
        for number, owner in enumerate(self.owners):
            if country := COUNTRIES[number % len(COUNTRIES)]:
                owner.put("/v4/account", json={"country": country})
            if number % 3 == 0:
                owner.post("/v4/account/promo-codes", json={"promo_code": "SANDBOX-100"})

    def _open(self) -> Cloud:
        cloud = Cloud(data=str(self._folder), seed=self._seed, secret_key="5a" * 32)
        self.gateway = Trouble(cloud.world.services["payments"], self.dice.randrange(2**32))
        cloud.world.services["payments"] = self.gateway
        return cloud

    def tear_down_and_rebuild(self) -> None:
        self.troubles += self.gateway.seen
        self.cloud.close()
        self.cloud = self._open()
        self.owners = [self.cloud.client(token) for token in self.tokens]

    def run(self, days: int, deeds: int) -> None:
        end = moment(BEGINNING) + days * DAY
        rebuild = [self.dice.randrange(moment(BEGINNING), end) for _ in range(max(2, days // 60))]
        while self.cloud.world.clock.now() < end:
            self.cloud.house.conductor.advance(self.dice.randrange(12 * 3600, 84 * 3600))
            if any(one <= self.cloud.world.clock.now() for one in rebuild):
                rebuild = [one for one in rebuild if one > self.cloud.world.clock.now()]
                self.tear_down_and_rebuild()
            for _ in range(deeds):
                self._deed(self.dice.choice(self.owners))
                self.cloud.house.conductor.settle(600)
        self.cloud.house.conductor.advance(40 * DAY / 1000)  # every month that had begun is billed
        self.troubles += self.gateway.seen

    def _deed(self, owner: Client) -> None:
        deed = self.dice.choice(
            [
                "create",
                "create",
                "create",
                "resize",
                "resize",
                "backup",
                "address",
                "delete",
                "transfer",
                "pay",
                "rename",
            ]
            + ["manage"] * (self.done["manage"] == 0)
        )
        found = owner.get("/v4/compute/instances?page_size=500").json()["data"]
        number = self.dice.choice(found)["id"] if found else None
        answer = getattr(self, f"_{deed}")(owner, number)
        if answer is not None and answer.status_code == 200:
            self.done[deed] += 1

    def _create(self, owner: Client, _number: int | None) -> Any:
        body = {"region": "us-east", "type": self.dice.choice(PLANS), "backups_enabled": self.dice.random() < 0.3}
        return owner.post("/v4/compute/instances", json=body)

    def _resize(self, owner: Client, number: int | None) -> Any:
        url = f"/v4/compute/instances/{number}/resize"
        return owner.post(url, json={"type": self.dice.choice(PLANS)}) if number else None

    def _backup(self, owner: Client, number: int | None) -> Any:
        verb = self.dice.choice(("enable", "cancel"))
        return owner.post(f"/v4/compute/instances/{number}/backups/{verb}") if number else None

    def _address(self, owner: Client, number: int | None) -> Any:
        if number is None:
            return None
        held = owner.get(f"/v4/compute/instances/{number}/ips").json()["ipv4"]["public"]
        if len(held) > 1 and self.dice.random() < 0.4:
            return owner.delete(f"/v4/compute/instances/{number}/ips/{held[-1]['address']}")
        return owner.post(f"/v4/compute/instances/{number}/ips", json={"type": "ipv4", "public": True})

    def _delete(self, owner: Client, number: int | None) -> Any:
        return owner.delete(f"/v4/compute/instances/{number}") if number else None

    def _rename(self, owner: Client, number: int | None) -> Any:
        label = f"renamed-{self.dice.randrange(10**6)}"
        return owner.put(f"/v4/compute/instances/{number}", json={"label": label}) if number else None

    def _transfer(self, owner: Client, number: int | None) -> Any:
        made = owner.post("/v4/account/service-transfers", json={"entities": {"computes": [number or 0]}})
        if made.status_code != 200:
            return None
        url = f"/v4/account/service-transfers/{made.json()['token']}"
        if self.dice.random() < 0.2:
            return owner.delete(url)
        return self.dice.choice(self.owners).post(f"{url}/accept")

    def _pay(self, owner: Client, _number: int | None) -> Any:
        owed = owner.get("/v4/account").json()["balance"]
        if owed <= 0:
            return None
        if self.dice.random() < 0.5:
            owner.post("/v4/account/credit-card", json=CARD)
        return owner.post("/v4/account/payments", json={"usd": f"{owed:.2f}"})

    def _manage(self, owner: Client, _number: int | None) -> Any:
        return owner.post("/v4/account/settings/managed-enable")


def _stand_still(folder: Path) -> None:
    """A database whose clock stands before the house is founded in it."""
    database = open_database(None, folder)
    prepare(database)
    with database.write() as db:
        setting = Setting("frozen", 0, moment(BEGINNING))
        meta.put(db, "clock", {"mode": setting.mode, "offset": 0, "frozen_at": setting.frozen_at, "serial": 1})
    database.close()


# ---- the same, reckoned another way ---------------------------------------------------------------------------------


def month(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m")


def cents(amount: Decimal) -> int:
    return int((amount / CENT).quantize(Decimal(1), ROUND_HALF_UP)) * CENT


def usage(cloud: Cloud, account: int) -> list[Any]:
    names = "id, coalesce(chain, id), label, hourly, monthly, began, ended"
    return rows(cloud, f"SELECT {names} FROM meter WHERE account_id = {account} ORDER BY id")


def reckoned(cloud: Cloud, account: int, dates: list[int]) -> dict[int, Counter[tuple[str, int, int]]]:
    """The lines of each invoice, by its date: hour by hour, from the meters alone."""
    spent: dict[tuple[int, str], int] = {}
    caps: dict[tuple[int, str], int] = {}
    lines: dict[tuple[int, int, str], list[int]] = {}
    labels: dict[int, str] = {}
    for number, chain, label, hourly, monthly, began, ended in usage(cloud, account):
        labels[number] = label
        for hour in range(began, min(ended or dates[-1], dates[-1]), HOUR):
            bill = next(date for date in dates if date > hour)
            key = (chain, month(hour))
            caps[key] = max(caps.get(key, 0), monthly)
            before = spent.get(key, 0)
            spent[key] = min(caps[key], before + hourly)
            line = lines.setdefault((bill, number, month(hour)), [0, 0])
            line[0] += 1
            line[1] += spent[key] - before
    found: dict[int, Counter[tuple[str, int, int]]] = {date: Counter() for date in dates}
    for (bill, number, _), (hours, amount) in lines.items():
        found[bill][_number(labels[number]), hours, cents(Decimal(amount))] += 1
    return found


def _number(label: str) -> str:
    """What a line is about, whatever it was called: the service and the number."""
    return f"{label.partition(' - ')[0]} {label.rpartition('(')[2]}"


def invoices_are_what_the_usage_comes_to(cloud: Cloud) -> int:
    checked = 0
    for (account,) in rows(cloud, "SELECT id FROM account ORDER BY id"):
        bills = rows(
            cloud, f"SELECT id, date, subtotal, tax, address FROM invoice WHERE account_id = {account} ORDER BY id"
        )
        dates = sorted({moment(date) for _, date, *_ in bills})
        if not dates:
            continue
        expected = reckoned(cloud, account, dates)
        for number, date, subtotal, tax, address in bills:
            lines = rows(
                cloud, f"SELECT what, label, quantity, amount, tax FROM invoice_item WHERE invoice_id = {number}"
            )
            metered = Counter(
                (_number(label), hours, amount)
                for what, label, hours, amount, _ in lines
                if what not in ("credit", "transfer")
            )
            assert metered == expected[moment(date)], (account, number, date)
            rate = next((TAXES[country] for country in TAXES if f'"country":"{country}"' in address), Decimal(0))
            for what, _, _, amount, taxed in lines:
                assert what == "credit" or taxed == cents(amount * rate)
            assert (sum(line[3] for line in lines), sum(line[4] for line in lines)) == (subtotal, tax)
            credit = [line for line in lines if line[0] == "credit"]
            assert len(credit) <= 1
            assert subtotal >= 0
            assert tax >= 0
            checked += 1
        nothing_was_forgotten(cloud, account, dates[-1])
    return checked


def nothing_was_forgotten(cloud: Cloud, account: int, last: int) -> None:
    """All hours up to the last invoice are on an invoice, and none is on two."""
    hours = sum(len(range(began, min(ended or last, last), HOUR)) for *_, began, ended in usage(cloud, account))
    billed = rows(
        cloud,
        "SELECT coalesce(sum(n.quantity), 0) FROM invoice_item n JOIN invoice i ON i.id = n.invoice_id"
        f" WHERE i.account_id = {account} AND n.type = 'hourly'",
    )
    free = hours - int(billed[0][0])
    assert free == 0


def no_hour_of_an_object_is_metered_twice(cloud: Cloud) -> None:
    """Whatever its plan was and whoever had it: one meter after the other, and none after it was deleted."""
    last: dict[tuple[str, int], tuple[int, int | None]] = {}
    for what, number, began, ended in rows(
        cloud, "SELECT what, object_id, began, ended FROM meter WHERE what IN ('compute', 'backup') ORDER BY id"
    ):
        if (what, number) in last:
            before, stopped = last[what, number]
            assert stopped is not None
            assert began >= before + -(-max(0, stopped - before) // HOUR) * HOUR or what == "backup"
        last[what, number] = (began, ended)
    alive = {number for (number,) in rows(cloud, "SELECT id FROM instance")}
    running = {
        number for (number,) in rows(cloud, "SELECT object_id FROM meter WHERE what = 'compute' AND ended IS NULL")
    }
    assert running == alive
    owners = rows(
        cloud,
        "SELECT i.id FROM instance i JOIN meter m ON m.object_id = i.id AND m.what = 'compute'"
        " AND m.ended IS NULL WHERE m.account_id <> i.account_id",
    )
    assert owners == []


def promotions_were_not_overspent(cloud: Cloud) -> None:
    spent = rows(
        cloud,
        "SELECT i.account_id, substr(i.period, 1, 7), -sum(n.amount) FROM invoice_item n"
        " JOIN invoice i ON i.id = n.invoice_id WHERE n.what = 'credit' GROUP BY 1, 2",
    )
    assert all(0 < int(amount) <= 50_000_000 for _, _, amount in spent)
    total: Counter[int] = Counter()
    for account, _, amount in spent:
        total[account] += int(amount)
    assert all(amount <= 100_000_000 for amount in total.values())


def fingerprint(cloud: Cloud) -> str:
    """Of everything that the house has written down."""
    print_ = hashlib.sha256()
    names = rows(
        cloud, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    for (name,) in names:
        if name not in DIFFERENT_EACH_TIME:
            for row in sorted(map(repr, rows(cloud, f'SELECT * FROM "{name}"'))):
                print_.update(f"{name} {row}\n".encode())
    return print_.hexdigest()


@pytest.fixture
def folders() -> Iterator[Any]:
    """Places that forget everything, and are quick because of it."""
    memory = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield lambda name: base / name
    shutil.rmtree(base, ignore_errors=True)


@pytest.mark.parametrize(
    ("accounts", "days", "deeds", "bills"),
    [
        pytest.param(4, 366, 1, 25, id="handful"),
        pytest.param(50, 366, 12, 400, id="fifty", marks=pytest.mark.soak),
    ],
)
def test_after_a_year_every_invoice_is_what_the_usage_comes_to(
    folders: Any, accounts: int, days: int, deeds: int, bills: int
) -> None:
    year = Year(folders("year"), 20270110, accounts)
    try:
        year.run(days, deeds)
        cloud = year.cloud
        assert invoices_are_what_the_usage_comes_to(cloud) >= bills
        books_are_in_order(cloud)
        no_hour_of_an_object_is_metered_twice(cloud)
        promotions_were_not_overspent(cloud)
        assert rows(cloud, "SELECT 1 FROM charge WHERE status = 'pending'") == []
        assert {"create", "resize", "delete", "transfer"} <= set(year.done)
        assert year.troubles["before"] > 0
        assert year.troubles["after"] > 0
    finally:
        year.cloud.close()


@pytest.mark.parametrize(
    ("accounts", "days", "deeds"),
    [pytest.param(3, 45, 2, id="weeks"), pytest.param(50, 366, 12, id="year", marks=pytest.mark.soak)],
)
def test_the_same_seed_makes_the_same_year_to_the_last_byte(folders: Any, accounts: int, days: int, deeds: int) -> None:
    prints = []
    for name, seed in (("one", 7), ("again", 7), ("other", 8)):
        if name == "other" and days > 100:
            continue
        year = Year(folders(name), seed, accounts)
        try:
            year.run(days, deeds)
            prints.append(fingerprint(year.cloud))
        finally:
            year.cloud.close()
    assert prints[0] == prints[1]
    assert len(prints) == 2 or prints[2] != prints[0]
