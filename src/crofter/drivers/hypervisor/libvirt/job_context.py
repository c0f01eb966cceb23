"""What a job has at hand."""

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
        """What things become, where that is known better now than when the work was planned."""

    @property
    def media(self) -> Media:
        return self.hosts.media

    def scratch(self, name: str) -> str:
        """The name of a file that goes with the job. Whoever takes the job over gives it another one."""
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
        """What the thing becomes by this job."""
        planned = self.entry(document, number).becomes
        if planned is None:
            raise Dropped
        return planned

    def settle_now(self) -> None:
        """What was to change has changed; what is left to do is only clearing up."""
        self._settle(self.number, self.becomes, over=False)
