"""`make bench`: everything that matters on both databases, as one page of text and one picture under docs/."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

from bench.__main__ import NOTE, run
from bench.picture import draw

DOCS = Path(__file__).resolve().parent.parent / "docs"
PARTS = {
    "SQLite": ("speed", "steps", "mixed", "growth", "start", "month", "peers"),
    "PostgreSQL": ("speed", "steps", "mixed", "growth"),
}
DRAWN = ("GET", "list 100", "region with nearly all", "label contains", "rare region, ordered", "ordered by label")
HEAD = """\
# Benchmarks

Made by `make bench`, in one run. {machine}

Figures are CPU time, and ratios within the run: a busy machine is busy for all that is compared. What each part
measures is said in `bench/`; what is slow for a reason, and how slow, in [limits](limits.md).

![Growth](benchmarks.svg)
"""


def machine() -> str:
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    kind = names[0] if names else platform.machine()
    memory = next((int(line.split()[1]) // 1_048_576 for line in _lines("/proc/meminfo") if "MemTotal" in line), 0)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    python = platform.python_version()
    return f"{os.cpu_count()} cores ({kind}), {memory} GB, Python {python}; load average at the start: {load}."


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small and rough: whether the report itself works")
    parser.add_argument("--brief", action="store_true", help="fewer rounds: the same sizes, rougher figures")
    parser.add_argument("--largest", type=int, default=1_000_000, help="rows of the largest account (1000000)")
    parser.add_argument("--peers", help="a Python with FastAPI, SQLAlchemy and aiosqlite")
    parser.add_argument("--into", type=Path, default=DOCS, help="the folder that the page and the picture go to (docs)")
    asked = parser.parse_args()
    page = [HEAD.format(machine=machine())]
    series: dict[str, list[tuple[int, float]]] = {}
    over = 0
    for database, parts in PARTS.items():
        measured: dict[str, list[tuple[int, float]]] = {}
        texts: list[str] = []
        over += run(
            parts,
            quick=asked.quick,
            brief=asked.brief,
            largest=asked.largest,
            postgresql=database == "PostgreSQL",
            slack=1.0,
            python=asked.peers,
            keep=texts.append,
            series=measured,
        )
        page.append(f"## {database}\n\n```text\n" + "\n".join(texts).rstrip() + "\n```\n")
        series |= {f"{database}: {name}": points for name, points in measured.items() if _is_drawn(name)}
    page.append("```text\n" + NOTE + "\n```\n")
    asked.into.joinpath("benchmarks.md").write_text("\n".join(page))
    asked.into.joinpath("benchmarks.svg").write_text(draw("CPU of a request, server and database together", series))
    return 0 if asked.quick else int(over > 0)


def _is_drawn(name: str) -> bool:
    return ("instance" in name and any(word in name for word in DRAWN)) or "nearly all" in name


if __name__ == "__main__":
    sys.exit(main())
