"""Statements that are written down ahead of the start are what SQLAlchemy would write, and nothing else is used."""

from __future__ import annotations

import json
import operator
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crofter import statements
from crofter.db import Row, compiling, known_statements, query, row_statements
from crofter.db.deferred import Deferred, Indescribable, digest, evaluate
from crofter.db.query import Query
from crofter.db.sql import bindparam, select, update
from crofter.resources.tags.store import tag, tagged
from crofter.resources.users.store import user
from tests.served import write_statements

COMPARE = """
import json
from crofter import statements
from crofter.db import known_statements
queries = statements.queries()
print(json.dumps([len(queries), [
    query.compile(dialect).sql
    for dialect in statements.DIALECTS
    for query in queries
    if query.compile(dialect) != known_statements.lookup(query.statement, dialect)
]]))
"""

WITHOUT_LIBVIRT = """
import sys, sysconfig
sys.modules["libvirt"] = None
sysconfig.get_config_vars()["EXT_SUFFIX"] = ".of-no-python"
"""
"""Neither from a package nor from Debian's."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Redirect the statement files for this test."""
    monkeypatch.setattr(known_statements, "FILE", tmp_path / "statements")
    known_statements._written.cache_clear()
    yield tmp_path
    known_statements._written.cache_clear()


def written(*queries: Query[Any]) -> None:
    statements.write(queries)
    known_statements._written.cache_clear()


def test_every_statement_is_written_down_as_it_would_be_compiled() -> None:
    """In a process of its own: statements of tests are none of the server's."""
    write_statements()
    done = subprocess.run([sys.executable, "-c", COMPARE], capture_output=True, text=True, check=True)
    amount, different = json.loads(done.stdout)
    assert amount > 600
    assert different == []


def test_all_statements_are_known_where_libvirt_is_not_installed() -> None:
    """Most machines have no libvirt, and a package is built on one of them that may have none."""
    counted = [
        subprocess.run(
            [sys.executable, "-c", f"{before}\nfrom crofter import statements; print(len(statements.queries()))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for before in ("", WITHOUT_LIBVIRT)
    ]
    assert int(counted[1]) == int(counted[0]) > 600


def test_a_statement_that_has_changed_is_not_looked_up(folder: Path) -> None:
    before = query(select(tag.c.label).where(tag.c.id == bindparam("tag_id")))
    written(before)
    assert known_statements.lookup(before.statement, "sqlite") is not None
    for changed in (
        select(tag.c.label).where(tag.c.id == bindparam("other_id")),
        select(tag.c.label).where(tag.c.id >= bindparam("tag_id")),
        select(tag.c.id).where(tag.c.id == bindparam("tag_id")),
        select(tag.c.label).where(tag.c.id == 1),
        select(tag.c.label).where(bindparam("tag_id") == tag.c.id),
    ):
        assert known_statements.lookup(changed, "sqlite") is None
    again = select(tag.c.label).where(tag.c.id == bindparam("tag_id"))
    assert known_statements.lookup(again, "sqlite") is not None


def test_one_alias_twice_is_not_two_that_are_alike() -> None:
    first, second = tagged.alias(), tagged.alias()
    twice = select(first.c.tag_id).where(first.c.object_id == first.c.tag_id)
    both = select(first.c.tag_id).where(first.c.object_id == second.c.tag_id)
    assert query(twice).compile("sqlite").sql != query(both).compile("sqlite").sql
    assert digest(twice) != digest(both)


def test_what_is_another_in_each_run_is_not_written_down() -> None:
    with pytest.raises(Indescribable):
        digest(select(tag).where(tag.c.label.in_({"a", "b"})))
    assert "IN" in query(select(tag).where(tag.c.label.in_({"a"}))).compiled("sqlite").sql


@pytest.mark.parametrize("content", [b"", b"\x93nonsense", b"\xc0"])
def test_a_file_that_cannot_be_read_is_as_good_as_none(folder: Path, content: bytes) -> None:
    (folder / "statements").write_bytes(content)
    labels = query(select(tag.c.label))
    assert known_statements.lookup(labels.statement, "sqlite") is None
    assert labels.compiled("sqlite").sql == "SELECT tag.label \nFROM tag"


def test_what_other_code_has_compiled_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = query(select(tag.c.label))
    written(labels)
    monkeypatch.setattr(known_statements, "made_by", lambda: b"another")
    known_statements._written.cache_clear()
    assert known_statements.lookup(labels.statement, "sqlite") is None
    assert known_statements.schema("sqlite") == []


def test_the_schema_is_made_from_the_file_as_long_as_the_tables_are_those(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()
    assert known_statements.schema("sqlite") == compiling.schema("sqlite")
    monkeypatch.setattr(tag, "after_create", [("sqlite", "another trigger")])
    assert known_statements.schema("sqlite") == []


def test_threads_that_need_the_same_table_make_it_once() -> None:
    made: list[str] = []

    def slowly(name: str) -> str:
        made.append(name)
        time.sleep(0.05)
        return name

    table = Deferred(slowly, "table")
    columns = [Deferred(operator.add, table, f".{number}") for number in range(8)]
    with ThreadPoolExecutor(len(columns)) as threads:
        assert list(threads.map(evaluate, columns)) == [f"table.{number}" for number in range(8)]
    assert made == ["table"]


class Label(Row):
    name: str


def test_a_mistake_in_a_statement_is_found_when_it_is_compiled() -> None:
    with pytest.raises(TypeError, match="not the selected columns"):
        query(select(tag.c.label), Label).compile("sqlite")
    with pytest.raises(AttributeError):
        tag.c.lable  # noqa: B018
    with pytest.raises(TypeError, match="has no columns"):
        row_statements.update(tag, ("id",), ("lable",), "sqlite")
    with pytest.raises(TypeError, match="known to the database only"):
        assert tag.c.id == 1


@pytest.mark.parametrize("dialect", statements.DIALECTS)
def test_simple_statements_bind_what_sqlalchemy_would(dialect: str) -> None:
    """Check the values, their order, and which are documents."""
    names = ("username", "email", "global_grants")
    ours = row_statements.insert(user, names, dialect, asks=False)[0]
    theirs = query(
        update(user)
        .where(user.c.id == bindparam("old_id", type_=user.c.id.type))
        .values({name: bindparam(name, type_=user.c[name].type) for name in names})
    ).compiled(dialect)
    given: dict[str, Any] = {"username": "a", "email": "b", "global_grants": {"c": 1}, "old_id": 7}
    changed = row_statements.update(user, ("id",), names, dialect)
    assert changed.values(given) == theirs.values(given)
    assert [name for name, _ in ours.binds] == [name for name, _ in theirs.binds] == ["global_grants"]


def test_rows_that_are_counted_are_not_inserted_together() -> None:
    with pytest.raises(TypeError, match="rows of tag are counted"):
        row_statements.insert_rows(tag, ("account_id", "label"), 2, "sqlite")
