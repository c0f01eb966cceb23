"""Tests outside `make quick`, `make test` and `make soak` are as declared."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tools import soak

from tests.selection import (
    BOTH_DATABASES,
    FIRST,
    LONG,
    NOT_QUICK,
    SCOPES,
    belongs,
    paths_on_postgresql,
    select,
    without_path,
)

ROOT = Path(__file__).resolve().parent.parent
TAGS, ENGINE, YEAR = "tests/resources/test_tags.py", "tests/engine/test_queue.py", "tests/test_year.py"
FORM = "tests/console/test_domains.py"


class Collected:
    """A collected test."""

    def __init__(self, file: str, database: str | None = None, *markers: str, case: int = 0) -> None:
        name = "test_path" if "both" in markers else "test_it"
        self.nodeid = f"{file}::{name}" if database is None else f"{file}::{name}[{database}-{case}]"
        self._markers = markers
        if database is not None:
            self.callspec = SimpleNamespace(params={"cloud": database})

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self._markers else None


def called(*arguments: str) -> Any:
    """Return a pytest configuration with this command line."""
    return SimpleNamespace(
        args=arguments,
        rootpath=ROOT,
        invocation_params=SimpleNamespace(dir=ROOT),
        getoption=lambda _: "test",
        hook=SimpleNamespace(pytest_deselected=lambda items: None),
    )


@pytest.mark.parametrize(
    ("collected", "scopes"),
    [
        (Collected(TAGS), {"quick", "test", "soak"}),
        (Collected(TAGS, "sqlite"), {"quick", "test", "soak"}),
        (Collected(TAGS, "postgresql"), {"soak"}),
        (Collected(TAGS, "postgresql", "both"), {"test", "soak"}),
        (Collected(TAGS, "postgresql", "both", case=1), {"soak"}),
        (Collected(TAGS, "sqlite", "both", case=1), {"quick", "test", "soak"}),
        (Collected(TAGS, "sqlite", "soak"), {"soak"}),
        (Collected(ENGINE, "sqlite"), {"quick", "test", "soak"}),
        (Collected(ENGINE, "postgresql"), {"test", "soak"}),
        (Collected(ENGINE, "postgresql", case=1), {"test", "soak"}),
        (Collected(ENGINE, "postgresql", "soak"), {"soak"}),
        (Collected(YEAR), {"test", "soak"}),
        (Collected(FORM), {"soak"}),
    ],
)
def test_a_test_runs_where_it_belongs(collected: Any, scopes: set[str]) -> None:
    first: Any = Collected(TAGS, "postgresql", "both")
    paths = paths_on_postgresql([first, collected])
    assert {scope for scope in SCOPES if belongs(collected, scope, paths)} == scopes


def test_what_takes_long_runs_where_its_file_is_named() -> None:
    def selected(place: str) -> list[str]:
        collected: list[Any] = [Collected(FORM), Collected(FORM, None, "soak"), Collected("tests/console/test_tags.py")]
        select(called(place), collected)
        return [item.nodeid.partition("::")[0] for item in collected]

    assert selected("tests") == []
    assert selected(FORM) == selected(f"src/../{FORM}") == [FORM]
    assert selected("tests/console") == [FORM, "tests/console/test_tags.py"]


def test_a_file_without_a_test_on_postgresql_is_seen() -> None:
    tags: list[Any] = [Collected(TAGS, "sqlite"), Collected(TAGS, "postgresql"), Collected(YEAR)]
    assert without_path(tags) == [TAGS]
    path: Any = Collected(TAGS, "postgresql", "both")
    assert without_path([*tags, path]) == []


def test_what_takes_longest_is_begun_first_and_the_rest_keeps_its_order() -> None:
    collected: list[Any] = [Collected(ENGINE), Collected(FIRST[0]), Collected(TAGS), Collected(YEAR)]
    select(called(), collected)
    assert [item.nodeid.partition("::")[0] for item in collected] == [FIRST[0], ENGINE, TAGS, YEAR]


def test_every_file_and_test_that_is_listed_exists() -> None:
    listed = [path.partition("::") for path in (*BOTH_DATABASES, *FIRST, *LONG, *NOT_QUICK)]
    assert [path for path, _, test in listed if not (ROOT / path).exists()] == []
    assert [test for path, _, test in listed if test and f"\ndef {test}" not in (ROOT / path).read_text()] == []


def test_every_file_is_in_one_piece_of_the_soak() -> None:
    """Or in several that divide its tests; no piece is empty, and one that takes too long is stopped and says so."""
    tests = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))
    pieces = {name: soak.files(name) for name in soak.PIECES}
    assert [name for name, files in pieces.items() if not files] == []
    divided = {name for name, piece in soak.PIECES.items() if piece.chosen}
    assert pieces["year"] == pieces["repeat"] == ["tests/test_year.py"]
    real = ("contract", "interrupted", "failing", "verbs")
    assert [pieces[name] for name in real] == [["tests/drivers/test_libvirt.py"]] * len(real)
    assert pieces["document"] == pieces["requests"] == ["tests/test_schemathesis.py"]
    assert divided == {"year", "repeat", "document", "requests", *real}
    again = {name for name, piece in soak.PIECES.items() if piece.options}
    others = {"interrupted", "failing", "repeat", "requests", "verbs", *again}
    whole = [file for name, files in pieces.items() if name not in others for file in files]
    assert again == {"dialect", "dialect_postgresql"}
    assert sorted(whole) == tests
    assert soak.LIMIT <= 30 * 60


def test_a_piece_that_takes_too_long_is_stopped_and_counts_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "PYTEST", ("-c", "import time; time.sleep(60)"))
    ended, seconds = soak.run("walks", limit=0.2)
    assert (ended, seconds < 30) == ("took too long", True)
    monkeypatch.setattr(soak, "PYTEST", ("-c", "raise SystemExit(1)"))
    assert soak.run("walks")[0] == "failed"
    assert soak.main(["walks"]) == 1
    assert soak.main(["tea"]) == 2
