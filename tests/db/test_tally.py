"""Tally: counts that stay exact under all changes of rows."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from crofter.db import Database, Duplicate, Session, query
from crofter.db.sql import insert
from crofter.db.sqlite import SqliteDatabase
from crofter.db.tally import BLOCK_BITS, Tally, exact
from crofter.resources.account.store import account
from crofter.resources.tags.store import _TALLY, tag

SPAN = 5 << BLOCK_BITS


def accounts(db: Session, count: int) -> list[int]:
    facts = {"email": "a@example.com", "active_since": "2026-01-01T00:00:00", "closed": False, "managed": False}
    return [db.insert(account, euuid=f"account-{number}", public_ips=1, **facts) for number in range(count)]


def counted(db: Session) -> dict[tuple[int, int], int]:
    return {(owner, block): amount for owner, block, amount in exact(db, "tag") if amount}


def real(db: Session) -> dict[tuple[int, int], int]:
    """Return the counts of the rows themselves."""
    counts: Counter[tuple[int, int]] = Counter()
    for owner, number in db.raw("SELECT account_id, id FROM tag").fetchall():
        counts[owner, number >> BLOCK_BITS] += 1
    return dict(counts)


def shake(db: Session, owners: list[int], rng: random.Random, ids: set[int]) -> None:
    """Apply a random change: insert rows, delete rows, or change their owner."""
    choice = rng.randrange(4)
    if choice < 2 or not ids:
        for number in rng.sample(range(1, SPAN), 20):
            if number not in ids:
                db.insert(tag, id=number, account_id=rng.choice(owners), label=f"tag {number}")
                ids.add(number)
    elif choice == 2:
        for number in rng.sample(sorted(ids), min(15, len(ids))):
            db.delete(tag, id=number)
            ids.discard(number)
    else:
        for number in rng.sample(sorted(ids), min(10, len(ids))):
            db.update(tag, {"id": number}, account_id=rng.choice(owners))


@pytest.mark.parametrize("seed", range(3))
def test_counts_stay_exact_while_rows_come_go_and_move(database: Database, seed: int) -> None:
    rng, ids = random.Random(seed), set[int]()
    with database.write() as db:
        owners = accounts(db, 3)
    for _ in range(10):
        with database.write() as db:
            for _ in range(rng.randrange(1, 6)):  # some of it comes and goes at once
                shake(db, owners, rng, ids)
        with database.read() as db:
            assert counted(db) == real(db)
    assert len(ids) > 50
    with database.write() as db:
        db.delete(account, id=owners[0])  # its rows go with it
        assert counted(db) == real(db)


def tags(database: Database, owner: int, *labels: str) -> None:
    with database.write() as db:
        for label in labels:
            db.insert(tag, account_id=owner, label=label)


def test_a_change_that_is_taken_back_was_never_counted(database: Database) -> None:
    with database.write() as db:
        owner = accounts(db, 1)[0]
        db.insert(tag, account_id=owner, label="stays")
    with pytest.raises(Duplicate):
        tags(database, owner, "goes", "stays")
    with database.read() as db:
        assert _TALLY.total(db, owner) == 1
        assert counted(db) == real(db)


def test_a_missing_trigger_would_be_seen(database: Database) -> None:
    with database.write() as db:
        db.raw("DROP TRIGGER tag_tally_delete" + (" ON tag" if database.dialect == "postgresql" else ""))
        owner = accounts(db, 1)[0]
        db.insert(tag, account_id=owner, label="there")
    with database.write() as db:
        db.delete(tag, account_id=owner)
        assert counted(db) != real(db)


def test_a_row_that_comes_uncounted_would_be_seen(database: Database) -> None:
    with database.write() as db:
        db.insert(tag, account_id=accounts(db, 1)[0], label="there")
        db.deferred_writes.clear()
    with database.read() as db:
        assert counted(db) != real(db)


def test_no_other_way_leads_into_a_counted_table() -> None:
    with pytest.raises(TypeError, match="rows of tag are counted"):
        query(insert(tag)).compile("sqlite")


def test_what_is_committed_together_is_counted_together(sqlite_database: SqliteDatabase) -> None:
    with sqlite_database.write() as db:
        owner = accounts(db, 1)[0]
    with sqlite_database.batch():
        tags(sqlite_database, owner, "one", "two")
        with pytest.raises(Duplicate):
            tags(sqlite_database, owner, "three", "two")
        tags(sqlite_database, owner, "four")
    with sqlite_database.read() as db:
        assert _TALLY.total(db, owner) == 3
        assert counted(db) == real(db)


@pytest.fixture
def filled(database: Database) -> tuple[Database, int, list[int]]:
    ids = sorted(random.Random(9).sample(range(1, SPAN), 700))
    with database.write() as db:
        owner, other = accounts(db, 2)
        for number in ids:
            db.insert(tag, id=number, account_id=owner, label=f"tag {number}")
        for number in random.Random(8).sample(range(SPAN, SPAN * 2), 300):
            db.insert(tag, id=number, account_id=other, label=f"tag {number}")
    return database, owner, ids


def test_any_row_is_found_by_its_place_from_either_end(filled: tuple[Database, int, list[int]]) -> None:
    database, owner, ids = filled
    with database.read() as db:
        assert [_TALLY.locate(db, owner, place, descending=False) for place in range(0, 700, 7)] == ids[::7]
        assert [_TALLY.locate(db, owner, place, descending=True) for place in range(0, 700, 7)] == ids[::-1][::7]


def test_beyond_the_last_row_there_is_none(filled: tuple[Database, int, list[int]]) -> None:
    database, owner, _ids = filled
    with database.read() as db:
        for descending in (False, True):
            assert _TALLY.locate(db, owner, 700, descending=descending) is None
        assert _TALLY.locate(db, 4711, 0, descending=False) is None


def test_rows_before_an_id_are_counted(filled: tuple[Database, int, list[int]]) -> None:
    database, owner, ids = filled
    with database.read() as db:
        for first in (0, 1, ids[0], ids[0] + 1, ids[350], ids[-1], ids[-1] + 1, 1 << 62):
            assert _TALLY.before(db, owner, first) == sum(number < first for number in ids), first


def test_the_count_of_an_owner_without_rows_is_nought(database: Database) -> None:
    tally: Any = _TALLY
    assert isinstance(tally, Tally)
    with database.read() as db:
        assert tally.total(db, 4711) == 0
