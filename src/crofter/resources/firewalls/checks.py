"""Checks of firewall fields: labels, ports and networks."""

from __future__ import annotations

import ipaddress
import re

MOST_PORTS = 15
"""Numbers in one list of ports; a range has two of them."""
MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_ALLOWED = re.compile(r"[A-Za-z0-9._-]+")
_DOUBLED = re.compile(r"--|__|\.\.")
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_PREFIX = re.compile(r"0|[1-9][0-9]{0,2}")


def about_label(label: str) -> str | None:
    """Why this cannot be the label of a firewall, if it cannot."""
    if not (label[0].isascii() and label[0].isalpha()):
        return "Must begin with a letter"
    if not _ALLOWED.fullmatch(label):
        return "Must only use ASCII letters, numbers, dashes, underscores and periods"
    if _DOUBLED.search(label):
        return "Must not have two dashes, underscores or periods in a row"
    return None


def pieces(ports: str) -> list[str]:
    """The ports and ranges of a list, without the spaces between them; none of an empty one."""
    return [piece.strip(" ") for piece in ports.split(",")] if ports.strip(" ") else []


def about_ports(ports: str) -> str | None:
    """Why this is no list of ports, if it is none. An empty one is; whether one is needed the protocol says."""
    numbers = 0
    for piece in pieces(ports):
        match = _PORTS.fullmatch(piece)
        if match is None:
            return "Must be ports and ranges of ports, separated by commas"
        bounds = [number for number in match.groups() if number is not None]
        if any(number[0] == "0" for number in bounds) or any(int(number) > 65535 for number in bounds):
            return "Ports must be 1-65535, without leading zeros"
        if len(bounds) == 2 and int(bounds[0]) >= int(bounds[1]):
            return "A range must begin with its lower port"
        numbers += len(bounds)
    return f"Must have at most {MOST_PORTS} ports; a range counts as two" if numbers > MOST_PORTS else None


def about_ipv4(network: str) -> str | None:
    return _about_network(network, ipaddress.IPv4Network)


def about_ipv6(network: str) -> str | None:
    complaint = _about_network(network, ipaddress.IPv6Network)
    if complaint is None and ipaddress.IPv6Network(network, strict=False).subnet_of(MAPPED):
        return "Must be among the IPv4 networks"  # no packet on a wire has such an address
    return complaint


def _about_network(network: str, family: type[ipaddress.IPv4Network] | type[ipaddress.IPv6Network]) -> str | None:
    address, slash, prefix = network.partition("/")
    if not slash:
        return "Must be an IP address with a mask, such as 192.0.2.0/24 or 2001:db8::/32"
    # The library would also take masks such as /255.255.255.0 and the name of a network card after a percent sign.
    if not _PREFIX.fullmatch(prefix) or "%" in address or not address.isascii():
        return _no_network(family)
    try:
        family(network, strict=False)
    except ValueError:
        return _no_network(family)
    return None


def _no_network(family: type[ipaddress.IPv4Network] | type[ipaddress.IPv6Network]) -> str:
    return f"Must be an {'IPv4' if family is ipaddress.IPv4Network else 'IPv6'} address with a mask"
