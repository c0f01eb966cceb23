"""Monitoring: what a minute of it costs, for few services and for many, and whether it keeps up with the clock."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench import machine
from bench.table import Verdict, render
from crofter import assembly
from crofter.assembly import Application
from crofter.config import load
from crofter.context import Context, Runtime
from crofter.engine.queue import enqueue
from crofter.resources.managed.services import rounds
from crofter.resources.managed.services.store import service
from crofter.resources.users.rules import open_account

GROWTH = 1.5
BUSY = 30.0
"""Seconds of processor time per minute: a quarter of two cores."""
LATE = 66.0
"""Seconds from the end of one round of all services to the end of the next: a minute, and what chance adds to it."""
EACH = 50
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


class Cost(NamedTuple):
    """Processor time of the server and of its probe process for a minute, how long it took, and how many were seen."""

    application: float
    outside: float
    wall: float
    visits: int


def probes(sizes: Sequence[int], real: int, folder: Path) -> tuple[str, list[Verdict]]:
    """A minute of service time for each of these sizes; and, for ``real`` of them, one by a clock that runs."""
    with _target() as target:
        costs = [_moved(size, target, folder / f"probes-{size}") for size in sizes]
        running = _running(real, target, folder / "probes-running") if real else None
    rows = [_row(f"{size:,} services", size, cost) for size, cost in zip(sizes, costs, strict=True)]
    each = [(cost.application + cost.outside) / size for size, cost in zip(sizes, costs, strict=True)]
    verdicts = {"cost of one, last/first": Verdict(each[-1] / each[0], GROWTH)}
    if running is not None:
        rows.append(_row(f"{real:,} services, by a clock that runs", real, running))
        verdicts["processor time of a real minute"] = Verdict(running.application + running.outside, BUSY, " s")
        verdicts["from one real round to the next"] = Verdict(running.wall, LATE, " s")
    rows += [[name, "", "", "", "", *verdict.cells()] for name, verdict in verdicts.items()]
    columns = ["Each looked at once a minute", "CPU, server", "CPU, probes", "took", "seen", "us each", "target", ""]
    padded = [[*row, *[""] * (len(columns) - len(row))] for row in rows]
    return render("Monitoring", columns, padded), list(verdicts.values())


def _row(name: str, size: int, cost: Cost) -> list[str]:
    times = [f"{cost.application:.2f} s", f"{cost.outside:.2f} s", f"{cost.wall:.1f} s"]
    return [name, *times, f"{cost.visits:,}", f"{1e6 * (cost.application + cost.outside) / size:.0f}"]


def _moved(size: int, target: Target, folder: Path) -> Cost:
    """A minute by a clock that is moved: nothing but work."""
    with _service(folder) as application:
        application.time_travel.freeze()
        _fill(application.runtime, size, target.port)
        application.time_travel.advance(60)  # the first look at each: pending becomes ok
        with _measured(application.runtime, target) as measured:
            application.time_travel.advance(60)
        return measured()


def _running(size: int, target: Target, folder: Path) -> Cost:
    """A minute as it passes, with the threads and schedules of a server: until all have been looked at once more."""
    before = target.visits()
    with _service(folder) as application:
        _fill(application.runtime, size, target.port, at_once=True)
        target.wait_for(before + size)
        with _measured(application.runtime, target) as measured:
            target.wait_for(before + 2 * size)
        return measured()


@contextmanager
def _service(folder: Path) -> Iterator[Application]:
    application = assembly.build(load({"data": str(folder), "mode": "sandbox", "log": "off"}, {}))
    application.worker.start()
    try:
        yield application
    finally:
        application.worker.stop(grace=1)
        rounds.probe_client(application.runtime).close()
        application.runtime.database.close()


class _Measured:
    def __init__(self, runtime: Runtime, target: Target) -> None:
        self._probes = rounds.probe_client(runtime).process_id
        self._target = target
        self._before = self._now()

    def _now(self) -> Cost:
        assert self._probes is not None
        outside = machine.cpu_seconds([self._probes])
        return Cost(time.process_time(), outside, time.perf_counter(), self._target.visits())

    def __call__(self) -> Cost:
        spent: list[Any] = [after - before for before, after in zip(self._before, self._after, strict=True)]
        return Cost(*spent)

    def stop(self) -> None:
        self._after = self._now()


@contextmanager
def _measured(runtime: Runtime, target: Target) -> Iterator[_Measured]:
    measured = _Measured(runtime, target)
    yield measured
    measured.stop()


def _fill(runtime: Runtime, size: int, port: int, *, at_once: bool = False) -> None:
    values = {"service_type": "url", "host": "127.0.0.1", "timeout": 5, "consultation_group": "", "revision": 1}
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        first = made = 0
        for number in range(size):
            if number % EACH == 0:
                open_account(runtime, db, username=f"owner-{number}", email="a@example.com", managed=True)
            dates = {"created": ctx.moment, "updated": ctx.moment, "status": "pending"}
            address = f"http://127.0.0.1:{port}/{number}"
            account_id = 2 + number // EACH
            made = db.insert(service, account_id=account_id, label=f"s{number}", address=address, **values, **dates)
            if not first or made >> rounds.BLOCK_BITS != first >> rounds.BLOCK_BITS:
                first = made
                rounds.plan(ctx, made)
                if at_once:
                    enqueue(ctx, rounds.ROUND, rounds.around(made))


# probes


class Target:
    """A quick server in a process of its own, so that its work is not counted."""

    def __init__(self, line: Connection) -> None:
        self._line = line
        self.port = int(line.recv())

    def visits(self) -> int:
        self._line.send("visits")
        return int(self._line.recv())

    def wait_for(self, visits: int) -> None:
        while self.visits() < visits:
            time.sleep(0.05)


@contextmanager
def _target() -> Iterator[Target]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    yield Target(ours)
    process.terminate()
    process.join()


def _serve(line: Connection) -> None:
    visits = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal visits
        visits += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the last ones hang up when the server is closed
            await reader.readuntil(b"\r\n\r\n")
            writer.write(REPLY)
        writer.close()

    def tell() -> None:
        line.recv()
        line.send(visits)

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
        line.send(server.sockets[0].getsockname()[1])
        asyncio.get_running_loop().add_reader(line.fileno(), tell)
        await server.serve_forever()

    asyncio.run(run())
