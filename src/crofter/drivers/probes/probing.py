"""Probe of a service: resolve once, check every address, connect to a checked address, follow no redirects."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

from crofter.drivers.probes.addresses import LOOPBACK, Address, Network, Refused, Target, judge, networks, parse, within
from crofter.drivers.probes.wire import Answer, Ask

ATTEMPTS = 3
"""Looks before a service counts as down, so that a lost packet is no outage."""
MAX_SECONDS = 30.0
"""No further attempt begins after so many seconds."""
MOST_BYTES = 64 * 1024
MOST_ADDRESSES = 16
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)[ \r\n]")
_CHUNKED = re.compile(rb"^transfer-encoding:[^\r\n]*\bchunked\b", re.IGNORECASE | re.MULTILINE)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[..., Awaitable[Streams]]


class Down(Exception):
    """The service is not as it should be. The text says in what way."""


async def resolve(host: str, port: int) -> Sequence[str]:
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in infos]


async def probe(ask: Ask, *, resolver: Resolve = resolve, connect: Connect = asyncio.open_connection) -> Answer:
    """Look until the service answers well, or has failed often enough."""
    began = time.monotonic()
    for attempt in range(1, ATTEMPTS + 1):
        ok, detail, final = await _attempt(ask, resolver, connect)
        if ok or final or attempt == ATTEMPTS or time.monotonic() - began > MAX_SECONDS:
            break
        await asyncio.sleep(ask.pause)
    return Answer(ask.id, ok, detail, round(time.monotonic() - began, 3))


async def _attempt(ask: Ask, resolver: Resolve, connect: Connect) -> tuple[bool, str, bool]:
    """Return whether the service is up, the reason if not, and whether a retry is pointless."""
    try:
        allowed = networks(ask.allowed)
        target = parse(ask.kind, ask.address, local=any(network in allowed for network in LOOPBACK))
        async with asyncio.timeout(ask.timeout):
            detail = await _once(target, ask, allowed, resolver, connect)
        return True, detail, True
    except Refused as error:
        return False, f"it must not be looked at: {error}", True
    except TimeoutError:
        return False, "it did not answer in time", True  # the time limit is used up
    except Down as error:
        return False, str(error), False
    except ssl.SSLCertVerificationError:
        return False, "its certificate is not valid", False
    except socket.gaierror:
        return False, "its name is not known", False
    except (OSError, ValueError):
        return False, "it could not be reached", False


async def _once(target: Target, ask: Ask, allowed: Sequence[Network], resolver: Resolve, connect: Connect) -> str:
    addresses = await _judged(target, allowed, resolver)
    reader, writer = await _connected(target, addresses, connect)
    try:
        reached = writer.get_extra_info("peername")
        if reached is not None:
            judge(reached[0], allowed)
        if target.path is None:
            return "connected"
        writer.write(_request(target))
        return await _read(reader, ask.body)
    finally:
        writer.close()


async def _judged(target: Target, allowed: Sequence[Network], resolver: Resolve) -> list[Address]:
    """Every address behind the name, each one allowed: one that is not allowed refuses them all."""
    if target.literal is not None:
        return [judge(target.literal, allowed)]
    resolved = list(dict.fromkeys(await resolver(target.host, target.port)))
    if not resolved or len(resolved) > MOST_ADDRESSES:
        raise Down("its name leads to no address")
    judged = [judge(address, allowed) for address in resolved]
    if target.host.rpartition(".")[2] == "localhost" and not all(within(address, LOOPBACK) for address in judged):
        raise Refused("this machine's name leads elsewhere")
    return judged


async def _connected(target: Target, addresses: Sequence[Address], connect: Connect) -> Streams:
    """A connection to the first of these addresses that takes one; no name is looked up again."""
    secured: dict[str, Any] = {"ssl": trust(), "server_hostname": target.host} if target.tls else {}
    for address in addresses[:-1]:
        try:
            async with asyncio.timeout(3.0):
                return await connect(str(address), target.port, limit=MOST_BYTES, **secured)
        except ssl.SSLCertVerificationError:
            raise
        except OSError:  # a timeout is one too
            continue
    return await connect(str(addresses[-1]), target.port, limit=MOST_BYTES, **secured)


@lru_cache(maxsize=1)
def trust() -> ssl.SSLContext:
    return ssl.create_default_context()


def _request(target: Target) -> bytes:
    return (
        f"GET {target.path} HTTP/1.1\r\nHost: {target.authority}\r\nUser-Agent: crofter-probe/1\r\n"
        "Accept: */*\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
    ).encode()


async def _read(reader: asyncio.StreamReader, body: str | None) -> str:
    """Judge an answer by its status and, if a text is expected, by its first 64 KB."""
    data = b""
    while len(data) < MOST_BYTES:
        piece = await reader.read(8192)
        data += piece
        head, blank, content = data.partition(b"\r\n\r\n")
        if blank or not piece:
            status = _status(head + b"\r\n")
            if not body:
                return status
            if _contains(head, content, body):
                return status
        if not piece:
            break
    if piece and not blank:  # an incomplete head
        raise Down("it did not answer in HTTP")
    raise Down("the expected text is not in its answer")


def _status(head: bytes) -> str:
    line = _STATUS.match(head)
    if line is None:
        raise Down("it did not answer in HTTP")
    number = int(line[1])
    if not 200 <= number < 400:
        raise Down(f"it answered with status {number}")
    return f"status {number}"


def _contains(head: bytes, content: bytes, body: str) -> bool:
    if _CHUNKED.search(head):
        content = _joined(content)
    return any(body.encode(code, "ignore") in content for code in ("utf-8", "latin-1") if _fits(body, code))


def _fits(body: str, code: str) -> bool:
    try:
        body.encode(code)
    except UnicodeEncodeError:
        return False
    return True


def _joined(content: bytes) -> bytes:
    """The pieces of a chunked body, as far as they have come."""
    joined = b""
    while content:
        size, line, rest = content.partition(b"\r\n")
        digits = size.split(b";")[0].strip()
        if not line or not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", digits):
            break
        count = int(digits, 16)
        joined += rest[:count]
        content = rest[count + 2 :]
    return joined
