"""Addresses that monitoring may probe. Users write them, so each spelling is treated as an attack until checked."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal

from msgspec import Struct

Kind = Literal["url", "tcp"]
Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def networks(words: str | Iterable[str]) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(word) for word in (words.split() if isinstance(words, str) else words))


# Our own list: what Python's is_private and is_global mean has changed between its releases.
NEVER = networks(
    # this network, private, carrier NAT, loopback, link-local (metadata services), protocol assignments,
    # documentation, relays, benchmarks, multicast, reserved
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
    " 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24"
    " 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    # unspecified, loopback, IPv4 in IPv6; NAT64; discard; Teredo and other protocols; documentation; 6to4;
    # DNS relays; segment routing; unique local; link-local; site-local; multicast
    " ::/8 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48"
    " 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
)
GLOBAL_V6 = IPv6Network("2000::/3")
PRIVATE = networks("10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7")
LOOPBACK = networks("127.0.0.0/8 ::1/128")
ISATAP = (0x00005EFE, 0x02005EFE)
"""Interface ids that carry an IPv4 address inside an IPv6 one of any prefix."""

LONGEST = 2048
_PLAIN = re.compile(r"[!-\[\]-~]+")
"""Printable ASCII without space and backslash: what no two parsers read differently."""
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)"
_URL = re.compile(rf"(https?)://{_HOST}(?::(\d{{1,5}}))?([/?][^#]*)?(?:#.*)?", re.IGNORECASE)
_TCP = re.compile(rf"(?:tcp://)?{_HOST}:(\d{{1,5}})", re.IGNORECASE)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
# The last label begins with a letter: so 2130706433, 0x7f.1 and 017700000001 are no names.
_NAME = re.compile(rf"(?=.{{1,253}}$)(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])")
_INWARD = (
    "localhost local internal intranet private corp home lan arpa onion localdomain".split()  # never a public name
)
# Ports at which an HTTP request may be taken for something else: those that browsers refuse, and two databases.
_NOT_HTTP = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104),
        *(109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515),
        *(526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049),
        *(3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211),
    )
)


class Refused(ValueError):
    """An address that must not be looked at. The text says why."""


class Target(Struct, frozen=True):
    """A parsed address. Parsed once, so that all code reads the same values."""

    host: str
    port: int
    tls: bool = False
    path: str | None = None
    """Path of the HTTP request; None for a plain connection."""
    literal: Address | None = None
    """The host, if it is an address and no name."""

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def parse(kind: Kind, address: str, *, local: bool = False) -> Target:
    """Take an address apart, or refuse it. ``local``: this machine may look at itself, under any name and port."""
    if len(address) > LONGEST or not _PLAIN.fullmatch(address):
        raise Refused("characters that do not belong into an address")
    scheme, written, port, path = _split(kind, address)
    if not 1 <= port <= 65535 or (path is not None and port in _NOT_HTTP and not local):
        raise Refused("a port that is not looked at")
    literal = _literal(written)
    host = str(literal) if literal is not None else written.lower().removesuffix(".")
    if literal is None and not _is_name(host, local=local):
        raise Refused("not a public host name")
    return Target(host, port, scheme == "https", path, literal)


def _split(kind: Kind, address: str) -> tuple[str, str, int, str | None]:
    if kind == "tcp":
        parts = _TCP.fullmatch(address)
        if parts is None:
            raise Refused("not of the form host:port")
        return "tcp", parts[1], int(parts[2]), None
    parts = _URL.fullmatch(address)
    if parts is None:
        raise Refused("not an http or https address")
    scheme = parts[1].lower()
    path = parts[4] or "/"
    port = int(parts[3]) if parts[3] else 443 if scheme == "https" else 80
    return scheme, parts[2], port, path if path.startswith("/") else "/" + path


def _literal(written: str) -> Address | None:
    try:
        if written.startswith("["):
            return IPv6Address(written[1:-1])
        return IPv4Address(written.removesuffix("."))
    except ValueError:
        if written.startswith("["):
            raise Refused("not an IPv6 address") from None
        return None


def _is_name(host: str, *, local: bool) -> bool:
    last = host.rpartition(".")[2]
    if last == "localhost":
        return local
    return _NAME.fullmatch(host) is not None and last not in _INWARD


def judge(address: Address | str, allowed: Sequence[Network] = ()) -> Address:
    """An address that may be connected to, or Refused. ``allowed`` are networks that are open all the same."""
    if isinstance(address, str):
        if "%" in address:
            raise Refused("an address of one link")
        address = ipaddress.ip_address(address)
    if within(address, allowed):
        return address
    if within(address, NEVER):
        raise Refused(f"{address} is not a public address")
    if isinstance(address, IPv6Address):
        if address not in GLOBAL_V6:
            raise Refused(f"{address} is not a global address")
        if (int(address) >> 32) & 0xFFFFFFFF in ISATAP:
            raise Refused(f"{address} carries another address")
    return address


def within(address: Address, several: Sequence[Network]) -> bool:
    return any(address in network for network in several if network.version == address.version)


def private(address: Address) -> bool:
    """True if the address is private and so valid only inside a region."""
    return within(address, PRIVATE)
