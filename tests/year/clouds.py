"""Servers with which a year can pass: one whose power fails at arbitrary points, and one whose process is killed."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import httpx2
from httpx2 import Client

from crofter.clock import HOUR, Setting
from crofter.db import Session, meta, open_database
from crofter.db.schema_changes import prepare
from crofter.drivers.hypervisor import DomainRef
from crofter.drivers.hypervisor.contract import PATIENCE
from crofter.drivers.hypervisor.reports import Usage
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from crofter.drivers.payments import InDoubt, Outcome, SimulatedGateway
from crofter.errors import Unavailable
from crofter.resources.regions import store as regions
from tests.cloud import Cloud
from tests.e2e.serving import Served
from tests.resources.money import moment, rows

BEGINNING = 1_799_568_000_000
"""2027-01-10 08:00, in milliseconds."""
GIGABYTE = 10**9
HEAVY, LIGHT = 8 * GIGABYTE, GIGABYTE // 10
"""Bytes an hour. One instance in three sends more than its plan gives."""


class Crash(BaseException):
    """Simulated end of the process."""


def sent(number: int, start: int, stop: int) -> int:
    """Bytes of an instance between two moments: known beforehand, and only by the full hour."""
    return (HEAVY if number % 3 == 0 else LIGHT) * max(0, stop // HOUR - start // HOUR)


class PredictableTraffic(SimulatedHypervisor):
    """Machines with predictable traffic."""

    def history(
        self, ref: DomainRef, start: int, stop: int, step: int, *, timeout: float = PATIENCE
    ) -> tuple[Usage, ...]:
        super().history(ref, start, stop, step, timeout=timeout)  # raises for missing machines
        return (Usage(start, stop, ipv4_out=sent(ref.id, start, stop)),)


class FailingGateway(SimulatedGateway):
    """A gateway in a bad year: answers get lost on either way, and workers die on either side of a charge."""

    def __init__(self, gateway: SimulatedGateway, seed: int, seen: Counter[str]) -> None:
        super().__init__(gateway._database)
        self._rng = random.Random(seed)
        self._seen = seen

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        chance = self._rng.randrange(10)
        if chance in (0, 1):
            self._seen["before a charge"] += 1
            raise Crash if chance else InDoubt
        outcome = super().charge(key, customer, token, cents)
        if chance in (2, 3):
            self._seen["after a charge"] += 1
            raise Crash if chance == 3 else InDoubt
        return outcome


class FailingCommits:
    """Fails at a chosen commit during an advance of the clock: immediately before or after."""

    def __init__(self, cloud: Cloud) -> None:
        self._database = cast("Any", cloud.runtime.database)
        self._begin, self._end = self._database.begin, self._database.end
        self._database.begin, self._database.end = self.begin, self.end
        self._left = 0
        self._commits = False
        self.failure: type[BaseException] | None = None

    def fail_after(self, commits: int, *, commits_last: bool) -> None:
        self._left, self._commits = commits, commits_last

    def begin(self, shared: Any = None) -> None:
        if self.failure is not None:
            raise self.failure
        self._begin(shared)

    def end(self, error: BaseException | None, session: Session) -> None:
        if self._left and error is None and threading.current_thread().name in ("MainThread", "time-travel"):
            self._left -= 1
            if not self._left:
                self.failure = Crash
                self._end(None if self._commits else Crash(), session)
                raise Crash
        self._end(error, session)


class RestartingServer:
    """A server in this process. The same seed makes the same server, mishaps and all."""

    def __init__(self, place: Path | str, seed: int, *, cuts: bool = True) -> None:
        """In a folder, or at the address of a database; only in a folder can the power fail."""
        self._settings: dict[str, Any] = {"database": place} if isinstance(place, str) else {"data": str(place)}
        self._seed, self._cuts = seed, cuts
        self._rng = random.Random(seed)
        self.seen: Counter[str] = Counter()
        _stand_still(place)
        self._open()

    def _open(self) -> None:
        self.cloud = Cloud(**self._settings, seed=self._seed, secret_key="5a" * 32)
        runtime = self.cloud.runtime
        assert isinstance(runtime.payments, SimulatedGateway)
        runtime.payments = FailingGateway(runtime.payments, self._rng.randrange(2**32), self.seen)
        with self.cloud.runtime.database.read() as db:
            slugs = regions.slugs(db)
        runtime.hypervisor = PredictableTraffic(runtime.database, runtime.clock, slugs)
        self._power = FailingCommits(self.cloud) if self._cuts else None
        self._clients: dict[str, Client] = {}

    def now(self) -> int:
        return self.cloud.runtime.clock.now()

    def advance(self, seconds: float) -> None:
        target = self.now() + round(seconds * 1000)
        while self._moves(lambda: self.cloud.application.time_travel.advance((target - self.now()) / 1000)):
            pass

    def settle(self) -> None:
        while self._moves(lambda: self.cloud.application.time_travel.settle(600)):
            pass

    def _moves(self, move: Any) -> bool:
        """True if the power failed during the advance, which must be repeated."""
        if self._power is None:
            move()
            return False
        if self._rng.random() < 0.04:
            self._power.fail_after(self._rng.randrange(1, 60), commits_last=self._rng.random() < 0.5)
        try:
            move()
            self._power.fail_after(0, commits_last=False)
        except Crash:
            self.seen["power cuts"] += 1
            self._power.failure = Unavailable  # a dead process writes nothing
            self.restart()
            return True
        return False

    def restart(self) -> None:
        self.cloud.close()
        self._open()

    def client(self, token: str) -> Client:
        """Return a client per token: a server limits the connections of a peer."""
        if token not in self._clients:
            self._clients[token] = self.cloud.client(token)
        return self._clients[token]

    def account(self, **options: Any) -> tuple[int, str]:
        made = self.cloud.account(**options)
        return int(self.rows(f"SELECT id FROM account WHERE euuid = '{made['euuid']}'")[0][0]), made["token"]

    def rows(self, sql: str) -> list[Sequence[Any]]:
        return rows(self.cloud, sql)

    def close(self) -> None:
        self.cloud.close()


def _stand_still(place: Path | str) -> None:
    """Freeze the clock of a database before a server starts on it."""
    database = open_database(place, None) if isinstance(place, str) else open_database(None, place)
    prepare(database)
    with database.write() as db:
        setting = Setting("frozen", 0, BEGINNING)
        meta.put(db, "clock", {"mode": setting.mode, "offset": 0, "frozen_at": setting.frozen_at, "serial": 1})
    database.close()


class KilledServer:
    """A server in a process of its own, which is killed while it moves its clock."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self.seen: Counter[str] = Counter()
        _stand_still(folder)
        self._served = Served(folder)
        self._clients: dict[str, Client] = {}

    def now(self) -> int:
        return moment(self._served.call("GET", "/_sandbox/clock")["now"])

    def advance(self, seconds: float) -> None:
        target = self.now() + round(seconds * 1000)
        while (left := target - self.now()) > 0:
            if left > HOUR and self._rng.random() < 0.2:
                self._killed_during(left / 1000)
            else:
                self._served.call("POST", "/_sandbox/clock/advance", seconds=left / 1000)

    def _killed_during(self, seconds: float) -> None:
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(self._try, seconds)
            time.sleep(self._rng.uniform(0.0, 0.4))  # wherever it is by then
            self.seen["kills"] += not call.done()
            self._served.kill()
        self._served.start()
        self._clients.clear()

    def _try(self, seconds: float) -> None:
        try:
            self._served.client.post("/_sandbox/clock/advance", json={"seconds": seconds})
        except httpx2.HTTPError:
            return

    def settle(self) -> None:
        self._served.call("POST", "/_sandbox/settle", limit=600)

    def client(self, token: str) -> Client:
        headers = {"Authorization": f"Bearer {token}"}
        return self._clients.setdefault(token, httpx2.Client(base_url=self._served.url, headers=headers, timeout=60))

    def account(self, **options: Any) -> tuple[int, str]:
        made = self._served.call("POST", "/_sandbox/accounts", **options)
        return int(self.rows(f"SELECT id FROM account WHERE euuid = '{made['euuid']}'")[0][0]), made["token"]

    def rows(self, sql: str) -> list[Sequence[Any]]:
        connection = sqlite3.connect(f"file:{self._folder / 'crofter.db'}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def close(self) -> None:
        self._served.stop()
