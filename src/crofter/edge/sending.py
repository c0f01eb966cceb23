"""Sending answers: long ones in pieces, and no more of them at a time than fits into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

Send = Callable[[Any], Awaitable[None]]

PIECE = 64 * 1024
"""Bytes given to a connection at once. The next ones wait until its peer has read most of them."""
PER_PEER, IN_ALL = 16 * 1024 * 1024, 64 * 1024 * 1024
"""Bytes of answers that may wait to be read, by one address and by all of them."""


class Unread:
    """Bytes of long responses in flight: a client that does not read gets no more."""

    def __init__(self) -> None:
        self._total = 0
        self._peers: Counter[str] = Counter()

    def full(self, peer: str) -> bool:
        return bool(self._total) and (self._total >= IN_ALL or self._peers[peer] >= PER_PEER)

    @contextmanager
    def counted(self, peer: str, size: int) -> Iterator[None]:
        self._total += size
        self._peers[peer] += size
        try:
            yield
        finally:
            self._total -= size
            self._peers[peer] -= size
            if not self._peers[peer]:
                del self._peers[peer]


async def send_in_pieces(send: Send, body: bytes) -> None:
    for start in range(0, len(body), PIECE):
        await send(part(body[start : start + PIECE], more=start + PIECE < len(body)))


async def send_read(send: Send, size: int, read: Callable[[int], Awaitable[bytes]]) -> None:
    """Send what ``read`` finds from each position on. If it has become less meanwhile, the connection breaks."""
    start = 0
    while start < size:
        piece = await read(start)
        if not piece:
            return
        start += len(piece)
        await send(part(piece, more=start < size))


def part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
