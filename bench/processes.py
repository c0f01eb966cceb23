"""Real servers in processes of their own."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench import client, machine
from bench.ceiling import ADDED_BY_SERVER, Recorded

COMPILED = str(Path(tempfile.gettempdir()) / "crofter-bench-bytecode")
"""Bytecode as on a server that has started before. The first round fills the folder."""
TOKEN = "the-token-of-the-benchmark-user"


class Cpu(NamedTuple):
    """Processor time, of a server and of its database where that is a server of its own."""

    server: float
    database: float

    @property
    def both(self) -> float:
        return self.server + self.database

    def since(self, before: Cpu, amount: int) -> Cpu:
        """Return the use of each of ``amount`` requests since ``before``, in microseconds."""
        return Cpu(
            (self.server - before.server) / amount * 1_000_000, (self.database - before.database) / amount * 1_000_000
        )


class Server:
    """Process of a server that prints its address at the start."""

    def __init__(self, command: list[str], helpers: Callable[[], list[int]] = list) -> None:
        environment = {**os.environ, "CROFTER_BOOTSTRAP_TOKEN": TOKEN, "PYTHONPYCACHEPREFIX": COMPILED}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._helpers = helpers
        """Other processes that work for this one, such as a database's."""
        self._began = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.port = self._printed_port()

    def _printed_port(self) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if match := re.search(r"serves on http://[^:]+:(\d+)", line):
                return int(match[1])
        raise RuntimeError(f"the server ended with {self._process.wait()}")

    def seconds_to_first_answer(self) -> float:
        """Return the seconds from the start of the process to the first response; call without delay."""
        answer = client.send(self.port, client.request("GET", "/v4/regions", TOKEN))
        assert answer.status == 200, answer
        return time.perf_counter() - self._began

    def cpu_seconds(self) -> Cpu:
        """Return the CPU time of this process with its children, and of its helpers."""
        return Cpu(machine.cpu_seconds(self.pids()), machine.cpu_seconds(self._helpers()))

    def pids(self) -> list[int]:
        """Return the process ids of the server and of all child processes."""
        return [self._process.pid, *machine.children(self._process.pid)]

    @property
    def resident_megabytes(self) -> float:
        return machine.resident_megabytes(self._process.pid)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=30)


@contextmanager
def running(command: list[str], helpers: Callable[[], list[int]] = list) -> Iterator[Server]:
    server = Server(command, helpers)
    try:
        yield server
    finally:
        server.stop()


def crofter(data: Path, database: str | None = None, processes: int = 1) -> list[str]:
    flags = ["--database", database] if database else []
    flags += ["--workers", str(processes)] if processes > 1 else []
    return [
        str(Path(sys.executable).with_name("crofter")),
        "serve",
        "--data",
        str(data),
        *flags,
        "--port=0",
        "--log=off",
    ]


def ceiling(recorded: Recorded, folder: Path) -> list[str]:
    file = folder / "recorded"
    file.write_bytes(pickle.dumps(recorded))
    return [sys.executable, "-m", "bench.ceiling", str(file)]


def bare() -> list[str]:
    return [sys.executable, "-m", "bench.bare"]


def record(server: Server, contents: Iterable[bytes]) -> Recorded:
    """The very answers that the server gives to these requests, by method and path."""
    recorded: Recorded = {}
    for content in contents:
        method, path, _ = content.split(b" ", 2)
        recorded[method.decode(), path.partition(b"?")[0]] = _answer(server, content)
    return recorded


def check_same(ceiling: Server, content: bytes, recorded: Recorded) -> None:
    """The ceiling sends what was recorded, byte for byte, or comparing with it means nothing."""
    method, path, _ = content.split(b" ", 2)
    if _answer(ceiling, content) != recorded[method.decode(), path.partition(b"?")[0]]:
        raise RuntimeError(f"the ceiling answers {path.decode()} differently")


def _answer(server: Server, content: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    answer = client.send(server.port, content)
    if answer.status != 200:
        raise RuntimeError(f"answered {answer.status}: {answer.body.decode()[:200]}")
    return 200, [header for header in answer.headers if header[0] not in ADDED_BY_SERVER], answer.body
