"""A domain as name servers read it: the lines of its zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from crofter.context import Context
from crofter.resources.domains.records import store as records
from crofter.resources.domains.records.store import Record
from crofter.resources.domains.store import Domain

TTL, REFRESH, RETRY, EXPIRE = 86400, 14400, 14400, 1209600
"""Values that replace 0."""
BATCH = 1000
LONGEST_STRING = 255
"""Bytes of one string of a TXT record; a longer text has several."""


def lines(ctx: Context, domain: Domain) -> list[str]:
    """The whole zone. The limits on records and on bytes of a domain are what keeps this small."""
    if domain.type != "master":
        return []
    return [*head(domain, ctx.runtime.settings.name_servers), *(line(domain, row) for row in _records(ctx, domain))]


def _records(ctx: Context, domain: Domain) -> Iterator[Record]:
    after = 0
    while rows := records.following(ctx, domain.id, after, BATCH):
        yield from rows
        after = rows[-1].id


def head(domain: Domain, name_servers: Iterable[str]) -> Iterator[str]:
    servers = [f"{server}." for server in name_servers]
    times = (domain.refresh_sec or REFRESH, domain.retry_sec or RETRY, domain.expire_sec or EXPIRE)
    ttl = domain.ttl_sec or TTL
    yield f"; {domain.label} [{domain.id}]"
    yield f"$ORIGIN {domain.name}."
    yield f"$TTL {ttl}"
    numbers = " ".join(map(str, (domain.serial, *times, ttl)))
    yield f"@\tIN\tSOA\t{servers[0]} {mailbox(domain.soa_email)} {numbers}"
    for server in servers:
        yield f"@\tIN\tNS\t{server}"


def mailbox(email: str) -> str:
    """A mail address as a name: what is before the @ is its first label, dots and all."""
    user, _, host = email.rpartition("@")
    escaped = "".join(letter if letter.isalnum() or letter in "-_" else f"\\{ord(letter):03}" for letter in user)
    return f"{escaped}.{host}."


def line(domain: Domain, row: Record) -> str:
    ttl = f"{row.ttl_sec}\t" if row.ttl_sec else ""
    return f"{row.name or '@'}\t{ttl}IN\t{row.type}\t{data(domain, row)}"


def data(domain: Domain, row: Record) -> str:
    """Return the data after the record type. User input in it is a checked name, or quoted."""
    if row.type in ("A", "AAAA"):
        return row.target
    if row.type == "TXT":
        return quoted(row.target)
    if row.type == "CAA":
        return f"0 {row.tag} {quoted(row.target)}"
    host = absolute(domain, row.target)
    if row.type == "MX":
        return f"{row.priority} {host}"
    return f"{row.priority} {row.weight} {row.port} {host}" if row.type == "SRV" else host


def absolute(domain: Domain, host: str) -> str:
    """A host with its whole name; one of a single word is in the domain itself. None: of a null MX."""
    if host in ("", "."):
        return "."
    return f"{host}." if "." in host else f"{host}.{domain.name}."


def quoted(text: str) -> str:
    """Strings of at most 255 bytes, in which nothing ends a string or a line but our own quotes."""
    rest = iter(text.encode())
    pieces = []
    while piece := bytes(islice(rest, LONGEST_STRING)):
        pieces.append('"' + "".join(_escaped(byte) for byte in piece) + '"')
    return " ".join(pieces) or '""'


def _escaped(byte: int) -> str:
    if byte in b'"\\':
        return "\\" + chr(byte)
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03}"
