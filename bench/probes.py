"""Monitoring: what a minute of it costs, for few services and for many."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from bench import machine
from bench.table import Verdict, render
from crofter import assembly
from crofter.config import load
from crofter.context import Context, World
from crofter.resources.managed.services import rounds
from crofter.resources.managed.services.store import service
from crofter.resources.users.rules import open_account

GROWTH = 1.5
BUSY = 30.0
"""Seconds of processor time per minute: a quarter of two cores."""
EACH = 50
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


def probes(sizes: Sequence[int], folder: Path) -> tuple[str, list[Verdict]]:
    with _target() as port:
        costs = [_minute(size, port, folder / f"probes-{size}") for size in sizes]
    rows = [
        [
            f"{size:,} services",
            f"{house:.2f} s",
            f"{outside:.2f} s",
            f"{wall:.1f} s",
            f"{1e6 * (house + outside) / size:.0f}",
        ]
        for size, (house, outside, wall) in zip(sizes, costs, strict=True)
    ]
    per_service = [(house + outside) / size for size, (house, outside, _) in zip(sizes, costs, strict=True)]
    verdicts = [Verdict(per_service[-1] / per_service[0], GROWTH), Verdict(sum(costs[-1][:2]), BUSY, " s")]
    rows.append(["cost of one, last/first", "", "", "", *verdicts[0].cells()])
    rows.append(["processor time of the last", "", "", "", *verdicts[1].cells()])
    columns = ["Each looked at once a minute", "CPU, house", "CPU, probes", "took", "us each", "target", ""]
    return render("Monitoring", columns, [[*row, *[""] * (len(columns) - len(row))] for row in rows]), verdicts


def _minute(size: int, port: int, folder: Path) -> tuple[float, float, float]:
    """Processor time of the house and of its probe process for one minute of house time, and how long it took."""
    flags = {"data": str(folder), "mode": "sandbox", "log": "off"}
    house = assembly.build(load(flags, {}))
    house.worker.start()
    try:
        house.conductor.freeze()
        _fill(house.world, size, port)
        house.conductor.advance(60)  # the first look at each: pending becomes ok
        crew = rounds.crew(house.world)
        assert crew.process_id is not None
        before, outside, began = time.process_time(), machine.cpu_seconds([crew.process_id]), time.perf_counter()
        house.conductor.advance(60)
        taken = time.perf_counter() - began
        return time.process_time() - before, machine.cpu_seconds([crew.process_id]) - outside, taken
    finally:
        house.worker.stop(grace=1)
        rounds.crew(house.world).close()
        house.world.database.close()


def _fill(world: World, size: int, port: int) -> None:
    values = {"service_type": "url", "host": "127.0.0.1", "timeout": 5, "consultation_group": "", "revision": 1}
    with world.database.write() as db:
        ctx = Context(world, db)
        for number in range(size):
            if number % EACH == 0:
                open_account(world, db, username=f"owner-{number}", email="a@example.com", managed=True)
            dates = {"created": ctx.moment, "updated": ctx.moment, "status": "pending"}
            address = f"http://127.0.0.1:{port}/{number}"
            account_id = 2 + number // EACH
            made = db.insert(service, account_id=account_id, label=f"s{number}", address=address, **values, **dates)
            if number == 0 or made >> rounds.BLOCK_BITS != (made - 1) >> rounds.BLOCK_BITS:
                rounds.plan(ctx, made)


@contextmanager
def _target() -> Iterator[int]:
    """A quick server in a process of its own, so that its work is not counted."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    yield int(ours.recv())
    process.terminate()
    process.join()


def _serve(told: Connection) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(REPLY)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())
