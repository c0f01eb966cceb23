"""Probe process: receives probes and sends results. It has no database, keys or settings."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from crofter.drivers import confined
from crofter.drivers.probes.probing import probe, trust
from crofter.drivers.probes.wire import HEAD, Answer, Ask, frame, length, read_ask

AT_ONCE = 1000
GROUP_AT_ONCE = 8
LOOKUPS = 64
GROUP_LOOKUPS = 4
"""Lookups per group. A silent name server blocks a thread, and threads cannot be cancelled."""
OPEN_FILES = 4096


class ConcurrencyLimit:
    """Limit of concurrent probes, in total and per group."""

    def __init__(self, total: int, each: int) -> None:
        self._total = asyncio.Semaphore(total)
        self._each = each
        self._groups: dict[int, asyncio.Semaphore] = {}
        self._wanted: dict[int, int] = {}

    async def acquire(self, group: int) -> None:
        slots = self._groups.setdefault(group, asyncio.Semaphore(self._each))
        self._wanted[group] = self._wanted.get(group, 0) + 1
        try:
            await slots.acquire()
            try:
                await self._total.acquire()
            except BaseException:
                slots.release()
                raise
        except BaseException:
            self._drop(group)
            raise

    def release(self, group: int) -> None:
        self._total.release()
        self._groups[group].release()
        self._drop(group)

    def _drop(self, group: int) -> None:
        self._wanted[group] -= 1
        if not self._wanted[group]:
            del self._wanted[group], self._groups[group]

    @contextlib.asynccontextmanager
    async def held(self, group: int) -> AsyncIterator[None]:
        await self.acquire(group)
        try:
            yield
        finally:
            self.release(group)


class ProbeServer:
    """Server that sends each result as soon as it is known, in no particular order."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._probes = ConcurrencyLimit(AT_ONCE, GROUP_AT_ONCE)
        self._lookups = ConcurrencyLimit(LOOKUPS, GROUP_LOOKUPS)
        self._threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lookup")
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, ask: Ask) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(ask))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, ask: Ask) -> None:
        async def resolve(host: str, port: int) -> Sequence[str]:
            return await self._resolve(ask.group, host, port)

        async with self._probes.held(ask.group):
            try:
                answer = await probe(ask, resolver=resolve)
            except Exception as error:  # a defect of ours; the caller must not wait for ever
                answer = Answer(ask.id, False, f"it could not be looked at ({type(error).__name__})")
        os.write(self._output, frame(answer))  # shorter than the atomic size of a pipe, which is always being read

    async def _resolve(self, group: int, host: str, port: int) -> Sequence[str]:
        await self._lookups.acquire(group)
        lookup = asyncio.wrap_future(self._threads.submit(_addresses, host, port))

        def finished(done: asyncio.Future[Sequence[str]]) -> None:
            done.exception()  # retrieved in case no task awaits it any more
            self._lookups.release(group)

        lookup.add_done_callback(finished)
        return await asyncio.shield(lookup)


def _addresses(host: str, port: int) -> Sequence[str]:
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def confine(certificates: Sequence[str] = ()) -> None:
    trust()  # reads the certificates while it still may
    for file in certificates:
        trust().load_verify_locations(file)
    "localhost".encode("idna")  # and the code for names
    confined.confine(open_files=OPEN_FILES, threads=True)


async def serve(source: int, output: int) -> None:
    """Serve until the input is closed."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb"))
    server = ProbeServer(output)
    with contextlib.suppress(asyncio.IncompleteReadError, BrokenPipeError):
        while True:
            size = length(await reader.readexactly(HEAD.size))
            server.begin(read_ask(await reader.readexactly(size)))


def main() -> None:
    source, output = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # other prints must not corrupt the stream
    confine(sys.argv[1:])
    asyncio.run(serve(source, output))
    os._exit(0)  # lookups that hang must not keep it


if __name__ == "__main__":
    main()
