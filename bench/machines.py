"""Real machines against their parts: the same instance through the interface, by plain libvirt calls, and by plain
QEMU, in turns in a run. ``python -m bench.machines`` writes docs/machine-times.md.

The time ends with the first successful SSH sign-in. Images and kernels are on the host before the first turn.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.drivers.real import short_folder, why_not
from tests.drivers.real_cloud import OPTIONS, PASSWORD, RealCloud, answers

from bench.report import DOCS, machine
from bench.table import Verdict, render
from crofter.drivers.hypervisor.libvirt import domain_xml, scripts
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt
from crofter.drivers.hypervisor.libvirt.domain_xml import Boot, Card, Drive, MachineXml
from crofter.drivers.hypervisor.libvirt.host import read_platform
from crofter.drivers.hypervisor.libvirt.media import MB, Media
from crofter.drivers.hypervisor.specs import Seed

TARGET = 1.2
"""Maximum duration of a creation, as a multiple of plain libvirt calls."""
MEMORY, DISK, SWAP = 1024, 25088, 512
"""MB of the plan g6-nanode-1."""
PATIENCE = 0.7
"""Seconds between SSH attempts, which is the precision of the times."""
PLAIN = 9
"""The plain machine's port, counted as those of instances are, of which there are fewer."""
HEAD = """\
# Times of real machines

Made by `python -m bench.machines`, in turns in one run of {rounds} rounds; medians of seconds by the wall clock,
without KVM. {machine}

The image, its key and password are the same; so are memory, disks and processors. Plain libvirt is the fewest calls
that make such a machine: copy the image, grow it, write into it with the helper system, define, start. Plain QEMU boots
a disk that was prepared before. A ratio is the median of those of the rounds.

"""


INCONCLUSIVE = f"""\
**This run decides nothing**: some turns keep to the {TARGET} times that are asked about and some do not, or there was
only one. Measure again on a machine that does nothing else.

"""


