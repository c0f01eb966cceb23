"""Long versions of all tests on both databases, in pieces of at most half an hour.

``python tools/soak.py`` runs all pieces in turn, even after failures; with names, only these.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 30 * 60
"""Seconds after which a piece is stopped, and counts as failed."""
GRACE = 20.0
"""Seconds that it then has to end what it has started."""
PYTEST = ("-m", "pytest", "-n", "2", "--dist", "worksteal", "--scope", "soak")

THROUGH_HTTP = ("tests/edge/", "tests/login/", "tests/resources/")
IN_A_DIALECT = ("--dialect", "tests/dialect.toml", "--scope", "quick")


class Piece(Struct, frozen=True):
    """Files by how their paths begin, without those of the pieces before; and which of their tests, if not all."""

    begins: tuple[str, ...]
    chosen: str = ""
    options: tuple[str, ...] = ()
    """How its tests are run. Those of other pieces may be among them: they are run another time."""


PIECES: dict[str, Piece] = {
    "storms": Piece(("tests/engine/test_storms.py",)),
    "engine": Piece(("tests/engine/",)),
    "machines": Piece(("tests/drivers/test_real_machines.py", "tests/drivers/test_real_bridges.py")),
    "contract": Piece(("tests/drivers/test_libvirt.py",), "not each_verb and not interrupted"),
    "interrupted": Piece(("tests/drivers/test_libvirt.py",), "interrupted and dies"),
    "failing": Piece(("tests/drivers/test_libvirt.py",), "interrupted and fails"),
    "verbs": Piece(("tests/drivers/test_libvirt.py",), "each_verb"),
    "deaths": Piece(("tests/drivers/test_libvirt_operations.py",)),
    "database": Piece(("tests/db/", "tests/e2e/", "tests/drivers/")),
    "races": Piece(
        (
            "tests/resources/test_instance_races.py",
            "tests/resources/test_money_races.py",
            "tests/resources/test_networking_races.py",
            "tests/resources/test_nodebalancer_races.py",
        )
    ),
    "killed": Piece(("tests/test_killed_processes.py",)),
    "network": Piece(("tests/test_network_faults.py",)),
    "walks": Piece(("tests/resources/test_instance_walks.py",)),
    "bodies": Piece(("tests/test_any_body.py",)),
    "document": Piece(("tests/test_schemathesis.py",), "not later"),
    "requests": Piece(("tests/test_schemathesis.py",), "later"),
    "year": Piece(("tests/test_year.py",), "not to_the_last_byte"),
    "repeat": Piece(("tests/test_year.py",), "to_the_last_byte"),
    "edge": Piece(("tests/edge/", "tests/login/")),
    "console": Piece(("tests/console/",)),
    "resources": Piece(("tests/resources/",)),
    "operations": Piece(("tests/test_operations.py", "tests/test_matrix.py", "tests/test_job_costs.py")),
    "operating": Piece(("tests/test_walk.py",)),
    "install": Piece(("tests/test_install.py", "tests/test_container.py")),
    "container": Piece(("tests/test_image.py",)),
    "generators": Piece(("tests/clients/test_generators.py",)),
    "rest": Piece(("tests/",)),
    "dialect": Piece(THROUGH_HTTP, options=IN_A_DIALECT),
    "dialect_postgresql": Piece(THROUGH_HTTP, options=(*IN_A_DIALECT[:2], "--scope", "test", "-k", "postgresql")),
}


def files(name: str) -> list[str]:
    """Return the files of a piece: a file is in the first piece that names it, or in several that divide its tests."""
    tests = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))
    if PIECES[name].options:
        return [test for test in tests if test.startswith(PIECES[name].begins)]
    return [test for test in tests if name in _pieces_of(test)]


def _pieces_of(test: str) -> list[str]:
    naming = [name for name, piece in PIECES.items() if test.startswith(piece.begins) and not piece.options]
    whole = next(place for place, name in enumerate(naming) if not PIECES[name].chosen)
    return naming[:whole] or naming[:1]


def run(name: str, limit: float = LIMIT) -> tuple[str, float]:
    """Run a piece. Return the result and the duration in seconds."""
    chosen = PIECES[name].chosen
    command = [sys.executable, *PYTEST, *files(name), *PIECES[name].options, *(["-k", chosen] if chosen else [])]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, process_group=0) as process:
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            _stop(process)
    ended = "took too long" if code is None else "passed" if code == 0 else "failed"
    return ended, time.monotonic() - began


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the process with SIGINT, so that the tests stop their processes; a shell may ignore the signal."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in PIECES]:
        print(f"no such piece: {', '.join(unknown)}; there are {', '.join(PIECES)}", file=sys.stderr)
        return 2
    results: dict[str, tuple[str, float]] = {}
    for name in names or PIECES:
        print(f"== {name}", flush=True)
        results[name] = run(name)
    for name, (ended, seconds) in results.items():
        print(f"{name:<12}{ended:<15}{seconds / 60:>5.1f} min")
    return 0 if all(ended == "passed" for ended, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
