"""Context of a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from crofter.drivers.hypervisor.contract import Order
from crofter.drivers.hypervisor.ledger.entries import D, Entry
from crofter.drivers.hypervisor.libvirt import names
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.host_ledger import Key
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.media import Media


class Dropped(Exception):
    """Another operation has taken the thing over: what this job has made so far is cleared away by it."""


class TakenOver(Exception):
    """Another process has taken the job over, or has even ended it: what is on hosts is its work now.

    No job catches this to clear up: it would delete what its successor has made.
    """


class Settle(Protocol):
    def __call__(self, number: int, becomes: dict[Key, Any], *, over: bool) -> None: ...


class JobContext:
    def __init__(
        self, hosts: Hosts, number: int, owner: str, order: Order, check: Callable[[], None], settle: Settle
    ) -> None:
        self.hosts = hosts
        self.number = number
        self._owner = owner
        self.order = order
        self.check = check
        """Raises Dropped if the work is not wanted any more, and TakenOver if it is another's."""
        self._settle = settle
        self.becomes: dict[Key, Any] = {}
        """Final states of objects that became known only during the job."""

    @property
    def media(self) -> Media:
        return self.hosts.media

    def scratch(self, name: str) -> str:
        """Return the name of a temporary file of the job. A process that takes over the job uses another name."""
        return names.scratch(self.number, f"{self._owner.rpartition('-')[2]}-{name}")

    def host(self, number: int) -> HostClient:
        return self.hosts.client(number)

    def entry(self, document: type[D], number: int) -> Entry[D]:
        with self.hosts.store.reading() as ledger:
            entry = ledger.find(document, number)
        if entry is None:
            raise Dropped
        return entry

    def planned(self, document: type[D], number: int) -> D:
        """Return the planned state of the object after this job."""
        planned = self.entry(document, number).becomes
        if planned is None:
            raise Dropped
        return planned

    def settle_now(self) -> None:
        """Apply the planned changes; the rest of the job only cleans up."""
        self._settle(self.number, self.becomes, over=False)