class Plain:
    """Creates the same instance by libvirt calls alone, and by QEMU alone."""

    def __init__(self, real_cloud: RealCloud) -> None:
        self._cloud = real_cloud
        host = next(iter(real_cloud.daemons.regions))
        self._connection = virt.open(real_cloud.daemons.uri(host))
        name = next(pool.name() for pool in self._connection.listAllStoragePools() if "volumes" not in pool.name())
        self._pool = self._connection.storagePoolLookupByName(name)
        self._folder = next(real_cloud.daemons.pool(host).glob("*/"))
        self._media = Media(real_cloud.folder / "data" / "media")
        self._platform = read_platform(self._connection)
        self.port = real_cloud.forward(host) + PLAIN

    def create(self) -> None:
        self._copy()
        self._work_on_disk()
        self._domain = self._connection.defineXML(domain_xml.machine(self._described()))
        self._domain.create()

    def boot(self) -> None:
        self._domain.create()

    def off(self) -> None:
        self._domain.destroy()

    @contextmanager
    def qemu(self) -> Iterator[None]:
        """The same disks and kernel, without libvirt."""
        architecture = self._platform.architecture
        virtual = ["-M", "virt,gic-version=2", "-cpu", "cortex-a72"]
        kind = virtual if architecture == "aarch64" else ["-M", "q35", "-cpu", "qemu64"]
        boot = self._kernel()
        arguments = f"console={self._platform.console} {boot.arguments}"
        command = [f"qemu-system-{architecture}", *kind, "-m", str(MEMORY), "-smp", "1", "-display", "none"]
        command += ["-serial", "null", "-kernel", boot.kernel, "-initrd", boot.initrd, "-append", arguments]
        for name in ("bench-root", "bench-swap"):
            command += ["-drive", f"file={self._folder / name},if=virtio,format=qcow2,discard=unmap"]
        command += ["-netdev", f"user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"]
        command += ["-device", "virtio-net-pci,netdev=n0,romfile="]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.kill()

    def remove(self) -> None:
        with suppress(LibvirtError):
            self._domain.destroy()
        self._domain.undefineFlags(virt.VIR_DOMAIN_UNDEFINE_NVRAM)
        for name in ("bench-root", "bench-swap", "bench-script", "bench-answer"):
            self._pool.storageVolLookupByName(name).delete()

    def _copy(self) -> None:
        image = self._pool.storageVolLookupByName(self._media.image_file("compute/debian12").name)
        root = self._pool.createXMLFrom(domain_xml.volume("bench-root", DISK * MB), image, 0)
        if root.info()[1] < DISK * MB:
            root.resize(DISK * MB)
        self._pool.createXML(domain_xml.volume("bench-swap", SWAP * MB))

    def _work_on_disk(self) -> None:
        key = Path(f"{self._cloud.key}.pub").read_text().strip()
        script = scripts.seed_script(Seed(password=PASSWORD, keys=(key,), hostname="plain")).encode()
        self._send("bench-script", script.ljust(1 << 16, b"\0"))
        self._send("bench-answer", bytes(1 << 16))
        helper = self._media.helper
        boot = Boot(self._path(helper.kernel.name), self._path(helper.initrd.name), "quiet panic=-1")
        drives = (
            Drive(self._path("bench-root"), "sda"),
            Drive(self._path("bench-script"), "sdb", "raw", readonly=True),
            Drive(self._path("bench-answer"), "sdc", "raw"),
        )
        wanted = MachineXml("bench-helper", str(uuid.uuid4()), 0, self._platform, 256, 1, drives, boot, helper=True)
        domain = self._connection.createXML(domain_xml.machine(wanted), 0)
        with suppress(LibvirtError):  # gone as soon as the machine is off
            while domain.isActive():
                time.sleep(0.05)

    def _send(self, name: str, content: bytes) -> None:
        made = self._pool.createXML(domain_xml.volume(name, len(content), "raw"))
        stream = self._connection.newStream()
        made.upload(stream, 0, len(content))
        stream.send(content)
        stream.finish()

    def _path(self, name: str) -> str:
        return str(self._folder / name)

    def _kernel(self) -> Boot:
        kernel = self._media.kernel("compute/grub2")
        assert kernel is not None
        return Boot(self._path(kernel.kernel.name), self._path(kernel.initrd.name), "root=/dev/vda rw quiet panic=10")

    def _described(self) -> MachineXml:
        drives = (Drive(self._path("bench-root"), "sda"), Drive(self._path("bench-swap"), "sdb"))
        cards = (Card("f2:3c:95:00:00:63", address="192.0.2.9", forward=self.port),)
        return MachineXml("bench-plain", str(uuid.uuid4()), 0, self._platform, MEMORY, 1, drives, self._kernel(), cards)


def until_ssh(real_cloud: RealCloud, port: int, begin: Callable[[], Any]) -> float:
    """Seconds from the beginning until a command was run inside the guest."""
    words = ["ssh", *(f"-o{option}" for option in OPTIONS), "-p", str(port), "-i", str(real_cloud.key)]
    command = [*words, "-oBatchMode=yes", "root@127.0.0.1", "true"]
    began = time.monotonic()
    begin()
    while not answers(port, PATIENCE) or subprocess.run(command, capture_output=True).returncode:
        assert time.monotonic() - began < 600, "the guest lets nobody in"
        time.sleep(0.2)
    return time.monotonic() - began


