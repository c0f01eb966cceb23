"""Transactions: atomic, signalled after the commit, and grouped where there is a single writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from crofter.db import Database, Duplicate, Session, meta, query, sqlite_file
from crofter.db.database import BatchAborted
from crofter.db.sql import bindparam, select
from crofter.db.sqlite import SqliteDatabase
from crofter.errors import NoSpace, NotFound, Unavailable

_NAMES = query(select(meta.meta.c.name).order_by(meta.meta.c.name))
_ONE = query(select(meta.meta.c.name).where(meta.meta.c.name == bindparam("name")), str)


class Given(Exception):
    """Error that aborts a write."""


def names(database: Database) -> list[str]:
    with database.read() as db:
        return db.column(_NAMES)


def add(database: Database, *added: str, give_up: bool = False) -> None:
    with database.write() as db:
        for name in added:
            db.insert(meta.meta, name=name, value=1)
            db.signal(f"added:{name}")
        if give_up:
            raise Given


@contextmanager
def listening(database: Database) -> Iterator[list[str]]:
    topics: list[str] = []
    stop = database.signals.listen("added", topics.append)
    yield topics
    stop()


def elsewhere(database: Database) -> list[str]:
    """Return the rows that another thread sees now."""
    seen: list[list[str]] = []
    thread = threading.Thread(target=lambda: seen.append(names(database)))
    thread.start()
    thread.join()
    return seen[0]


def test_a_write_is_there_when_the_block_has_ended(database: Database) -> None:
    with listening(database) as topics:
        with database.write() as db:
            db.insert(meta.meta, name="one", value=1)
            db.signal("added:one")
            assert elsewhere(database) == []
            assert topics == []
        assert topics == ["added:one"]
    assert elsewhere(database) == ["one"]


def test_a_write_that_is_given_up_leaves_no_trace_and_no_word(database: Database) -> None:
    with listening(database) as topics, pytest.raises(Given):
        add(database, "one", give_up=True)
    assert (topics, names(database)) == ([], [])
    add(database, "two")  # the lock is free again
    assert names(database) == ["two"]


def test_a_reader_sees_one_moment(database: Database) -> None:
    add(database, "one")
    with database.read() as db:
        assert db.column(_NAMES) == ["one"]
        thread = threading.Thread(target=add, args=(database, "two"))
        thread.start()
        thread.join()
        assert db.column(_NAMES) == ["one"]
    assert names(database) == ["one", "two"]


def test_a_doubled_value_is_a_clash(database: Database) -> None:
    add(database, "one")
    with pytest.raises(Duplicate):
        add(database, "two", "one")
    assert names(database) == ["one"]


def test_a_row_that_must_be_there_and_is_not_is_not_found(database: Database) -> None:
    with database.read() as db, pytest.raises(NotFound):
        db.one(_ONE, name="none")


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(Unavailable), database.read() as db:
        db.insert(meta.meta, name="one", value=1)
    assert names(database) == []


# ---- several writes in one commit -----------------------------------------------------------------------------------


def test_writes_together_are_there_at_once_when_the_block_has_ended(database: Database) -> None:
    with listening(database) as topics:
        with database.batch():
            add(database, "one")
            assert names(database) == ["one"]  # the next part builds on it
            add(database, "two")
            if database.dialect == "sqlite":
                assert (elsewhere(database), topics) == ([], [])
        assert topics == ["added:one", "added:two"]
    assert elsewhere(database) == ["one", "two"]


def test_each_part_stands_or_falls_alone(database: Database) -> None:
    with listening(database) as topics, database.batch():
        add(database, "one")
        with pytest.raises(Given):
            add(database, "gone", give_up=True)
        with pytest.raises(Duplicate):
            add(database, "gone too", "one")
        add(database, "two")
    assert names(database) == ["one", "two"]
    assert topics == ["added:one", "added:two"]


def test_a_hopeful_part_that_fails_early_harms_nobody(sqlite_database: SqliteDatabase) -> None:
    with sqlite_database.batch(optimistic=True) as turn:
        add(sqlite_database, "one")
        with pytest.raises(Duplicate):
            add(sqlite_database, "one")
        assert not turn.aborted
        add(sqlite_database, "two")
    assert elsewhere(sqlite_database) == ["one", "two"]


def test_a_hopeful_part_that_fails_late_before_all_others_harms_nobody(sqlite_database: SqliteDatabase) -> None:
    with sqlite_database.batch(optimistic=True) as turn:
        with pytest.raises(Given):
            add(sqlite_database, "gone", give_up=True)
        assert not turn.aborted
        add(sqlite_database, "one")
    assert elsewhere(sqlite_database) == ["one"]


def test_a_hopeful_part_that_fails_late_spoils_all(sqlite_database: SqliteDatabase) -> None:
    def parts() -> None:
        with sqlite_database.batch(optimistic=True) as turn:
            add(sqlite_database, "one")
            with pytest.raises(Given):
                add(sqlite_database, "gone", give_up=True)
            assert turn.aborted
            with pytest.raises(Unavailable):
                add(sqlite_database, "of no use")

    with listening(sqlite_database) as topics, pytest.raises(BatchAborted):
        parts()
    assert (elsewhere(sqlite_database), topics) == ([], [])
    add(sqlite_database, "again")
    assert elsewhere(sqlite_database) == ["again"]


def test_others_wait_until_all_parts_are_done(sqlite_database: SqliteDatabase) -> None:
    with sqlite_database.batch():
        add(sqlite_database, "one")
        thread = threading.Thread(target=add, args=(sqlite_database, "theirs"))
        thread.start()
        add(sqlite_database, "two")
    thread.join()
    assert names(sqlite_database) == ["one", "theirs", "two"]


def limit_pages(database: SqliteDatabase, more: int) -> None:
    with database._writer_lock:  # in a server, others write by the same connection
        [used] = next(database._writer.execute("PRAGMA page_count"))
        database._writer.execute(f"PRAGMA max_page_count={used + more}")


def grow(database: SqliteDatabase, count: int, prefix: str) -> None:
    with database.write() as db:
        for number in range(count):
            db.insert(meta.meta, name=f"{prefix} {number}", value="x" * 2000)


def test_a_full_disk_takes_all_parts_with_it_and_says_so(sqlite_database: SqliteDatabase) -> None:
    limit_pages(sqlite_database, 30)

    def parts() -> None:
        with sqlite_database.batch():
            add(sqlite_database, "one")
            with pytest.raises(Unavailable):
                grow(sqlite_database, 200, "big")
            with pytest.raises(Unavailable):
                add(sqlite_database, "after")

    with listening(sqlite_database) as topics, pytest.raises(NoSpace):
        parts()
    assert (names(sqlite_database), topics) == ([], [])
    limit_pages(sqlite_database, 10_000)
    add(sqlite_database, "space again")
    assert names(sqlite_database) == ["space again"]


def test_a_database_on_a_full_disk_is_not_said_to_be_damaged() -> None:
    nowhere = Path("/proc/crofter.db")  # a file system without space
    error = sqlite_file.unusable(nowhere, apsw.IOError("disk I/O error"))
    assert isinstance(error, NoSpace)
    assert str(error) == "cannot use the database /proc/crofter.db: its disk is full; free some space"


class Broken:
    """A connection that fails at a given statement."""

    def __init__(self, real: apsw.Connection, at: str, error: BaseException) -> None:
        self._real, self._at, self._error = real, at, error

    def execute(self, sql: str, *values: object) -> object:
        if sql == self._at:
            raise self._error
        return self._real.execute(sql, *values)  # type: ignore[arg-type]

    @property
    def in_transaction(self) -> bool:
        return self._real.in_transaction


@pytest.mark.parametrize("error", [apsw.CorruptError("damaged"), apsw.SQLError("odd"), MemoryError(), apsw.FullError()])
@pytest.mark.parametrize("at", ["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"])
def test_whatever_goes_wrong_the_next_one_gets_a_turn(
    sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, at: str, error: Exception
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_database, "_writer", Broken(sqlite_database._writer, at, error))
        with pytest.raises(Unavailable if at != "ROLLBACK" and isinstance(error, apsw.FullError) else type(error)):
            add(sqlite_database, "lost", give_up=at == "ROLLBACK")
    assert not sqlite_database._writer_lock.locked()
    if sqlite_database._writer.in_transaction:  # a failed rollback
        sqlite_database._writer.execute("ROLLBACK")
    add(sqlite_database, "kept")
    assert names(sqlite_database) == ["kept"]


def test_a_transaction_that_was_given_up_unnoticed_leaves_no_trace(sqlite_database: SqliteDatabase) -> None:
    class Last:
        def write(self, db: Session) -> None:
            db.insert(meta.meta, name="late", value=1)

    def carried_on() -> None:
        with sqlite_database.write() as db:
            db.insert(meta.meta, name="early", value=1)
            db.deferred_writes["last"] = Last()
            db.raw("ROLLBACK")  # like SQLite itself when the disk is full

    with pytest.raises(Unavailable):
        carried_on()
    assert names(sqlite_database) == []


def test_a_write_within_a_shared_write_is_refused(sqlite_database: SqliteDatabase) -> None:
    def nested() -> None:
        with sqlite_database.batch(), sqlite_database.write():
            add(sqlite_database, "inner")

    with pytest.raises(AssertionError, match="a write within a write"):
        nested()
    assert names(sqlite_database) == []


def test_a_commit_that_fails_makes_all_parts_unavailable(
    sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parts() -> None:
        with sqlite_database.batch():
            add(sqlite_database, "one")
            add(sqlite_database, "two")

    real = sqlite_database._writer
    monkeypatch.setattr(sqlite_database, "_writer", Broken(real, "COMMIT", apsw.IOError("disk I/O error")))
    with listening(sqlite_database) as topics, pytest.raises(Unavailable):
        parts()
    monkeypatch.setattr(sqlite_database, "_writer", real)
    assert (names(sqlite_database), topics) == ([], [])
    add(sqlite_database, "later")
    assert names(sqlite_database) == ["later"]


def _waits_for_the_disk(database: Database) -> bool:
    """True if a write of this thread waits for the disk."""
    with database.write() as db:
        if db.dialect == "sqlite":
            return bool(db.raw("PRAGMA synchronous").fetchone()[0] == 2)
        return bool(db.raw("SHOW synchronous_commit").fetchone()[0] == "on")


def test_who_is_in_a_hurry_does_not_wait_for_the_disk_and_nobody_else_is(
    tmp_path: Path, postgres_database: Database
) -> None:
    for database in (SqliteDatabase(tmp_path), postgres_database):
        with database.relaxed_durability():
            with ThreadPoolExecutor(1) as other:
                assert [_waits_for_the_disk(database), other.submit(_waits_for_the_disk, database).result()] == [
                    False,
                    True,
                ]
            assert not _waits_for_the_disk(database)
        assert _waits_for_the_disk(database)


def test_whoever_still_looks_when_the_database_is_closed_sees_to_the_end(sqlite_database: SqliteDatabase) -> None:
    add(sqlite_database, "one")
    looking, closed = threading.Event(), threading.Event()

    def look() -> list[str]:
        with sqlite_database.read() as db:
            looking.set()
            closed.wait(10)
            return db.column(_NAMES)

    with ThreadPoolExecutor(1) as other:
        seen = other.submit(look)
        looking.wait(10)
        sqlite_database.close()
        closed.set()
        assert seen.result() == ["one"]
    with pytest.raises(Unavailable):
        add(sqlite_database, "two")


# ---- how SQLite is set up -------------------------------------------------------------------------------------------


def test_plans_do_not_depend_on_values(sqlite_database: SqliteDatabase) -> None:
    """Else most statements are prepared anew for each value, at ten times the cost; which no result would show."""
    names(sqlite_database)
    for connection in (sqlite_database._writer, sqlite_database._readers.connection):
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1


def test_what_is_deleted_is_overwritten(sqlite_database: SqliteDatabase) -> None:
    """In the file itself: what is still in the log beside it goes there first."""

    def is_in_the_file() -> bool:
        sqlite_database._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return b"nobody may read this" in sqlite_database.path.read_bytes()

    add(sqlite_database, "nobody may read this", "stays")
    assert is_in_the_file()
    with sqlite_database.write() as db:
        db.delete(meta.meta, name="nobody may read this")
    assert not is_in_the_file()
