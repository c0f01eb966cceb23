"""Machines on VLANs of a bridge, tested with frames: members of a VLAN receive them, other machines do not.

The libvirt machines are real but boot nothing: QEMU injects frames into their cards, and the bridge delivers them to
other cards. So the tests wait for no guest.
"""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from tests.drivers import real
from tests.drivers.frames import ethernet, tagged

WHY_NOT = real.why_not() or real.why_no_bridge()
WHY_NO_VLANS = WHY_NOT or real.why_no_vlans()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

if WHY_NOT is None:
    from crofter.drivers.hypervisor.libvirt import domain_xml, vlans
    from crofter.drivers.hypervisor.libvirt.binding import virt
    from crofter.drivers.hypervisor.libvirt.domain_xml import Card, MachineXml
    from crofter.drivers.hypervisor.libvirt.host import read_platform
    from crofter.drivers.hypervisor.libvirt.names import Names
    from tests.drivers.bridges import BRIDGE, LISTEN, BridgedDaemons, python, until_last, wait_for_ports

EXPERIMENT = 0x88B5
"""A kind of frame that nothing takes for its own."""
NO_HEADER = bytes(10)
"""Empty header of a virtio frame."""
SEND = """
import socket, sys
card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
card.bind((sys.argv[1], 0))
print("ready", flush=True)
for line in sys.stdin:
    card.send(bytes.fromhex(line))
    print("sent", flush=True)
"""


class Machine(NamedTuple):
    mac: str
    port: str
    """Name of the card's other end on the host."""
    line: socket.socket

    def send(self, name: str, tag: int | None = None) -> None:
        frame = ethernet(self.mac, EXPERIMENT, bytes(40), name)
        frame = NO_HEADER + (frame if tag is None else tagged(frame, tag))
        self.line.sendall(struct.pack("!I", len(frame)) + frame)


class Wire:
    """A host with a bridge, and another machine that has a card for each VLAN on its end of it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.daemons = BridgedDaemons(folder / "h", ("us-east",), 1)
        stack.callback(self.daemons.stop)
        self.libvirt: Any = virt.open(self.daemons.uri(next(iter(self.daemons.regions))))
        self.names = Names("0123abcd")
        self._machines = 0

    def put_network(self) -> None:
        vlans.put_network(
            SimpleNamespace(work_connection=self.libvirt, names=self.names, entry=SimpleNamespace(bridge=BRIDGE))  # type: ignore[arg-type]
        )

    def machine(self, tag: int | None) -> Machine:
        """On a VLAN; or on the bridge as it is."""
        self._machines += 1
        number, entrance = self._machines, self._folder / f"card{self._machines}"
        card = Card(f"f2:3c:96:00:00:0{number}", BRIDGE if tag is None else self.names.vlans, tag)
        name, identity, platform = self.names.domain(number), self.names.identity(number), read_platform(self.libvirt)
        wanted = MachineXml(name, identity, number, platform, 64, 1, (), cards=(card,))
        described = domain_xml.machine(wanted).replace("</domain>", _entrance(entrance))
        described = described.replace("</interface>", "<rom enabled='no'/></interface>")  # its driver changes headers
        domain = self.libvirt.createXML(described, 0)
        self._stack.callback(domain.destroy)
        port = ElementTree.fromstring(domain.XMLDesc(0)).find("devices/interface/target")
        assert port is not None
        line = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        line.connect(str(entrance))
        return Machine(card.mac, port.get("dev", ""), line)

    def listen(self, card: str, *, outside: bool = False) -> subprocess.Popen[str]:
        return self._started(self.daemons.outside if outside else self.daemons.network, LISTEN, card)

    def outside_on(self, tag: int) -> subprocess.Popen[str]:
        """Another machine that sends with a tag."""
        command = ("ip", "-n", self.daemons.outside, "link")
        link = ("link", "card", "name", f"vlan{tag}", "type", "vlan", "id", str(tag))
        subprocess.run([*command, "add", *link], check=True)
        subprocess.run([*command, "set", f"vlan{tag}", "up"], check=True)
        return self._started(self.daemons.outside, SEND, f"vlan{tag}")

    def outside(self) -> subprocess.Popen[str]:
        return self._started(self.daemons.outside, SEND, "card")

    def _started(self, network: str, program: str, card: str) -> subprocess.Popen[str]:
        started = self._stack.enter_context(python(network, program, card))
        self._stack.callback(started.kill)
        return started


def _entrance(path: Path) -> str:
    """A way for frames into the first card."""
    words = [
        *("-chardev", f"socket,id=entrance,path={path},server=on,wait=off"),
        *("-object", "filter-redirector,id=put,netdev=hostnet0,queue=rx,indev=entrance"),
    ]
    arguments = "".join(f"<qemu:arg value='{word}'/>" for word in words)
    return f"<qemu:commandline>{arguments}</qemu:commandline></domain>"


@pytest.fixture
def wire() -> Iterator[Wire]:
    folder = real.short_folder()
    try:
        with ExitStack() as stack:
            yield Wire(folder, stack)
    finally:
        shutil.rmtree(folder)


def send(sender: subprocess.Popen[str], name: str) -> None:
    """Send a frame; it is on the bridge at the return."""
    assert sender.stdin is not None
    assert sender.stdout is not None
    sender.stdin.write(ethernet("f2:3c:97:00:00:01", EXPERIMENT, bytes(40), name).hex() + "\n")
    sender.stdin.flush()
    assert sender.stdout.readline() == "sent\n"


def received(listener: subprocess.Popen[str], last: str) -> set[str]:
    return {frame[54:].decode() for frame in until_last(listener, last) if frame[12:14] == b"\x88\xb5"}


def test_without_vlans_everybody_on_the_bridge_hears_everybody(wire: Wire) -> None:
    first, other = wire.machine(None), wire.machine(None)
    wait_for_ports(wire.daemons.network, 3)
    there, outside = wire.listen(other.port), wire.listen("card", outside=True)
    first.send("mine")
    send(wire.outside(), "public")
    first.send("last")
    assert received(there, "last") == {"mine", "public"}
    assert received(outside, "last") == {"mine", "public"}


@pytest.mark.skipif(WHY_NO_VLANS is not None, reason=WHY_NO_VLANS or "")
def test_who_is_on_a_vlan_hears_the_others_there_and_nobody_else(wire: Wire) -> None:
    wire.put_network()
    first, second, stranger = wire.machine(100), wire.machine(100), wire.machine(101)
    wait_for_ports(wire.daemons.network, 4)
    ours, theirs, public = wire.outside_on(100), wire.outside_on(101), wire.outside()
    beside, apart = wire.listen(second.port), wire.listen(stranger.port)
    trunk, other_trunk = wire.listen("vlan100", outside=True), wire.listen("vlan101", outside=True)
    first.send("before")  # the port to the outside carries no tags yet
    first.send("pause")
    assert received(beside, "pause") == {"before"}
    for tag in (100, 101):
        wire.daemons.carry(tag)
    first.send("mine")
    first.send("forged", 101)
    send(public, "public")
    send(ours, "from another machine")
    send(theirs, "from a stranger")
    first.send("last")
    assert received(beside, "last") == {"mine", "from another machine"}
    assert received(trunk, "last") == {"mine", "from another machine"}, "it hears what it sends itself as well"
    stranger.send("last of all")
    assert received(other_trunk, "last of all") == {"from a stranger"}
    assert received(apart, "last of all") == {"from a stranger"}
