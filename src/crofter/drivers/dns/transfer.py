"""Zone transfer (AXFR) from a foreign name server, which may be hostile.

The name is resolved and checked once, and only addresses that addresses.py allows are connected to. Time, bytes and
records are limited. dnspython parses the reply, and each of its errors is a refusal here.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdatatype
import dns.resolver
from msgspec import Struct

from crofter.drivers.probes.addresses import LOOPBACK, Address, Network, Refused, judge, parse, within

SECONDS = 15.0
"""For all of it, from the first question to the last byte."""
MOST_BYTES = 4 * 1024 * 1024
MOST_RECORDS = 5000
AT_ONCE = 2
"""Copies of one process: each holds a thread of those that answer requests."""
PORT = 53
_RESOLVE_SECONDS = 5.0
_LENGTH = struct.Struct("!H")

_places = threading.BoundedSemaphore(AT_ONCE)


class NotCopied(Exception):
    """Failure of a zone transfer. The text is for the caller."""


class Crowded(Exception):
    """The maximum number of transfers is running. Callers retry in a moment."""


class Copied(Struct, frozen=True):
    """A record of the foreign zone."""

    name: str
    """Without the zone's own; empty for the zone itself."""
    type: str
    ttl: int
    target: str
    priority: int = 0
    weight: int = 0
    port: int = 0
    tag: str | None = None


class CopiedZone(Struct, frozen=True):
    email: str
    """Mail address of the zone's contact."""
    refresh: int
    retry: int
    expire: int
    minimum: int
    records: list[Copied]


class Server(Struct, frozen=True):
    """A name server to copy from, taken apart and not yet judged."""

    host: str
    port: int
    literal: Address | None
    allowed: tuple[Network, ...]


def server(written: str, *, local: bool) -> Server:
    """Read how a caller names a server, or raise Refused. ``local``: this machine may be named, with any port."""
    plain = f"[{written}]" if written.count(":") > 1 and not written.startswith("[") else written
    named_port = plain.rpartition("]")[2].count(":") == 1 if plain.startswith("[") else plain.count(":") == 1
    target = parse("tcp", plain if named_port else f"{plain}:{PORT}", local=local)
    allowed = LOOPBACK if local else ()
    here = target.host == "localhost" or (target.literal is not None and within(target.literal, LOOPBACK))
    if target.port != PORT and not (local and here):
        raise Refused("a name server is asked at port 53")
    if target.literal is not None:
        judge(target.literal, allowed)
    return Server(target.host, target.port, target.literal, allowed)


def copy(asked: Server, zone: str) -> CopiedZone:
    """The whole zone, or NotCopied."""
    if not _places.acquire(blocking=False):
        raise Crowded
    try:
        return _Copy(asked, dns.name.from_text(zone)).zone()
    except NotCopied:
        raise
    except Refused as error:
        raise NotCopied(f"The name server must not be asked: {error}") from error
    except TimeoutError as error:
        raise NotCopied("The name server did not answer in time") from error
    except OSError as error:
        raise NotCopied("The name server could not be reached") from error
    except (dns.exception.DNSException, ValueError, struct.error, RecursionError) as error:
        raise NotCopied("The name server's answer cannot be understood") from error
    finally:
        _places.release()


