"""The benchmark works: every row is measured, against bytes that are the same. Its figures are no business of tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from bench import kinds, processes
from bench.ceiling import Recorded
from bench.measuring import QUICK, Candidate, microseconds
from bench.probes import probes
from bench.table import Verdict, render
from bench.work import GROWTH, WORK

FIGURES = re.compile(r"\d+\.\d\dx")
ENDLESS, NONE = "1e9", "1e-9"
"""Slack with which every figure is within its target, and with which none is."""


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", "--quick", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.soak  # half a minute of a core
def test_every_row_is_measured_and_within_what_is_endless() -> None:
    done = bench("--slack", ENDLESS, "speed", "growth", "start", "steps", "mixed", "lives", "probes")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    others = (
        "process start to first 200 ",
        "CPU of one, last/first",
        "cost of one, last/first",
        "one step of a reboot",
    )
    for name in (*(work.name for work in WORK), *(kind.name for kind in GROWTH), *others):
        assert any(line.startswith(name) and FIGURES.search(line) for line in lines), name
    for size in (20, 40):  # each service was looked at once in the minute that was measured
        [row] = [line.split() for line in lines if line.startswith(f"{size} services")]
        assert row[-2] == str(size)
    assert lines[-1] == "all within target"


@pytest.mark.soak
def test_every_kind_is_viewed_listed_created_and_grown() -> None:
    done = bench("--slack", ENDLESS, "kinds")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for kind in kinds.served():
        starts = [f"GET one {kind.name}", f"list 100 of kind {kind.name}", f"POST create {kind.name}"]
        starts += [f"{kind.name}: list 100, first page", f"{kind.name}: list 100, last page"]
        starts += [f"{kind.name}: X-Filter {called}" for called in kind.filters]
        for start in starts:
            assert any(line.startswith(start) and FIGURES.search(line) for line in lines), start


def test_a_figure_over_its_target_makes_a_run_fail() -> None:
    done = bench("--slack", NONE, "speed", "--only", WORK[0].name)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "1 over target"), done.stderr


@pytest.mark.soak
def test_a_real_minute_of_monitoring_is_judged_by_its_work_and_its_end(tmp_path: Path) -> None:
    text, verdicts = probes((20,), 20, tmp_path)
    growth, busy, late = verdicts
    assert (growth.value, busy.target, late.target) == (1, 30, 66)
    assert busy.value < late.value
    assert [line.split()[-2] for line in text.splitlines() if line.startswith("20 services")] == ["20", "20"]
    assert busy.within()
    assert late.within()


def test_a_ceiling_that_answers_differently_is_noticed(tmp_path: Path) -> None:
    recorded: Recorded = {("GET", b"/v4/tags"): (200, [(b"content-length", b"2")], b"{}")}
    with processes.running(processes.ceiling(recorded, tmp_path)) as ceiling:
        content = b"GET /v4/tags HTTP/1.1\r\nhost: x\r\n\r\n"
        processes.check_same(ceiling, content, recorded)
        with pytest.raises(RuntimeError, match="differently"):
            processes.check_same(ceiling, content, {("GET", b"/v4/tags"): (200, [], b"{}")})
        assert microseconds([Candidate(ceiling, lambda _number: content)], QUICK, iter(range(1000)))[0].server > 0


def test_a_figure_is_judged_by_its_target() -> None:
    assert Verdict(3.9, 4.0).cells() == ["3.90x", "<= 4.00x", "ok"]
    assert Verdict(4.1, 4.0).cells()[-1] == "OVER"
    assert Verdict(70, 110, "MB").cells() == ["70 MB", "<= 110 MB", "ok"]
    assert Verdict(9.0, None).within(0)
    assert not Verdict(4.1, 4.0).within()
    assert Verdict(4.1, 4.0).within(1.1)
    assert not Verdict(3.9, 4.0).within(0.9)


def test_a_table_is_in_line() -> None:
    shown = render("Title", ["name", "us"], [["a", "5"], ["longer", "1234"]]).splitlines()
    assert shown == ["Title", "name      us", "------  ----", "a          5", "longer  1234", ""][:5]
