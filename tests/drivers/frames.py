"""Frames of Ethernet, made by hand: what a guest may send, and what a guest that means harm would.

Each ends with its name, by which it is known again on the other side.
"""

from __future__ import annotations

import ipaddress
import socket
import struct

EVERYBODY = "ff:ff:ff:ff:ff:ff"
IP, ARP, IP6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100
UDP, ICMP6 = 17, 58
SOLICITATION, ADVERTISEMENT, REDIRECT = 135, 134, 137


def ethernet(source: str, kind: int, payload: bytes, name: str) -> bytes:
    addresses = bytes.fromhex((EVERYBODY + source).replace(":", ""))
    return addresses + struct.pack("!H", kind) + payload + name.encode()


def udp(name: str, ports: tuple[int, int]) -> bytes:
    return struct.pack("!HHHH", *ports, 8 + len(name), 0)


def ip(mac: str, source: str, name: str, ports: tuple[int, int] = (4000, 4000)) -> bytes:
    """From an address to all others."""
    length = 28 + len(name)
    head = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, UDP, 0)
    head += socket.inet_aton(source) + socket.inet_aton("255.255.255.255")
    return ethernet(mac, IP, head[:10] + _checksum(head) + head[12:] + udp(name, ports), name)


def ip6(mac: str, source: str, name: str, message: int | None = None) -> bytes:
    """Return a UDP packet, or an ICMP message, to all hosts on the network."""
    payload = udp(name, (4000, 4000)) if message is None else struct.pack("!BBHI", message, 0, 0, 0)
    head = struct.pack("!IHBB", 6 << 28, len(payload) + len(name), UDP if message is None else ICMP6, 255)
    addresses = ipaddress.IPv6Address(source).packed + ipaddress.IPv6Address("ff02::1").packed
    return ethernet(mac, IP6, head + addresses + payload, name)


def arp(mac: str, source: str, name: str) -> bytes:
    """Return an ARP request, whose sender address other hosts store."""
    own = bytes.fromhex(mac.replace(":", "")) + socket.inet_aton(source)
    return ethernet(mac, ARP, struct.pack("!HHBBH", 1, IP, 6, 4, 1) + own + bytes(6) + socket.inet_aton(source), name)


def tagged(frame: bytes, tag: int = 7) -> bytes:
    """The same frame, into a VLAN."""
    return frame[:12] + struct.pack("!HH", VLAN, tag) + frame[12:]


def _checksum(head: bytes) -> bytes:
    total = sum(struct.unpack(f"!{len(head) // 2}H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)
