"""What goes wrong in the simulated world when the sandbox says so."""

from __future__ import annotations

from msgspec.structs import replace
from sqlalchemy import bindparam, update

from crofter.db import query
from crofter.drivers.hypervisor.errors import Absent, Refused
from crofter.drivers.hypervisor.ledger import changes, tables, world
from crofter.drivers.hypervisor.ledger.scene import FAULTS, Scene
from crofter.drivers.hypervisor.ledger.things import Domain, Thing
from crofter.drivers.hypervisor.ledger.transactions import Transactions
from crofter.drivers.hypervisor.ledger.world import World
from crofter.drivers.hypervisor.reports import Reason

_work = tables.work.c
_FAIL_OPEN = query(
    update(tables.work)
    .where(
        _work.operation == bindparam("served"),
        _work.kind == Domain.kind,
        _work.id == bindparam("number"),
        _work.ends > bindparam("now"),
    )
    .values(ends=bindparam("now"), failure=bindparam("why"))
)


class Faults:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def world(self) -> World:
        """Which faults hold."""
        with self._transactions.reading() as scene:
            return scene.world

    def host_of(self, domain: int) -> int:
        """The host of a machine, which faults are told by."""
        with self._transactions.reading() as scene:
            return _there(scene, domain).host

    def power_off(self, domain: int, reason: Reason = "guest") -> None:
        """The guest shuts itself down, or dies."""
        host = self.host_of(domain)
        with self._transactions.writing() as scene:
            scene.lock_hosts((FAULTS, host))
            thing = _there(scene, domain)
            if thing.doc is None or not thing.doc.on:
                raise Refused("The machine is not on.")
            _switch(scene, thing, thing.doc.stopped(scene.now, reason))

    def maintenance(self, host: int, *, begins: bool) -> None:
        """All machines of the host go off with it, and those that were on come on with it."""
        self._must_know(host)
        with self._transactions.writing() as scene:
            scene.lock_hosts((FAULTS, host))
            if begins == (host in scene.world.maintenance):
                return
            changed = scene.world.maintenance ^ {host}
            world.save(scene.db, replace(scene.world, maintenance=changed))
            for thing in scene.all(Domain, host):
                if begins:
                    _host_leaves(scene, thing)
                else:
                    _host_returns(scene, thing)

    def unreachable(self, host: int, *, begins: bool) -> None:
        """The host does not answer, while its machines run on."""
        self._must_know(host)
        with self._transactions.writing() as scene:
            scene.lock_hosts((FAULTS,))
            hosts = scene.world.unreachable | {host} if begins else scene.world.unreachable - {host}
            world.save(scene.db, replace(scene.world, unreachable=hosts))

    def outage(self, region: str, *, begins: bool) -> None:
        """No host of the region answers."""
        if region not in self._transactions.fleet.regions:
            raise Absent(f"There is no region {region}.")
        with self._transactions.writing() as scene:
            scene.lock_hosts((FAULTS,))
            regions = scene.world.outages | {region} if begins else scene.world.outages - {region}
            world.save(scene.db, replace(scene.world, outages=regions))

    def mend(self) -> None:
        """Every host and region is well again."""
        for host in sorted(self.world().maintenance):
            self.maintenance(host, begins=False)
        with self._transactions.writing() as scene:
            scene.lock_hosts((FAULTS,))
            world.save(scene.db, replace(scene.world, unreachable=frozenset(), outages=frozenset()))

    def _must_know(self, host: int) -> None:
        if self._transactions.fleet.region(host) is None:
            raise Absent(f"There is no host {host}.")


def _there(scene: Scene, domain: int) -> Thing[Domain]:
    thing = scene.find(Domain, domain)
    if thing is None or thing.doc is None:
        raise Absent(f"There is no domain {domain}.")
    return thing


def _host_leaves(scene: Scene, thing: Thing[Domain]) -> None:
    doc, becomes = thing.doc, thing.becomes
    assert doc is not None
    booting = becomes is not None and becomes.on and not doc.on
    if booting:
        values = {"served": thing.operation, "number": thing.id, "now": scene.now}
        scene.db.run(_FAIL_OPEN, **values, why="The host went into maintenance.")
        idle = replace(thing, due=None, becomes=None)
        _switch(scene, idle, replace(doc, reason="host", resumes=True))
    elif doc.on:
        asked_off = thing.due is not None and (becomes is None or not becomes.on)
        _switch(scene, thing, doc.stopped(scene.now, "host", resumes=not asked_off))
    else:
        changes.tell(scene, thing, doc)


def _host_returns(scene: Scene, thing: Thing[Domain]) -> None:
    assert thing.doc is not None
    if thing.doc.resumes:
        _switch(scene, thing, thing.doc.started(scene.now))
    else:
        changes.tell(scene, thing, thing.doc)


def _switch(scene: Scene, thing: Thing[Domain], doc: Domain) -> None:
    """A machine changes by itself; of the work under way only the definition and the deletion are left."""
    becomes = thing.becomes if thing.becomes is None else replace(doc, spec=thing.becomes.spec)
    scene.save(Domain, replace(thing, doc=doc, becomes=becomes))
    changes.tell(scene, thing, doc)
