"""The simulated hypervisor under test, with a frozen clock."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from crofter.clock import Clock, Setting
from crofter.db import Database
from crofter.drivers.hypervisor import DiskRef, DomainRef, VolumeRef
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor

NOON = 1_772_366_400_000
"""2026-03-01T12:00:00."""


class SimulatedHarness:
    regions = ("us-east", "eu-west")
    counts_traffic = True
    is_exact = True

    def __init__(self, database: Database, driver: type[SimulatedHypervisor] = SimulatedHypervisor) -> None:
        self.database = database
        self.clock = Clock(Setting("frozen", 0, NOON))
        self._driver = driver
        self._hand = self.start()
        self._hand.reset()

    def start(self) -> SimulatedHypervisor:
        return self._driver(self.database, self.clock, self.regions, hosts_per_region=3)

    def wait(self, seconds: float) -> None:
        self.clock.setting = Setting("frozen", 0, self.clock.now() + round(seconds * 1000))

    def content(self, disk: DiskRef | VolumeRef) -> str:
        content = self._hand.observe(disk).content
        assert content is not None, f"{disk} has no content"
        return content

    def shut_down_inside(self, domain: DomainRef) -> None:
        self._hand.faults.power_off(domain.id)

    def kill(self, domain: DomainRef) -> None:
        self._hand.faults.power_off(domain.id, "crashed")

    def unplug(self, host: int) -> None:
        self._hand.faults.unreachable(host, begins=True)

    def plug(self, host: int) -> None:
        self._hand.faults.unreachable(host, begins=False)

    def maintenance(self, host: int, *, begins: bool) -> None:
        self._hand.faults.maintenance(host, begins=begins)

    def stalled(self, driver: Any, check: int) -> AbstractContextManager[Any]:
        """Return immediately: simulated work has no thread that could stall."""
        return nullcontext()
