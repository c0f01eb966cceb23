"""A line between two parties that can be made to fail: late, in slices, reset, cut, or down altogether."""

from __future__ import annotations

import asyncio
import enum
import random
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

Target = tuple[str, int] | str
"""An address and a port, or the path of a socket."""
CHUNK = 65_536
LATEST = 0.15
"""Seconds that a chunk may be late, at most."""
CHANCE = 0.2
"""Probability that a chunk breaks its connection."""
RESET_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER with zero seconds: the peer gets a reset instead of an end."""


class Fault(enum.Enum):
    NONE = "none"
    LATE = "late"
    SLICED = "sliced"
    RESET = "reset"
    """A part of a chunk arrives, then both sides get a reset."""
    CUT = "cut"
    """Chunks are dropped silently."""
    DOWN = "down"
    """All connections are closed, and new ones refused."""


class Broken(Exception):
    """The connection is to be reset."""


class Connection:
    """A proxied connection between a caller and the target."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self._writers = writers
        self.cut = False
        """True if chunks are dropped."""

    def reset(self) -> None:
        for writer in self._writers:
            with suppress(OSError):
                transport: Any = writer.transport
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
            writer.transport.abort()


Interruption = Callable[[Connection, bytes, bool], bool]
"""Returns True to break the connection instead of forwarding a chunk; the last argument is true for the caller's
chunks.
"""


class Line:
    """Takes connections at ``port``, and forwards what is said on them, as well as its fault allows."""

    def __init__(self, target: Target, seed: int = 0) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._fault = Fault.NONE
        self._interruption: Interruption = lambda _connection, _chunk, _asked: False
        self._connections: set[Connection] = set()
        self.broken = 0
        """Connections that were reset or cut."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server = self._run(asyncio.start_server(self._taken, "127.0.0.1", 0))
        self.port = int(self._server.sockets[0].getsockname()[1])

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for connection in list(self._connections):
            connection.reset()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    # faults

    def fail(self, fault: Fault) -> None:
        """From now on, for connections that are open, too. One that was cut stays so."""
        self._run(self._failing(fault))

    async def _failing(self, fault: Fault) -> None:
        self._fault = fault
        if fault is Fault.DOWN:
            for connection in list(self._connections):
                self._reset(connection)

    def interrupt(self, interruption: Interruption) -> None:
        """Break a connection where it says so, for connections that are open, too."""
        self._interruption = interruption

    def _reset(self, connection: Connection) -> None:
        self.broken += 1
        connection.reset()

    # ---- forwarding -------------------------------------------------------------------------------------------------

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._fault is Fault.DOWN:
            self._reset(Connection(writer))
            return
        try:
            there, beyond = await self._connected()
        except OSError:
            Connection(writer).reset()
            return
        connection = Connection(writer, beyond)
        self._connections.add(connection)
        both = [
            asyncio.ensure_future(self._forward(reader, beyond, connection, asked=True)),
            asyncio.ensure_future(self._forward(there, writer, connection, asked=False)),
        ]
        try:
            _, left = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in left:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        finally:
            self._connections.discard(connection)
            for end in (writer, beyond):
                end.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, str):
            return await asyncio.open_unix_connection(self._target)
        return await asyncio.open_connection(*self._target)

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection, *, asked: bool
    ) -> None:
        with suppress(OSError):
            try:
                while chunk := await reader.read(CHUNK):
                    if not connection.cut:
                        await self._pass(chunk, writer, connection, asked=asked)
            except Broken:
                self._reset(connection)

    async def _pass(self, chunk: bytes, writer: asyncio.StreamWriter, connection: Connection, *, asked: bool) -> None:
        if self._interruption(connection, chunk, asked):
            raise Broken
        if self._fault in (Fault.RESET, Fault.CUT) and self._random.random() < CHANCE:
            writer.write(chunk[: self._random.randrange(len(chunk) + 1)])
            await writer.drain()
            if self._fault is Fault.RESET:
                raise Broken
            self.broken += 1
            connection.cut = True
            return
        if self._fault is Fault.LATE:
            await asyncio.sleep(self._random.uniform(0, LATEST))
        for piece in self._pieces(chunk):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    def _pieces(self, chunk: bytes) -> list[bytes]:
        """Small ones, if it is to be sliced; no more than a few dozen of a large chunk."""
        if self._fault is not Fault.SLICED:
            return [chunk]
        longest = max(8, len(chunk) // 16)
        pieces = []
        while chunk:
            size = self._random.randint(1, longest)
            pieces.append(chunk[:size])
            chunk = chunk[size:]
        return pieces
