"""The packet filter in front of a machine, in libvirt's words.

It follows connections: what belongs to one that was let through passes in both directions. Every rule names the states
that it is about, because libvirt puts a rule without any into the chain of the other direction as well, turned around:
dropping all that comes in would drop all that goes out.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from crofter.drivers.hypervisor.specs import Network, Rule

MAIL_PORTS = "25,465,587"
PROTOCOLS = {
    None: ("all", "all-ipv6"),
    "TCP": ("tcp", "tcp-ipv6"),
    "UDP": ("udp", "udp-ipv6"),
    "ICMP": ("icmp", "icmpv6"),
}
STATES = {"ACCEPT": "NEW", "DROP": "NEW,INVALID"}
"""Connection states that a rule decides. IPv6 neighbour discovery is always allowed."""
IPENCAP = 4
FOR_ROUTERS = (
    "<ipv6 protocol='icmpv6' type='134'/>",
    "<ipv6 protocol='icmpv6' type='137'/>",
    "<ip protocol='udp' srcportstart='67'/>",
)
"""Messages that guests could forge: router advertisements, redirects and DHCP replies."""


def filter_xml(name: str, identity: str, mac: str, network: Network) -> str:
    """Return the filter of a machine: only its own addresses may send; then the owner's rules, first match decides."""
    rules = [
        f"<rule action='drop' direction='out' priority='-500'><mac match='no' srcmacaddr='{mac}'/></rule>",
        *(f"<rule action='drop' direction='out' priority='-450'>{kind}</rule>" for kind in FOR_ROUTERS),
        *_own_addresses(network.addresses, mac),
        *(
            f"<rule action='drop' direction='out' priority='10'><{tcp} dstportstart='{port}' state='NEW'/></rule>"
            for port in MAIL_PORTS.split(",")
            for tcp in ("tcp", "tcp-ipv6")
        ),
    ]
    if network.rules:
        rules += _established()
    for place, rule in enumerate(network.rules):
        rules += _rule(rule, 20 + place)
    return f"<filter name='{name}' chain='root'><uuid>{identity}</uuid>{''.join(rules)}</filter>"


def _own_addresses(addresses: Iterable[str], mac: str) -> list[str]:
    """Let pass what comes from an address of the machine, and drop the rest, other kinds of frames with it."""
    rules = []
    for text in addresses:
        network = ipaddress.ip_network(text, strict=False)
        kind = "ip" if network.version == 4 else "ipv6"
        source = f"srcipaddr='{network.network_address}' srcipmask='{network.prefixlen}'"
        rules.append(f"<rule action='return' direction='out' priority='-400'><{kind} {source}/></rule>")
        if kind == "ip":
            own = f"arpsrcmacaddr='{mac}' arpsrcipaddr='{network.network_address}'"
            rules.append(f"<rule action='accept' direction='out' priority='-400'><arp {own}/></rule>")
    # A guest without an address requests one from 0.0.0.0, and IPv6 neighbour discovery uses the link-local address.
    asking = "<ip srcipaddr='0.0.0.0' protocol='udp' dstportstart='67'/>"
    for kind in (asking, *(f"<ipv6 srcipaddr='{source}' srcipmask='128'/>" for source in ("::", _link_local(mac)))):
        rules.append(f"<rule action='return' direction='out' priority='-400'>{kind}</rule>")
    rules.append("<rule action='accept' direction='in' priority='-400'><arp/></rule>")
    return [*rules, "<rule action='drop' direction='out' priority='-300'><mac/></rule>"]


def _link_local(mac: str) -> str:
    """The address that IPv6 derives from a card, which is the one that the interface shows."""
    octets = [int(part, 16) for part in mac.split(":")]
    card = bytes([octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]])
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + card))


def _established() -> list[str]:
    return [
        f"<rule action='accept' direction='{direction}' priority='15'><{kind} state='ESTABLISHED,RELATED'/></rule>"
        for direction in ("in", "out")
        for kind in PROTOCOLS[None]
    ]


def _rule(rule: Rule, priority: int) -> list[str]:
    direction = "in" if rule.direction == "inbound" else "out"
    action = "accept" if rule.action == "ACCEPT" else "drop"
    head = f"<rule action='{action}' direction='{direction}' priority='{priority}'>"
    if rule.protocol == "IPENCAP":
        return [] if action == "accept" else _without_tunnels(rule, direction)
    rules = []
    for kind in PROTOCOLS[rule.protocol]:
        version = 6 if kind.endswith("v6") else 4
        for address in _addresses(rule, direction, version):
            for ports in _ports(rule.ports):
                rules.append(f"{head}<{kind}{address}{ports} state='{STATES[rule.action]}'/></rule>")
    return rules


def _without_tunnels(rule: Rule, direction: str) -> list[str]:
    """libvirt knows this protocol among addresses alone, before any connection: it can be dropped there, and what a
    later rule drops with all else cannot be let through. So a rule that lets it through has no effect.
    """
    head = f"<rule action='drop' direction='{direction}' priority='-450'>"
    return [f"{head}<ip protocol='{IPENCAP}'{address}/></rule>" for address in _addresses(rule, direction, 4)]


def _addresses(rule: Rule, direction: str, version: int) -> list[str]:
    if not rule.addresses:
        return [""]
    side = "src" if direction == "in" else "dst"
    networks = [ipaddress.ip_network(text, strict=False) for text in rule.addresses]
    return [
        f" {side}ipaddr='{network.network_address}' {side}ipmask='{network.prefixlen}'"
        for network in networks
        if network.version == version
    ]


def _ports(ports: str) -> list[str]:
    if not ports:
        return [""]
    ranges = []
    for part in ports.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        ranges.append(f" dstportstart='{first}' dstportend='{last or first}'")
    return ranges
