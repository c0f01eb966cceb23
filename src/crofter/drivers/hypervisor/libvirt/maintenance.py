"""Maintenance of a host: its machines are shut down, and those that were on start again afterwards.

The machines to start again are recorded before any shutdown. So both directions can be interrupted at any moment, and
the same command continues.
"""

from __future__ import annotations

import logging
import time

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import DriverError, Refused
from crofter.drivers.hypervisor.ledger import changes
from crofter.drivers.hypervisor.ledger.entries import Domain, Entry
from crofter.drivers.hypervisor.libvirt import tables, vlans
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.fleet import State
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.power_sync import PowerSync
from crofter.drivers.hypervisor.libvirt.shutting_down import ShuttingDown

log = logging.getLogger("crofter")

GRACE = 60.0
"""Seconds that guests have to shut down, all at once, before their power is taken away."""


class Maintenance:
    def __init__(self, hosts: Hosts, power_sync: PowerSync) -> None:
        self._hosts = hosts
        self._store = hosts.store
        self._power_sync = power_sync

    def change(self, number: int, *, begins: bool, grace: float = GRACE) -> None:
        host = self._hosts.client(number)
        _ = host.read_connection  # Unreachable, before anything was written
        if begins:
            for machine in self._machines(number):
                self._power_sync.sync_machine(machine)
            self._close(number)
            self._shut_down_all(host, grace)
        else:
            self._open(number)
            self._resume_all(host)

    def begin_draining(self, number: int) -> None:
        _ = self._hosts.client(number).read_connection
        with self._store.writing() as ledger:
            ledger.lock_hosts((number,))
            if ledger.fleet.entries[number].state == "up":
                _marked(ledger, number, "draining")

    def _machines(self, number: int) -> list[int]:
        with self._store.reading() as ledger:
            return [entry.id for entry in ledger.all(Domain, number)]

    # ---- out of service ---------------------------------------------------------------------------------------------

    def _close(self, number: int) -> None:
        """Close the host to new machines and starts; record the running machines for their restart."""
        with self._store.writing() as ledger:
            if not _marked(ledger, number, "maintenance"):
                return
            for entry in ledger.all(Domain, number):
                assert entry.doc is not None
                if entry.doc.on:
                    ledger.save(Domain, replace(entry, doc=replace(entry.doc, resumes=not _asked_off(entry))))
                elif _comes_on(entry):
                    ledger.save(Domain, replace(entry, doc=replace(entry.doc, reason="host", resumes=True)))
                else:
                    changes.tell(ledger, entry, entry.doc)

    def _shut_down_all(self, host: HostClient, grace: float) -> None:
        guests: dict[int, ShuttingDown] = {}
        while left := self._left(host.entry.id):
            for machine in left:
                if machine not in guests and (domain := host.domain(machine)) is not None:
                    guests[machine] = ShuttingDown(domain, grace)
                if machine not in guests or guests[machine].is_over():
                    self._note_off(host.entry.id, machine)
            time.sleep(0.1)

    def _left(self, number: int) -> list[int]:
        """The machines that are on, or that a job which had begun before is about to switch on."""
        with self._store.reading() as ledger:
            jobs = ledger.jobs()
            living = ledger.living(jobs)
            busy = {(kind, key) for job in jobs if job.id in living for kind, key in job.changes}
            return [
                entry.id
                for entry in ledger.all(Domain, number)
                if entry.doc is not None and (entry.doc.on or (_comes_on(entry) and (Domain.kind, entry.id) in busy))
            ]

    def _note_off(self, number: int, machine: int) -> None:
        with self._store.writing() as ledger:
            ledger.lock_hosts((number,))
            entry = ledger.find(Domain, machine)
            if entry is None or entry.doc is None or not entry.doc.on:
                return
            doc, becomes = entry.doc.stopped(ledger.now, "host", resumes=not _asked_off(entry)), entry.becomes
            if becomes is not None and becomes.on:
                becomes = replace(doc, spec=becomes.spec)
            ledger.save(Domain, replace(entry, doc=doc, becomes=becomes))
            changes.tell(ledger, entry, doc)

    # ---- back -------------------------------------------------------------------------------------------------------

    def _open(self, number: int) -> None:
        with self._store.writing() as ledger:
            if not _marked(ledger, number, "up"):
                return
            for entry in ledger.all(Domain, number):
                if entry.doc is not None and not entry.doc.resumes:
                    changes.tell(ledger, entry, entry.doc)

    def _resume_all(self, host: HostClient) -> None:
        with self._store.reading() as ledger:
            resuming = [entry.id for entry in ledger.all(Domain, host.entry.id) if entry.doc and entry.doc.resumes]
        failed = []
        if host.entry.tags:
            vlans.put_network(host)
        for machine in resuming:
            try:
                self._resume(host, machine)
            except LibvirtError:
                log.exception("machine %s did not come on again with its host", machine)
                failed.append(machine)
        if failed:
            numbers = ", ".join(str(machine) for machine in failed)
            raise DriverError(f"These machines did not come on again; the same command tries it once more: {numbers}")

    def _resume(self, host: HostClient, machine: int) -> None:
        domain = host.domain(machine)
        if domain is not None and not domain.isActive():
            domain.create()
        with self._store.writing() as ledger:
            ledger.lock_hosts((host.entry.id,))
            entry = ledger.find(Domain, machine)
            if entry is None or entry.doc is None or not entry.doc.resumes:
                return
            on = entry.doc.on  # a shutdown was requested but not observed
            doc = replace(entry.doc, resumes=False) if on else entry.doc.started(ledger.now)
            ledger.save(Domain, replace(entry, doc=doc))
            changes.tell(ledger, entry, doc)

    def declare_lost(self, number: int) -> None:
        """Mark a host as permanently lost: its objects are gone and may be created elsewhere."""
        fleet = self._hosts.fleet()
        if number not in fleet.entries:
            raise Refused(f"There is no host {number}.")
        if number not in self._hosts.unreachable((number,)) and fleet.entries[number].state != "lost":
            raise Refused("The host answers: what runs there would run twice. Turn it off first.")
        with self._store.writing() as ledger:
            _marked(ledger, number, "lost")


def _marked(ledger: HostLedger, number: int, state: State) -> bool:
    """Set the state of the host. Return True if it changed."""
    ledger.lock_hosts((number,))
    before = ledger.fleet.entries[number].state
    ledger.db.update(tables.host, {"id": number}, state=state)
    return before != state


def _asked_off(entry: Entry[Domain]) -> bool:
    """True if an order will switch the machine off or delete it."""
    return entry.due is not None and (entry.becomes is None or not entry.becomes.on)


def _comes_on(entry: Entry[Domain]) -> bool:
    return entry.becomes is not None and entry.becomes.on and entry.doc is not None and not entry.doc.on
