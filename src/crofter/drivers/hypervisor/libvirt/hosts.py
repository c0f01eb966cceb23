"""The hosts of the fleet, to speak to."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.fleet import BLOCK
from crofter.drivers.hypervisor.libvirt.connections import connection_to
from crofter.drivers.hypervisor.libvirt.fleet import HostEntry, RealFleet
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.host_ledger import Store
from crofter.drivers.hypervisor.libvirt.media import Media
from crofter.drivers.hypervisor.libvirt.names import Names


class HostLost(Refused):
    """A person has declared the host dead: nothing is done there any more, and nothing is left to be removed."""


class Hosts:
    def __init__(self, store: Store, names: Names, media: Media) -> None:
        self.store = store
        self.names = names
        self.media = media
        self._copy_locks: dict[int, threading.Lock] = {}
        self._locking = threading.Lock()

    def copy_lock(self, machine: int) -> threading.Lock:
        """Held while the disks of a running machine are copied."""
        with self._locking:
            return self._copy_locks.setdefault(machine, threading.Lock())

    def fleet(self) -> RealFleet:
        with self.store.reading() as ledger:
            return ledger.fleet

    def client(self, number: int) -> HostClient:
        entry = self.fleet().entries.get(number)
        if entry is None:
            raise Refused(f"There is no host {number}.")
        if entry.state == "lost":
            raise HostLost("The host was lost.")
        return HostClient(entry, self.names)

    def storage(self, number: int) -> HostClient:
        """A host that answers, to reach the volumes of its region by."""
        beside = self.fleet().beside(number)
        if not beside:
            raise Refused("The hosts of this region have no storage for volumes.")
        for entry in beside:
            if self._answers(entry):
                return HostClient(entry, self.names)
        raise Unreachable("No host of the region answers.")

    def near(self, number: int) -> HostClient:
        """The host, or one beside the storage that has this number."""
        return self.storage(number) if number % BLOCK == 0 else self.client(number)

    def unreachable(self, numbers: Iterable[int]) -> frozenset[int]:
        """Return the hosts and storages that do not answer."""
        fleet = self.fleet()
        asked = {number: self._entries(fleet, number) for number in set(numbers)}
        entries = {entry.id: entry for group in asked.values() for entry in group}
        answers = self._ask(list(entries.values()))
        return frozenset(
            number for number, group in asked.items() if group and not any(answers[entry.id] for entry in group)
        )

    def _entries(self, fleet: RealFleet, number: int) -> list[HostEntry]:
        if number % BLOCK == 0:
            return fleet.beside(number)
        entry = fleet.entries.get(number)
        return [] if entry is None or entry.state == "lost" else [entry]

    def _ask(self, entries: list[HostEntry]) -> dict[int, bool]:
        if len(entries) < 2:
            return {entry.id: self._answers(entry) for entry in entries}
        with ThreadPoolExecutor(min(32, len(entries))) as pool:  # a silent host must not delay the others
            return dict(zip((entry.id for entry in entries), pool.map(self._answers, entries), strict=True))

    def _answers(self, entry: HostEntry) -> bool:
        try:
            connection_to(entry.uri).get()
            return True
        except Unreachable:
            return False
