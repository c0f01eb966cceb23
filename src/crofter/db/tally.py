"""Counts that are kept while rows come and go, so that totals and deep pages cost the same at any size.

For each counted table and owner there is one row per block of ids. What a transaction inserts is added once, just
before it commits: a trigger would make SQLite keep every page that an insert changes. Rows that go or change owner
are counted by triggers, since they may go with something else. The total, and where a page deep inside a million
rows begins, are found by adding up blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from crofter.db.query import Query, query
from crofter.db.session import Session
from crofter.db.sql import Column, PrimaryKeyConstraint, Table, Text, bindparam, func, select, text
from crofter.db.tables import INSERTED, Id, Row, deferred, table

BLOCK_BITS = 12

tally = table(
    "tally",
    Column("counted", Text, nullable=False),
    Column("owner", Id, nullable=False),
    Column("block", Id, nullable=False),
    Column("amount", Id, nullable=False),
    PrimaryKeyConstraint("counted", "owner", "block"),
    sqlite_without_rowid=True,
)


def _adding(counted: str, owner: str, block: str, amount: str) -> str:
    """Adds to a block's row, or makes it; in words that both databases know."""
    return (
        f"INSERT INTO tally (counted, owner, block, amount) VALUES ({counted}, {owner}, {block}, {amount}) "
        f"ON CONFLICT (counted, owner, block) DO UPDATE SET amount = tally.amount + ({amount})"
    )


_ADD = query(text(_adding(":counted", ":owner", ":block", ":amount")))
_OWN = (tally.c.counted == bindparam("counted"), tally.c.owner == bindparam("owner"))
_TOTAL = query(select(func.sum(tally.c.amount)).where(*_OWN))
_BEFORE = query(select(func.sum(tally.c.amount)).where(*_OWN, tally.c.block < bindparam("before")))


class _Place(Row):
    """A block, and the number of rows before it."""

    block: int
    passed: int


def _place(*, descending: bool) -> Query[_Place]:
    """Blocks are added up from one end until the wanted row is among them."""
    order = tally.c.block.desc() if descending else tally.c.block.asc()
    upto = func.sum(tally.c.amount).over(order_by=order, rows=(None, 0))
    sums = select(tally.c.block, (upto - tally.c.amount).label("passed"), upto.label("upto"))
    blocks = sums.where(*_OWN).subquery()
    return query(select(blocks.c.block, blocks.c.passed).where(blocks.c.upto > bindparam("rows")).limit(1), _Place)


_PLACES = {descending: _place(descending=descending) for descending in (False, True)}


class AddedRows(Struct, frozen=True):
    """How many rows of one block a transaction has inserted so far."""

    counted: str
    owner: int
    block: int
    amount: int = 0

    def write(self, db: Session) -> None:
        db.run_later(_ADD, counted=self.counted, owner=self.owner, block=self.block, amount=self.amount)


class Tally:
    """The count of a table's rows per owner.

    ``number``: the column by whose value rows lie in blocks. ``only``: a column that says which rows count; it never
    changes.
    """

    def __init__(
        self, counted: Table, owner: str = "account_id", *, number: str = "id", only: str | None = None
    ) -> None:
        self.name = counted.name
        self._owner, self._number, self._only = owner, number, only
        counted.info[INSERTED] = self._inserted
        _install(counted, owner, number, only)
        if number == "id" and only is None:
            self._make_places(counted)

    def _make_places(self, counted: Table) -> None:
        number, mine = counted.c.id, counted.c[self._owner] == bindparam("owner")
        self._part = query(select(func.count()).where(mine, number >= bindparam("low"), number < bindparam("high")))
        self._rows = {
            descending: query(
                select(number)
                .where(mine, number <= bindparam("edge") if descending else number >= bindparam("edge"))
                .order_by(number.desc() if descending else number.asc())
                .limit(1)
                .offset(bindparam("passed"))
            )
            for descending in (False, True)
        }

    def _inserted(self, db: Session, row: Mapping[str, Any], number: int) -> None:
        if self._only is not None and not row[self._only]:
            return
        number = number if self._number == "id" else row[self._number]
        key = ("tally", self.name, row[self._owner], number >> BLOCK_BITS)
        before = db.deferred(key, AddedRows)
        db.deferred_writes[key] = AddedRows(*key[1:], amount=before.amount + 1 if before else 1)

    def total(self, db: Session, owner: int) -> int:
        return int(db.value(_TOTAL, counted=self.name, owner=owner) or 0)

    def before(self, db: Session, owner: int, first: int) -> int:
        """How many rows have a smaller id than ``first``."""
        block = first >> BLOCK_BITS
        whole = db.value(_BEFORE, counted=self.name, owner=owner, before=block)
        return int(whole or 0) + int(db.value(self._part, owner=owner, low=block << BLOCK_BITS, high=first))

    def locate(self, db: Session, owner: int, rows: int, *, descending: bool) -> int | None:
        """The id of the row that so many others come before."""
        total = self.total(db, owner)
        if rows >= total:
            return None
        if rows * 2 > total:  # the other end is nearer
            rows, descending = total - 1 - rows, not descending
        place = db.one(_PLACES[descending], counted=self.name, owner=owner, rows=rows)
        edge = ((place.block + 1) << BLOCK_BITS) - 1 if descending else place.block << BLOCK_BITS
        row_id: int | None = db.value(self._rows[descending], owner=owner, edge=edge, passed=rows - int(place.passed))
        return row_id


def _install(counted: Table, owner: str, number: str, only: str | None) -> None:
    for dialect in ("sqlite", "postgresql"):
        for statement in ddl(counted.name, owner, dialect, number=number, only=only):
            deferred(counted).after_create.append((dialect, statement))


def _add(name: str, owner: str, number: str, row: str, amount: int) -> str:
    return _adding(f"'{name}'", f"{row}.{owner}", f"{row}.{number} >> {BLOCK_BITS}", str(amount)) + ";"


def _drop_empty(name: str, owner: str, number: str) -> str:
    return (
        f"DELETE FROM tally WHERE counted = '{name}' AND owner = OLD.{owner} "
        f"AND block = OLD.{number} >> {BLOCK_BITS} AND amount = 0;"
    )


def ddl(name: str, owner: str, dialect: str, *, number: str = "id", only: str | None = None) -> list[str]:
    """The triggers that keep the count of table ``name``, for ``create_all`` and for migrations."""
    gone = _add(name, owner, number, "OLD", -1) + _drop_empty(name, owner, number)
    moving = owner if number == "id" else f"{owner}, {number}"  # an id never changes
    each = "FOR EACH ROW" if only is None else f"FOR EACH ROW WHEN (OLD.{only})"
    moments: list[tuple[str, str, str]] = [
        ("delete", "AFTER DELETE", gone),
        ("move", f"AFTER UPDATE OF {moving}", gone + _add(name, owner, number, "NEW", 1)),
    ]
    statements: list[str] = []
    for suffix, when, body in moments:
        trigger = f"{name}_tally_{suffix}"
        if dialect == "sqlite":
            statements.append(f"CREATE TRIGGER {trigger} {when} ON {name} {each} BEGIN {body} END")
        else:
            function = (
                f"CREATE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
            )
            statements.append(function)
            statements.append(f"CREATE TRIGGER {trigger} {when} ON {name} {each} EXECUTE FUNCTION {trigger}()")
    return statements


def exact(db: Session, counted: str) -> Any:
    """Return all blocks of a table, for checks against a real count."""
    return db.raw(f"SELECT owner, block, amount FROM tally WHERE counted = '{counted}' ORDER BY 1, 2").fetchall()
