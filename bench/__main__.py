"""`make bench`: one run, ratios rather than times, each beside its target."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench import accounts, kinds, processes
from bench.accounts import creates_of, opened
from bench.dialects import dialects
from bench.growing import limits
from bench.growth import growth
from bench.lives import lives
from bench.measuring import BRIEF, QUICK, THOROUGH, Candidate, Effort, microseconds
from bench.mixed import mixed
from bench.month import month
from bench.peers import peers
from bench.probes import probes
from bench.processes import running
from bench.steps import steps
from bench.stores import Store, stores
from bench.table import Verdict, render
from bench.work import CREATE, GROWTH, POSTGRESQL, WORK, StepContext

PARTS = (
    "growth",
    "start",
    "speed",
    "steps",
    "mixed",
    "month",
    "limits",
    "peers",
    "lives",
    "probes",
    "kinds",
    "dialects",
)
START, MEMORY = 2.5, 110.0
NOTE = """\
CPU: user and system time of the server's processes per request; growth and lives add PostgreSQL's own.
Ceiling: the same uvicorn answering the same bytes from memory. Other people's servers are no dependencies of
ours: ``--peers`` names a Python that has them."""


def speed(store: Store, effort: Effort, folder: Path, asked: Sequence[StepContext] = WORK) -> tuple[str, list[Verdict]]:
    numbers = itertools.count(1)
    server = store.server()
    try:
        # The work of a request is done after the clock resumes: its steps are measured separately.
        accounts.asked(server, "POST", "/_sandbox/clock/freeze")
        if store.database:
            asked = [
                *asked,
                StepContext("POST create instance, 8 accounts in turn", creates_of(opened(server)), CREATE),
            ]
        recorded = processes.record(server, (work.make(next(numbers)) for work in asked))
        with running(processes.ceiling(recorded, folder)) as ceiling:
            rows, verdicts = [], []
            for work in asked:
                processes.check_same(ceiling, work.make(next(numbers)), recorded)
                pair = [Candidate(server, work.make), Candidate(ceiling, work.make)]
                ours, least = microseconds(pair, effort, numbers)
                target = POSTGRESQL[work.target] if store.database else work.target
                verdicts.append(Verdict(ours.server / least.server, target))
                figures = [f"{ours.server:.0f}", f"{ours.database:.0f}", f"{least.server:.0f}"]
                rows.append([work.name, *figures, *verdicts[-1].cells()])
    finally:
        server.stop()
    columns = ["CPU per request", "us", "database us", "ceiling us", "ratio", "target", ""]
    return render("Speed", columns, rows), verdicts


def of_kinds(sizes: Sequence[int], effort: Effort, folder: Path) -> tuple[str, list[Verdict]]:
    """Speed and growth of the resources that are measured alike; on SQLite."""
    filled, made = kinds.stores(folder, sizes, kinds.served())
    quick, slow = speed(filled[0], effort, folder, kinds.work(made)), growth(filled, sizes, effort, kinds.growth(made))
    return f"{quick[0]}\n{slow[0]}", [*quick[1], *slow[1]]


def start(store: Store, effort: Effort, folder: Path) -> tuple[str, list[Verdict]]:
    commands = {
        "crofter, first start": lambda turn: processes.crofter(folder / f"new-{turn}"),
        "crofter, started again": lambda _turn: processes.crofter(folder / "new-0"),
        "uvicorn and Starlette alone": lambda _turn: processes.bare(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn, (name, command) in itertools.product(range(effort.rounds), commands.items()):
        with running(command(turn)) as server:
            seconds[name].append(server.seconds_to_first_answer())
    first, again, bare = (median(taken) for taken in seconds.values())
    idle = store.server()
    idle.seconds_to_first_answer()
    memory = idle.resident_megabytes
    idle.stop()
    verdicts = [Verdict(first / bare, None), Verdict(again / bare, START), Verdict(memory, MEMORY, "MB")]
    rows = [
        ["process start to first 200, first start ever", f"{first:.2f} s", f"{bare:.2f} s", *verdicts[0].cells()],
        ["process start to first 200", f"{again:.2f} s", f"{bare:.2f} s", *verdicts[1].cells()],
        ["resident memory, idle", f"{memory:.0f} MB", "", *verdicts[2].cells()],
    ]
    columns = ["Start and memory", "crofter", "bare server", "figure", "target", ""]
    return render("Start and memory", columns, rows), verdicts


def run(
    names: Sequence[str],
    *,
    quick: bool,
    brief: bool = False,
    largest: int = 1_000_000,
    postgresql: bool,
    slack: float,
    only: str = "",
    python: str | None = None,
    keep: Callable[[str], None] = lambda _text: None,
    series: dict[str, list[tuple[int, float]]] | None = None,
) -> int:
    """Measure and print; how many figures are over so many times their targets. A report takes the last two."""
    effort = QUICK if quick else BRIEF if brief else THOROUGH
    sizes: tuple[int, ...] = (200, 400) if quick else (1_000, 10_000, 100_000, 1_000_000)
    sizes = tuple(size for size in sizes if size <= largest)
    over = 0
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        folder = Path(name)
        print("filling", file=sys.stderr)
        all_sizes = sizes
        sizes = sizes[: 4 if "growth" in names else 3 if "lives" in names else 1]
        with stores(folder, sizes, postgresql=postgresql) as filled:
            parts = {
                "speed": lambda: speed(filled[0], effort, folder, [work for work in WORK if only in work.name]),
                "growth": lambda: growth(filled, sizes, effort, [kind for kind in GROWTH if only in kind.name], series),
                "start": lambda: start(filled[0], effort, folder),
                "steps": lambda: steps(filled[0], effort, folder, 8 if quick else 64),
                "mixed": lambda: mixed(filled[0], effort, 40 if quick else 2_000),
                "month": lambda: month(folder / "month", 2 if quick else 40, 1 if quick else 30),
                "limits": lambda: limits(folder, effort, *(((5, 20), 10) if quick else ())),
                "peers": lambda: peers(filled[0], effort, python),
                "lives": lambda: lives(filled[:3], sizes[:3], 20 if quick else 1_000),
                "probes": lambda: probes((20, 40) if quick else (500, 5_000, 20_000), 0 if quick else 5_000, folder),
                "dialects": lambda: dialects(filled[0], effort, folder),
                "kinds": lambda: of_kinds(all_sizes, effort, folder),
            }
            for name in names:
                text, verdicts = parts[name]()
                print(text, flush=True)
                keep(text)
                over += sum(not verdict.within(slack) for verdict in verdicts)
    print(NOTE)
    print(f"{over} over target" if over else "all within target")
    return over


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    # An empty list is no choice to Python 3.11, though nargs allows it: hence the word for everything.
    parser.add_argument(
        "parts", nargs="*", choices=(*PARTS, "everything"), default="everything", help="what to measure"
    )
    parser.add_argument("--quick", action="store_true", help="small and rough: whether the benchmark itself works")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite", help="where rows are kept")
    parser.add_argument("--only", default="", help="of speed and growth, the rows whose names have this in them")
    parser.add_argument(
        "--slack", type=float, help="fail only above so many times a target (1; what is quick is too rough to fail)"
    )
    parser.add_argument("--peers", help="a Python with FastAPI, SQLAlchemy and aiosqlite, for the part peers")
    asked = parser.parse_args()
    parts = PARTS if "everything" in asked.parts else asked.parts
    judged = asked.slack is not None or not asked.quick
    slack = 1.0 if asked.slack is None else asked.slack
    over = run(
        parts,
        quick=asked.quick,
        postgresql=asked.database == "postgresql",
        slack=slack,
        only=asked.only,
        python=asked.peers,
    )
    sys.exit(1 if over and judged else 0)
