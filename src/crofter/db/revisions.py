"""A number per account that is another one after each change of what its costs are reckoned from.

It changes in the transaction that makes the change, so what was worked out from the database under one number holds for
as long as a reader, in any process, finds the same one.
"""

from __future__ import annotations

from msgspec import Struct

from crofter.db.query import query
from crofter.db.session import Session
from crofter.db.sql import Column, ForeignKey, bindparam, select, text
from crofter.db.tables import Id, table

revision = table(
    "revision",
    Column("account_id", Id, ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Id, nullable=False),
)

# Random start value: an account of a recreated database must not match cached entries of its predecessor.
_ANYWHERE = {"sqlite": "random() & 4503599627370495", "postgresql": "CAST(random() * 4503599627370495 AS bigint)"}
_CHANGE = {
    dialect: query(
        text(
            f"INSERT INTO revision (account_id, number) VALUES (:account_id, {anywhere}) "
            "ON CONFLICT (account_id) DO UPDATE SET number = revision.number + 1"
        )
    )
    for dialect, anywhere in _ANYWHERE.items()
}
_CURRENT = query(select(revision.c.number).where(revision.c.account_id == bindparam("account_id")))


class ChangedRevision(Struct, frozen=True):
    """An account of which something has changed in this transaction."""

    account_id: int

    def write(self, db: Session) -> None:
        db.run_later(_CHANGE[db.dialect], account_id=self.account_id)


def change(db: Session, account_id: int) -> None:
    """Increase the revision of the account, once per transaction."""
    key = ("revision", account_id)
    if key not in db.deferred_writes:
        db.deferred_writes[key] = ChangedRevision(account_id)


def current(db: Session, account_id: int) -> int | None:
    """None as long as nothing has ever been changed."""
    number: int | None = db.value(_CURRENT, account_id=account_id)
    return number