class _Copy:
    """A connection to a foreign name server."""

    def __init__(self, asked: Server, zone: dns.name.Name) -> None:
        self._asked = asked
        self._zone = zone
        self._until = time.monotonic() + SECONDS
        self._bytes = 0

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def zone(self) -> CopiedZone:
        with self._connected() as connection:
            query = dns.message.make_query(self._zone, dns.rdatatype.AXFR)
            wire = query.to_wire()
            connection.settimeout(self._left())
            connection.sendall(_LENGTH.pack(len(wire)) + wire)
            return self._read(connection, query)

    # ---- reaching it ------------------------------------------------------------------------------------------------

    def _connected(self) -> socket.socket:
        """To the first address that takes a connection. Each was judged, and no name is looked up again."""
        failure: OSError = OSError()
        for address in self._addresses():
            try:
                timeout = min(self._left(), 5.0)
                return socket.create_connection((str(address), self._asked.port), timeout=timeout)
            except OSError as error:
                failure = error
        raise failure

    def _addresses(self) -> list[Address]:
        asked = self._asked
        if asked.literal is not None:
            return [judge(asked.literal, asked.allowed)]
        addresses = ["127.0.0.1", "::1"] if asked.host == "localhost" else _resolved(asked.host)
        if not addresses:
            raise NotCopied("The name of the name server is not known")
        return [judge(address, asked.allowed) for address in addresses]

    # ---- listening to it --------------------------------------------------------------------------------------------

    def _read(self, connection: socket.socket, query: dns.message.Message) -> CopiedZone:
        start: Any = None
        end: Any = None
        records: list[Copied] = []
        count = 0
        while end is None:
            for name, ttl, data in self._answers(connection, query):
                if start is None:
                    if data.rdtype != dns.rdatatype.SOA or name != self._zone:
                        raise NotCopied("The name server does not have this domain")
                    start = data
                elif data.rdtype == dns.rdatatype.SOA:
                    end = data
                    break
                else:
                    records += self._record(name, ttl, data)
                count += 1
                if count > MOST_RECORDS:
                    raise NotCopied(f"The domain has more than {MOST_RECORDS} records")
        if end.serial != start.serial:
            raise NotCopied("The domain has changed meanwhile")
        times = (start.refresh, start.retry, start.expire, start.minimum)
        return CopiedZone(_email(start.rname), *times, records)

    def _answers(
        self, connection: socket.socket, query: dns.message.Message
    ) -> Iterator[tuple[dns.name.Name, int, dns.rdata.Rdata]]:
        (length,) = _LENGTH.unpack(self._exactly(connection, _LENGTH.size))
        message = dns.message.from_wire(
            self._exactly(connection, length), xfr=True, multi=True, one_rr_per_rrset=True, ignore_trailing=False
        )
        if message.id != query.id or not message.flags & dns.flags.QR or message.flags & dns.flags.TC:
            raise NotCopied("The name server's answer cannot be understood")
        if message.rcode() != dns.rcode.NOERROR:
            code = dns.rcode.to_text(message.rcode())
            raise NotCopied(f"The name server refuses to let the domain be copied: {code}")
        if not message.answer:
            raise NotCopied("The name server does not have this domain")
        for rrset in message.answer:
            self._left()
            for data in rrset:
                yield rrset.name, rrset.ttl, data

    def _exactly(self, connection: socket.socket, wanted: int) -> bytes:
        self._bytes += wanted
        if self._bytes > MOST_BYTES:
            raise NotCopied(f"The domain has more than {MOST_BYTES // 1024 // 1024} MB")
        parts: list[bytes] = []
        while wanted:
            connection.settimeout(self._left())
            part = connection.recv(wanted)
            if not part:
                raise NotCopied("The name server broke off")
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    def _record(self, name: dns.name.Name, ttl: int, data: dns.rdata.Rdata) -> Iterator[Copied]:
        if not name.is_subdomain(self._zone):
            raise NotCopied("The name server sends records of another domain")
        kind = dns.rdatatype.to_text(data.rdtype)
        if kind in FIELDS:
            shown = "" if name == self._zone else name.relativize(self._zone).to_text()
            yield Copied(shown, kind, ttl, **FIELDS[kind](data))


def _host(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True)


def _text(strings: Sequence[bytes]) -> str:
    try:
        return b"".join(strings).decode()
    except UnicodeDecodeError:
        raise NotCopied("The domain has a TXT record that is no text") from None


FIELDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "A": lambda data: {"target": data.address},
    "AAAA": lambda data: {"target": data.address},
    "NS": lambda data: {"target": _host(data.target)},
    "MX": lambda data: {"target": _host(data.exchange), "priority": data.preference},
    "CNAME": lambda data: {"target": _host(data.target)},
    "TXT": lambda data: {"target": _text(data.strings)},
    "SRV": lambda data: {
        "target": _host(data.target),
        "priority": data.priority,
        "weight": data.weight,
        "port": data.port,
    },
    "PTR": lambda data: {"target": _host(data.target)},
    "CAA": lambda data: {"target": _text([data.value]), "tag": data.tag.decode("ascii", "replace")},
}
"""The types that are copied. Signatures, and what else a name server makes for itself, are made anew."""


def _email(mailbox: dns.name.Name) -> str:
    """A mail address that was written as a name: its first label is what stands before the @."""
    user, *host = mailbox.labels
    return f"{user.decode('ascii', 'replace')}@{_host(dns.name.Name(host))}"


def _resolved(host: str) -> Sequence[str]:
    """Return the addresses of a name. Uses a deadline, which the system's resolver does not offer."""
    addresses: list[str] = []
    for family in ("A", "AAAA"):
        try:
            answer = dns.resolver.resolve(host, family, lifetime=_RESOLVE_SECONDS, search=False)
        except dns.exception.DNSException:
            continue
        addresses += [str(record) for record in answer]
    return addresses[:8]
