"""The filter in front of a guest on a bridge, tried with frames that no honest guest would send.

A card of the host stands in for the guest, so that none has to boot; libvirt puts the same filter before it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from crofter import region_settings
from crofter.drivers.hypervisor import Network
from crofter.drivers.hypervisor.libvirt import filters
from crofter.resources.instances.ips.store import link_local, on_wire
from tests.drivers import real
from tests.drivers.frames import ADVERTISEMENT, REDIRECT, SOLICITATION, arp, ethernet, ip, ip6, tagged

WHY_NOT = real.why_not() or real.why_no_bridge()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

if WHY_NOT is None:
    from crofter.drivers.hypervisor.libvirt.binding import virt
    from tests.drivers.bridges import BRIDGE, LISTEN, BridgedDaemons, python, until_last, wait_for_ports

MAC, OTHER_MAC = "f2:3c:95:00:00:07", "f2:3c:95:00:00:08"
OWN, OTHER = "203.0.113.7", "203.0.113.8"
WIRE = region_settings.wire(None, "us-east")
OWN6, OTHER6 = on_wire(WIRE, 7), on_wire(WIRE, 8)
OWN_LINK, OTHER_LINK = link_local(7), link_local(8)
HONEST = {
    "address": ip(MAC, OWN, "address"),
    "lease": ip(MAC, "0.0.0.0", "lease", (68, 67)),
    "neighbour": arp(MAC, OWN, "neighbour"),
    "address6": ip6(MAC, OWN6, "address6"),
    "neighbour6": ip6(MAC, OWN_LINK, "neighbour6", SOLICITATION),
    "alone6": ip6(MAC, "::", "alone6", SOLICITATION),
}
"""Packets that a guest needs: address assignment, duplicate detection and neighbour discovery."""
HARMFUL = {
    "card": ip(OTHER_MAC, OWN, "card"),
    "another": ip(MAC, OTHER, "another"),
    "poison": arp(MAC, OTHER, "poison"),
    "another6": ip6(MAC, OTHER6, "another6"),
    "link6": ip6(MAC, OTHER_LINK, "link6", SOLICITATION),
    "router": ip6(MAC, OWN_LINK, "router", ADVERTISEMENT),
    "redirect": ip6(MAC, OWN_LINK, "redirect", REDIRECT),
    "server": ip(MAC, OWN, "server", (67, 68)),
    "tagged": tagged(ip(MAC, OWN, "tagged")),
    "unknown": ethernet(MAC, 0x88CC, bytes(40), "unknown"),
}
"""Forged packets: another card or address, the router, the DHCP server, another network."""
TAP = "guest"
SEND = """
import fcntl, struct, sys
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH", b"guest", 0x1002))
print("ready", flush=True)
for line in sys.stdin:
    tap.write(bytes.fromhex(line))
"""


class Wire(NamedTuple):
    """The card of a guest, that of another machine, and libvirt between them."""

    guest: subprocess.Popen[str]
    other: subprocess.Popen[str]
    libvirt: Any

    def arriving(self, frames: dict[str, bytes]) -> set[str]:
        """The names of those that get through. The last one, which no filter holds up, says that all are there."""
        assert self.guest.stdin is not None
        last = "last of all"
        for frame in (*frames.values(), ip(MAC, OWN, last)):
            self.guest.stdin.write(frame.hex() + "\n")
        self.guest.stdin.flush()
        return {name for frame in until_last(self.other, last) for name in frames if frame.endswith(name.encode())}


@pytest.fixture
def wire() -> Iterator[Wire]:
    folder = real.short_folder()
    daemons = BridgedDaemons(folder / "h", ("us-east",), 1)
    try:
        inside = ("ip", "-n", daemons.network)
        for words in (("tuntap", "add", TAP, "mode", "tap"), ("link", "set", TAP, "master", BRIDGE, "up")):
            subprocess.run([*inside, *words], check=True)
        with python(daemons.network, SEND) as guest, python(daemons.outside, LISTEN, "card") as other:
            connection = virt.open(daemons.uri(next(iter(daemons.regions))))
            try:
                wait_for_ports(daemons.network, 2)
                yield Wire(guest, other, connection)
            finally:
                connection.close()
                guest.kill()
                other.kill()
    finally:
        daemons.stop()
        shutil.rmtree(folder)


def _filter(wire: Wire) -> None:
    network = Network((OWN, OWN6))
    identity = "00000000-0000-4000-8000-000000000007"
    wire.libvirt.nwfilterDefineXML(filters.filter_xml("crofter-7", identity, MAC, network))
    wire.libvirt.nwfilterBindingCreateXML(
        f"<filterbinding><owner><name>guest</name><uuid>{identity}</uuid></owner><portdev name='{TAP}'/>"
        f"<mac address='{MAC}'/><filterref filter='crofter-7'/></filterbinding>"
    )


def test_a_guest_takes_nobodys_place(wire: Wire) -> None:
    everything = HONEST | HARMFUL
    assert wire.arriving(everything) == set(everything), "without a filter all of it gets through"
    _filter(wire)
    assert wire.arriving(everything) == set(HONEST)
