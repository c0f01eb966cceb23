"""A pytest plugin: holds every test to the declared events, and a run of all tests to everything that is declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tools import coverage, generated

from crofter.registry import ENDPOINTS
from tests import cloud
from tests.recorder import Record, unseen

SEEN = ".pytest_cache/seen.json"
"""File with the observations of a complete run, with more detail than COVERAGE.md."""
_wrong: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole", action="store_true", help="this is a run of all tests: all that is declared must be seen"
    )


@pytest.fixture(autouse=True)
def _events_as_declared() -> Iterator[None]:
    """Check for every test that its writes left the declared events."""
    yield
    assert cloud.inspect() == []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of the run is done, and hands in what it has seen."""
    if seen := getattr(node, "workeroutput", {}).get("record"):
        cloud.RECORD.add(msgspec.json.decode(seen, type=Record))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["record"] = msgspec.json.encode(cloud.RECORD).decode()
    elif session.config.option.whole and exitstatus == pytest.ExitCode.OK:
        file = session.config.rootpath / SEEN
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(msgspec.json.format(msgspec.json.encode(cloud.RECORD, order="sorted")))
        _wrong.extend(shortcomings(cloud.RECORD))
        if _wrong:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _wrong:
        terminalreporter.section("declared, and not so in this run")
        for line in _wrong:
            terminalreporter.write_line(line)


def shortcomings(record: Record) -> list[str]:
    """Return missing observations of a complete run, and differences from COVERAGE.md."""
    documented = coverage.documented(ENDPOINTS)
    seen = {name: record.answers.get(name, set()) & statuses for name, statuses in documented.items()}
    wrong = unseen(record, documented)
    if coverage.render(ENDPOINTS, coverage.interface(), seen) != (generated.ROOT / "COVERAGE.md").read_text("utf-8"):
        wrong.append("COVERAGE.md does not agree with this run")
    return wrong
