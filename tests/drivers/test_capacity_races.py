"""Real hosts have so much memory and disk: however many machines come at once, no more of them get in than fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from crofter.clock import Clock
from crofter.db import Database, query
from crofter.db.sql import delete
from crofter.drivers.hypervisor import (
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    Empty,
    Order,
    Progress,
    Refused,
    Unreachable,
)
from crofter.drivers.hypervisor.ledger import tables as shared
from crofter.drivers.hypervisor.ledger.entries import Disk, Domain
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.ledger.performing import Task, perform
from crofter.drivers.hypervisor.libvirt import planning, tables
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger, Store
from crofter.drivers.hypervisor.libvirt.media import Media
from tests.at_once import at_once

REGION = "us-east"
FIRST = code_of(REGION) * BLOCK + 1
MACHINE = DomainSpec(1, 2048)
FITTING, CREATES = 3, 8


class Fleet:
    """The ledger of the driver, with hosts that always answer and on which nothing is ever done."""

    def __init__(self, database: Database, *memory: int) -> None:
        self.store = Store(database, Clock())
        self._media = Media(Path("/nowhere"))
        with database.write() as db:
            for table in (shared.thing, shared.work, tables.host):
                db.run(query(delete(table)))
            for number, size in enumerate(memory):
                db.insert(tables.host, id=FIRST + number, memory=size, **HOST)

    def place(self, number: int) -> int:
        with self.store.reading() as ledger:
            return planning.place(ledger, REGION, number, MACHINE, None)

    def define(self, host: int, number: int) -> Progress:
        order = Order(number, "define", 1, "compute_create")
        return self._perform("domain", Domain, DomainRef(host, number), order, planning.define(MACHINE))

    def make_disk(self, host: int, number: int) -> Progress:
        order, ref, spec = Order(number, "disk", 1, "compute_create"), DiskRef(host, number), DiskSpec(4000)
        return self._perform("disk", Disk, ref, order, planning.make_disk(self._media, ref, spec, Empty()))

    def _perform(self, verb: str, document: Any, ref: Any, order: Order, plan: Any) -> Progress:
        return perform(self.store, Task(verb, document, ref, order, plan, creates=True))  # type: ignore[arg-type]

    def create(self, number: int) -> str:
        """Create as an operation does: find a host, then use it."""
        try:
            self.define(self.place(number), number)
            return "placed"
        except (Refused, Unreachable) as error:
            return error.reason

    def used(self, host: int) -> int:
        with self.store.reading() as ledger:
            return planning.used_memory(ledger, host)

    def machines(self) -> int:
        with self.store.reading() as ledger:
            return len(ledger.all(Domain))


HOST = {
    "region": REGION,
    "uri": "test:///default",
    "pool": "/pool",
    "network": "user",
    "architecture": "x86_64",
    "vcpus": 8,
    "disk": FITTING * 4000,
    "state": "up",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Database:
    database: Database = request.getfixturevalue("sqlite_store" if request.param == "sqlite" else "postgres_store")
    return database


def _all(call: Callable[[int], Any]) -> list[Any]:
    return at_once(*(lambda number=number: call(number) for number in range(1, CREATES + 1)))


def test_of_eight_machines_at_once_three_get_onto_a_host_for_three(store: Database) -> None:
    fleet = Fleet(store, FITTING * MACHINE.memory + 1)
    outcomes = _all(fleet.create)
    assert outcomes.count("placed") == FITTING, outcomes
    refusals = {"The host has no memory left for this.", f"The hosts of region {REGION} are full."}
    assert {reason for reason in outcomes if reason != "placed"} <= refusals
    assert (fleet.machines(), fleet.used(FIRST)) == (FITTING, FITTING * MACHINE.memory)


def test_of_two_hosts_none_gets_more_than_it_has_space_for(store: Database) -> None:
    fleet = Fleet(store, 2 * MACHINE.memory, MACHINE.memory)
    outcomes = _all(fleet.create)
    for _ in range(CREATES):  # slow clients retry
        outcomes = [
            fleet.create(number) if outcome != "placed" else outcome for number, outcome in enumerate(outcomes, 1)
        ]
    assert outcomes.count("placed") == fleet.machines() == FITTING
    assert (fleet.used(FIRST), fleet.used(FIRST + 1)) == (2 * MACHINE.memory, MACHINE.memory)


def test_disks_that_come_at_once_share_the_space_of_their_host(store: Database) -> None:
    fleet = Fleet(store, 1 << 20)

    def make(number: int) -> str:
        try:
            fleet.make_disk(FIRST, number)
            return "made"
        except Refused as error:
            return error.reason

    outcomes = _all(make)
    assert sorted(outcomes) == ["The host has no disk space left for this."] * (CREATES - FITTING) + ["made"] * FITTING


def test_the_test_would_see_a_host_that_is_not_locked(
    postgres_store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlocked(_ledger: HostLedger, _hosts: Iterable[int]) -> None:
        """Lock no hosts."""

    monkeypatch.setattr(HostLedger, "lock_hosts", unlocked)

    def too_many() -> bool:
        fleet = Fleet(postgres_store, FITTING * MACHINE.memory)
        return bool(_all(fleet.create).count("placed") > FITTING)

    assert any(too_many() for _ in range(20))  # the race need not occur in each round