class Interface:
    """An instance created through the interface."""

    def __init__(self, real_cloud: RealCloud) -> None:
        self._cloud = real_cloud
        self._count = 0

    @property
    def port(self) -> int:
        """Return the port of the next instance."""
        return self._cloud.forward(next(iter(self._cloud.daemons.regions))) + self._count + 1

    def create(self) -> None:
        key = Path(f"{self._cloud.key}.pub").read_text().strip()
        wanted = {
            "region": "us-east",
            "type": "g6-nanode-1",
            "image": "compute/debian12",
            "label": f"b{time.time_ns()}",
        }
        self._number = self._cloud.call("POST", "", **wanted, root_pass=PASSWORD, authorized_keys=[key])["id"]

    def off(self) -> None:
        self._cloud.settled(self._number)
        self._cloud.call("POST", f"/{self._number}/shutdown")
        self._cloud.settled(self._number, "offline")

    def boot(self) -> None:
        self._cloud.call("POST", f"/{self._number}/boot")

    def remove(self) -> None:
        self._cloud.settled(self._number)
        self._cloud.call("DELETE", f"/{self._number}")
        self._count += 1
        self._cloud.until(lambda: self._cloud.call("GET", "")["data"] == [])


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds of each turn, by what was done and how."""
    times: dict[str, list[float]] = {}
    real_cloud = RealCloud(short_folder(), ("us-east",), 1)
    try:
        real_cloud.open()
        through = Interface(real_cloud)
        until_ssh(real_cloud, through.port, through.create)  # brings images and kernels to the host; not counted
        through.remove()
        plain = Plain(real_cloud)
        for _ in range(rounds):
            for name, seconds in (*_turn_of_plain(real_cloud, plain), *_turn_of_interface(real_cloud, through)):
                times.setdefault(name, []).append(seconds)
                print(f"{name:<24}{seconds:>8.1f} s", file=sys.stderr, flush=True)
    finally:
        real_cloud.close()
    return times


def _turn_of_plain(real_cloud: RealCloud, plain: Plain) -> Iterator[tuple[str, float]]:
    yield "create, plain libvirt", until_ssh(real_cloud, plain.port, plain.create)
    plain.off()
    yield "boot, plain libvirt", until_ssh(real_cloud, plain.port, plain.boot)
    plain.off()
    with plain.qemu():
        yield "boot, plain QEMU", until_ssh(real_cloud, plain.port, lambda: None)
    plain.remove()


def _turn_of_interface(real_cloud: RealCloud, through: Interface) -> Iterator[tuple[str, float]]:
    port = through.port
    yield "create, interface", until_ssh(real_cloud, port, through.create)
    through.off()
    yield "boot, interface", until_ssh(real_cloud, port, through.boot)
    through.remove()


def page(times: dict[str, list[float]], rounds: int, where: str) -> tuple[str, bool]:
    """The page, and whether creating keeps to its target.

    Turns of one round are compared with each other, as the speed of a machine changes from one round to the next.
    """
    middle = {name: statistics.median(seconds) for name, seconds in times.items()}
    turns = _ratios(times, "create, interface", "create, plain libvirt")
    create = Verdict(statistics.median(turns), TARGET)
    boot = Verdict(statistics.median(_ratios(times, "boot, interface", "boot, plain QEMU")), None)
    rows = [
        ["create to SSH", "", *_shown(middle, "create, plain libvirt", "create, interface"), *create.cells()],
        ["boot to SSH", *_shown(middle, "boot, plain QEMU", "boot, plain libvirt", "boot, interface"), *boot.cells()],
    ]
    columns = ["seconds", "plain QEMU", "plain libvirt", "interface", "ratio", "target", ""]
    each = [[name, *(f"{second:.1f}" for second in seconds)] for name, seconds in times.items()]
    each.append(["create, ratio", *(f"{ratio:.2f}x" for ratio in turns)])
    numbered = ["seconds", *(f"round {number}" for number in range(1, rounds + 1))]
    tables = render("Medians", columns, rows) + "\n" + render("Each turn", numbered, each)
    verdict = "" if rounds > 1 and _is_decided(turns) else INCONCLUSIVE
    text = HEAD.format(rounds=rounds, machine=where) + verdict + f"```text\n{tables}```\n"
    return text, create.within() and not verdict


def _ratios(times: dict[str, list[float]], name: str, other: str) -> list[float]:
    return [seconds / others for seconds, others in zip(times[name], times[other], strict=True)]


def _is_decided(turns: list[float]) -> bool:
    """True if all turns agree about the target."""
    return len({ratio <= TARGET for ratio in turns}) == 1


def _shown(middle: dict[str, float], *names: str) -> list[str]:
    return [f"{middle[name]:.1f}" for name in names]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.machines", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 8), help="turns of each (3)")
    parser.add_argument("--into", type=Path, default=DOCS, help="the folder that the page goes to (docs)")
    asked = parser.parse_args()
    if (missing := why_not()) is not None:
        print(f"no real machines here: {missing}", file=sys.stderr)
        return 2
    where = machine()  # the load before it is ours
    text, within = page(measure(asked.rounds), asked.rounds, where)
    (asked.into / "machine-times.md").write_text(text)
    print(text)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
