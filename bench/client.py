"""A load client: keep-alive connections on loopback, each sending its next request when the last was answered."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import uvloop

CONNECTIONS = 8
SLOWEST = 120.0
"""Seconds after which an answer is no longer waited for."""
Make = Callable[[int], bytes]
"""The bytes of request number n, so that no two creations are alike."""


class Response(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def request(method: str, path: str, token: str, *, filter: str | None = None, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {token}"]
    if filter is not None:
        lines.append(f"x-filter: {filter}")
    if body:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def send(port: int, content: bytes) -> Response:
    """Send a request on a new connection."""
    with _runner() as runner:
        return runner.run(_once(port, content))


def load(port: int, make: Make, numbers: Iterator[int], amount: int, connections: int = CONNECTIONS) -> None:
    """Send ``amount`` requests; anything but a 200 ends the run."""
    with _runner() as runner:
        runner.run(_many(port, make, itertools.islice(numbers, amount), min(connections, amount)))


def _runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _once(port: int, content: bytes) -> Response:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await _ask(reader, writer, content)
    finally:
        writer.close()


async def _many(port: int, make: Make, numbers: Iterator[int], connections: int) -> None:
    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            answer = await _ask(reader, writer, make(number))
            if answer.status != 200:
                raise RuntimeError(f"answered {answer.status}: {answer.body.decode()[:200]}")
            if (b"connection", b"close") in answer.headers:  # not by ours
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(connection())


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: bytes) -> Response:
    writer.write(content)
    async with asyncio.timeout(SLOWEST):
        head = await reader.readuntil(b"\r\n\r\n")
        start, *lines = head[:-4].split(b"\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        length = next(int(value) for name, value in headers if name == b"content-length")
        body = await reader.readexactly(length)
    return Response(int(start.split()[1]), headers, body)
