"""Taking a host out of service and back: its machines go off with it, and those that were on come on with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger import changes
from crofter.drivers.hypervisor.ledger.things import Domain, Thing
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.fleet import State
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.noticing import Noticing

GRACE = 60.0
"""Seconds that guests have to shut down, all at once, before their power is taken away."""


class Maintenance:
    def __init__(self, hosts: Hosts, noticing: Noticing) -> None:
        self._hosts = hosts
        self._store = hosts.store
        self._noticing = noticing

    def change(self, number: int, *, begins: bool, grace: float = GRACE) -> None:
        host = self._hosts.client(number)
        _ = host.look  # Unreachable, before anything was written
        if (host.entry.state == "maintenance") == begins:
            return
        self._mark(number, "maintenance" if begins else "up")  # first of all: nothing new comes or boots
        with self._store.reading() as scene:
            machines = [thing.id for thing in scene.all(Domain, number)]
        for machine in machines:
            self._noticing.look(machine)
        running = {machine for machine in machines if host.seen(machine).power == "on"}
        if begins:
            _shut_down(host, running, grace)
        for machine in machines:
            self._write_down(host, machine, begins=begins, was_on=machine in running)

    def _mark(self, number: int, state: State) -> None:
        with self._store.writing() as scene:
            scene.lock_hosts((number,))
            scene.db.update(tables.host, {"id": number}, state=state)

    def _write_down(self, host: HostClient, machine: int, *, begins: bool, was_on: bool) -> None:
        with self._store.writing() as scene:
            scene.lock_hosts((host.entry.id,))
            thing = scene.find(Domain, machine)
            if thing is None or thing.doc is None:
                return
            doc = thing.doc
            resumes = doc.resumes and not begins
            if begins and was_on:
                doc = doc.stopped(scene.now, "host", resumes=True)
                scene.save(Domain, replace(thing, doc=doc))
            if not resumes:
                changes.tell(scene, thing, doc)
        if resumes:
            self._resume(host, thing)

    def _resume(self, host: HostClient, thing: Thing[Domain]) -> None:
        found = host.domain(thing.id)
        if found is not None and not found.isActive():
            found.create()
        with self._store.writing() as scene:
            scene.lock_hosts((host.entry.id,))
            again = scene.find(Domain, thing.id)
            if again is None or again.doc is None or not again.doc.resumes:
                return
            doc = again.doc.started(scene.now)
            scene.save(Domain, replace(again, doc=doc))
            changes.tell(scene, again, doc)

    def declare_lost(self, number: int) -> None:
        """A person says that the host is dead and stays so: whatever was there is gone, and may be made elsewhere."""
        fleet = self._hosts.fleet()
        if number not in fleet.entries:
            raise Refused(f"There is no host {number}.")
        if number not in self._hosts.away((number,)) and fleet.entries[number].state != "lost":
            raise Refused("The host answers: what runs there would run twice. Turn it off first.")
        self._mark(number, "lost")


def _shut_down(host: HostClient, running: set[int], grace: float) -> None:
    left, ends = set(running), time.monotonic() + grace
    asked = -10.0
    while left:
        now = time.monotonic()
        for machine in sorted(left):
            found = host.domain(machine)
            if found is None or not found.isActive():
                left.discard(machine)
            elif now >= ends:
                _ignoring(found.destroy)
            elif now - asked >= 2:
                _ignoring(found.shutdown)
        if now - asked >= 2:
            asked = now
        time.sleep(0.1)


def _ignoring(call: Callable[[], Any]) -> None:
    try:
        call()
    except LibvirtError as error:
        if code(error) not in (virt.VIR_ERR_OPERATION_INVALID, virt.VIR_ERR_AGENT_UNRESPONSIVE, virt.VIR_ERR_NO_DOMAIN):
            raise
