"""The libvirt driver under test, on hosts in memory."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crofter.clock import Clock
from crofter.db import Database
from crofter.drivers.hypervisor import DiskRef, DomainRef, VolumeRef
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.libvirt.media import ImageFile
from tests.drivers.fake_libvirt.host import ARCHITECTURE, FakeFleet, FakeHost
from tests.drivers.fake_libvirt.machines import FakeDomain
from tests.drivers.fake_libvirt.module import virt
from tests.drivers.fake_libvirt.storage import File
from tests.drivers.host_rows import add_host
from tests.drivers.stalling import Stalled, stalled

from crofter.drivers.hypervisor.libvirt import blank, performing  # isort: skip - once the binding is there
from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor  # isort: skip
from crofter.drivers.hypervisor.libvirt.names import disk, volume  # isort: skip

PATIENCE = 20.0
"""Real seconds within which any job ends here, on however busy a machine."""


class FakeHarness:
    regions = ("us-east", "eu-west")
    counts_traffic = False
    is_exact = False

    def __init__(self, database: Database, media: Path, patch: pytest.MonkeyPatch) -> None:
        self.database = database
        self.clock = Clock()
        self.fleet = FakeFleet()
        self._media = filled(media)
        self._drivers: list[LibvirtHypervisor] = []
        self._time_passes, self._held = threading.Event(), False
        self._time_passes.set()
        patch.setattr(virt, "open", self.fleet.open)
        patch.setattr(performing, "QUICK", 0.01)
        patch.setattr(blank, "TOOLS", ("no-such-tool",))  # file systems are made by the helper system, everywhere
        write_down(self.fleet, database, self.regions)
        self.hand = self.start()

    def start(self) -> LibvirtHypervisor:
        made = LibvirtHypervisor(self.database, self.clock, self._media)
        performer: Any = made._performer
        attempt = performer._attempt

        def when_time_passes(*parts: Any) -> None:
            assert self._time_passes.wait(PATIENCE) or made not in self._drivers
            attempt(*parts)

        performer._attempt = when_time_passes
        self._drivers.append(made)
        return made

    def hold_jobs(self) -> None:
        """Let jobs proceed only while a caller waits, so that none ends before a check observes it."""
        self._time_passes.clear()
        self._held = True

    def wait(self, seconds: float) -> None:
        """Until the jobs are over, or for so long if they cannot end; by itself nothing happens here."""
        self._time_passes.set()
        for driver in self._drivers:
            with driver._performer._lock:
                threads = list(driver._performer._threads.values())
            for thread in threads:
                thread.join(min(seconds, PATIENCE))
        if self._held:
            self._time_passes.clear()
        if seconds >= 300:
            for _ in range(3):  # counters should have grown
                threading.Event().wait(0.002)
                self.hand._sampling.take_all()

    def close(self) -> None:
        """No job is left that would look for its database."""
        for host in self.fleet.hosts.values():
            host.hooks.clear()
            host.plugged = True
        self._held = False
        self.wait(PATIENCE)

    @contextmanager
    def stalled(self, driver: Any, check: int) -> Iterator[Stalled]:
        with stalled(self.database, driver, check) as held:
            self._drivers.remove(driver)  # its jobs have no waiting caller
            self._time_passes.set()
            yield held
            self._time_passes.set()
            self._drivers.append(driver)
        self.wait(PATIENCE)

    def file(self, ref: DiskRef | VolumeRef) -> File:
        installation = self.hand.hosts_client.names.installation
        if isinstance(ref, VolumeRef):
            return self.fleet.file(f"/volumes/{ref.region}/{installation}/{volume(ref.id)}")
        return self.fleet.file(f"/pool/{ref.host}/{installation}/{disk(ref.id)}")

    def content(self, disk: DiskRef | VolumeRef) -> str:
        return hashlib.sha256(self.file(disk).content).hexdigest()

    def host(self, number: int) -> FakeHost:
        return self.fleet.host(number)

    def domain(self, ref: DomainRef) -> FakeDomain:
        return self.host(ref.host).domains[self.hand.hosts_client.names.domain(ref.id)]

    def shut_down_inside(self, domain: DomainRef) -> None:
        self.domain(domain).go_off(virt.VIR_DOMAIN_SHUTOFF_SHUTDOWN)

    def kill(self, domain: DomainRef) -> None:
        self.domain(domain).go_off(virt.VIR_DOMAIN_SHUTOFF_CRASHED)

    def unplug(self, host: int) -> None:
        self.host(host).plugged = False

    def plug(self, host: int) -> None:
        self.host(host).plugged = True

    def maintenance(self, host: int, *, begins: bool) -> None:
        """With a server beside it that notices each guest as it goes off."""
        hooks = self.host(host).hooks
        hooks["after shutdown"] = lambda _: self.hand._periodic_work.sync_power()
        self.start().maintenance(host, begins=begins)
        del hooks["after shutdown"]


def write_down(fleet: FakeFleet, database: Database, regions: Iterable[str]) -> None:
    """Two hosts in each region, in the fleet and in the table of hosts."""
    for region in regions:
        for number in (code_of(region) * BLOCK + 1, code_of(region) * BLOCK + 2):
            fleet.add(number)
            with database.write() as db:
                add_host(
                    db,
                    number,
                    region,
                    uri=fleet.uri(number),
                    pool=f"/pool/{number}",
                    volumes=f"/volumes/{region}",
                    architecture=ARCHITECTURE,
                    emulation=False,
                )


def filled(media: Path, images: Iterable[str] = ("debian12",)) -> Path:
    """Create the operator's files, which are not bootable."""
    for file in ("kernels/default/vmlinuz", "kernels/default/initrd.img", "helper/vmlinuz", "helper/initrd.img"):
        (media / file).parent.mkdir(parents=True, exist_ok=True)
        (media / file).write_bytes(f"not really {file}".encode())
    (media / "images").mkdir(exist_ok=True)
    for image in images:
        content = f"not really images/{image}.qcow2".encode()
        (media / f"images/{image}.qcow2").write_bytes(content)
        known = ImageFile(ARCHITECTURE, 256, "kernel", hashlib.sha256(content).hexdigest(), 60)
        (media / f"images/{image}.json").write_bytes(msgspec.json.encode(known))
    return media
