"""Unordered changes of machines: observed on hosts and written to the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import DriverError
from crofter.drivers.hypervisor.ledger import changes
from crofter.drivers.hypervisor.ledger.entries import Disk, Domain, Entry, Volume
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.host import Seen
from crofter.drivers.hypervisor.libvirt.host_ledger import HostLedger, Key
from crofter.drivers.hypervisor.libvirt.hosts import Hosts


class PowerSync:
    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._store = hosts.store

    def refresh(self, keys: Iterable[Key]) -> None:
        """The ledger is right about the machines that these things are, or are used by."""
        with self._store.reading() as ledger:
            numbers = {number for key in keys for number in _machines(ledger, key)}
        for number in sorted(numbers):
            self.sync_machine(number)

    def sync_machine(self, number: int) -> None:
        with self._store.reading() as ledger:
            known = ledger.find(Domain, number)
            closed = ledger.fleet.closed
        if known is None or known.due is not None or known.host in closed:
            return  # the running job or maintenance reports the machine's state
        try:
            self._compare(known, self._hosts.client(known.host).seen(number))
        except (DriverError, LibvirtError):
            return

    def sync_host(self, host: int) -> None:
        """At all of its machines, with one question; Unreachable if it does not answer."""
        with self._store.reading() as ledger:
            machines = ledger.all(Domain, host)
        seen = self._hosts.client(host).seen_all()
        for known in machines:
            self._compare(known, seen.get(known.id, Seen("absent")))

    def _compare(self, known: Entry[Domain], seen: Seen) -> None:
        if known.doc is None or known.due is not None:
            return  # the running job reports the machine's state
        if seen.unfinished:
            if not known.doc.resumes:  # a machine that restarts after maintenance looks like this until it runs
                self._stop_unfinished(known)
        elif (seen.power == "on") != known.doc.on:
            self._note(known, seen)

    def _note(self, known: Entry[Domain], seen: Seen) -> None:
        with self._store.writing() as ledger:
            ledger.lock_hosts((known.host,))
            again = ledger.find(Domain, known.id)
            if again is None or again != known or again.doc is None:
                return  # changed by a job meanwhile
            if seen.power == "on":
                doc = again.doc.started(ledger.now)
            else:
                doc = again.doc.stopped(ledger.now, seen.reason or "crashed")
            ledger.save(Domain, replace(again, doc=doc))
            changes.tell(ledger, again, doc)

    def _stop_unfinished(self, known: Entry[Domain]) -> None:
        """A process died, or was overtaken, between starting a machine and letting it run."""
        with self._store.reading() as ledger:
            again = ledger.find(Domain, known.id)
            working = ledger.living(job for job in ledger.jobs() if job.meets({(Domain.kind, known.id)}, set()))
        if again != known or working:
            return
        try:
            host = self._hosts.client(known.host)
            domain = host.domain(known.id)
            if domain is not None and host.seen(known.id).unfinished:
                domain.destroy()
        except (DriverError, LibvirtError):
            return


def _machines(ledger: HostLedger, key: Key) -> list[int]:
    kind, number = key
    if kind == Domain.kind:
        domain = ledger.find(Domain, number)
        spec = None if domain is None or domain.doc is None else domain.doc.spec
        if spec is None:
            return [number]
        needed = [(Disk.kind, disk) for disk in spec.disks] + [(Volume.kind, volume) for volume in spec.volumes]
        return [number, *(user for part in needed for user in _machines(ledger, part))]
    entry: Any = None
    if kind == Disk.kind:
        entry = ledger.find(Disk, number)
    elif kind == Volume.kind:
        entry = ledger.find(Volume, number)
    user = None if entry is None or entry.doc is None else entry.doc.user
    return [] if user is None else [user]
