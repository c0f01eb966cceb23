"""The libvirt driver under test, on daemons of its own; and hands to meddle with them."""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from crofter.clock import Clock
from crofter.db import Database
from crofter.drivers.hypervisor import DiskRef, DomainRef, VolumeRef
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor
from crofter.drivers.hypervisor.libvirt.names import disk, volume
from tests.drivers.libvirt_fleet import Daemons, fingerprint
from tests.drivers.real import MEDIA
from tests.drivers.stalling import Stalled, stalled

LONGEST = float(os.environ.get("CROFTER_TEST_LONGEST_WAIT", "6"))
"""Seconds for which a check is let wait that would see the simulated clock run for minutes. More than half of what the
helper system is foreseen to take: some checks look at work when it should be half done."""


class LibvirtHarness:
    regions = ("us-east", "eu-west")
    counts_traffic = False
    is_exact = False

    def __init__(self, database: Database, daemons: Daemons) -> None:
        self.database = database
        self.daemons = daemons
        self.clock = Clock()
        self._hand = self.start()

    def start(self) -> LibvirtHypervisor:
        return LibvirtHypervisor(self.database, self.clock, MEDIA)

    def wait(self, seconds: float) -> None:
        if seconds < 300:
            time.sleep(min(seconds, LONGEST))
            return
        for _ in range(3):  # counters should have grown
            time.sleep(LONGEST / 3)
            self._hand._sampling.take_all()

    def _file(self, ref: DiskRef | VolumeRef) -> Path:
        names = self._hand.hosts_client.names
        if isinstance(ref, VolumeRef):
            return self.daemons.volumes(ref.region) / names.installation / volume(ref.id)
        return self.daemons.pool(ref.host) / names.installation / disk(ref.id)

    def content(self, disk: DiskRef | VolumeRef) -> str:
        return fingerprint(self._file(disk))

    def _domain(self, ref: DomainRef) -> Any:
        return self._hand.hosts_client.client(ref.host).domain(ref.id)

    def shut_down_inside(self, domain: DomainRef) -> None:
        guest, ends = self._domain(domain), time.monotonic() + 120
        while guest.isActive():
            assert time.monotonic() < ends, "the guest does not listen"
            try:
                guest.shutdown()
            except LibvirtError:
                pass  # still booting
            for _ in range(10):
                if not guest.isActive():
                    return
                time.sleep(0.1)

    def kill(self, domain: DomainRef) -> None:
        name = self._hand.hosts_client.names.domain(domain.id)
        os.kill(self.daemons.process_of(domain.host, name), 9)
        guest, ends = self._domain(domain), time.monotonic() + 10
        while guest.isActive() and time.monotonic() < ends:
            time.sleep(0.05)

    def unplug(self, host: int) -> None:
        self.daemons.unplug(host)

    def plug(self, host: int) -> None:
        self.daemons.plug(host)

    def maintenance(self, host: int, *, begins: bool) -> None:
        """With a server beside it that notices each guest as it goes off."""
        over = threading.Event()

        def notice() -> None:
            while not over.wait(0.2):
                self._hand._periodic_work.sync_power()

        noticing = threading.Thread(target=notice)
        noticing.start()
        try:
            self.start().maintenance(host, begins=begins, grace=LONGEST)
        finally:
            over.set()
            noticing.join()

    def stalled(self, driver: Any, check: int) -> AbstractContextManager[Stalled]:
        return stalled(self.database, driver, check)
