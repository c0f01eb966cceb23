"""Whether an account has paid what it owes, and may have more."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import Row, Session, query
from crofter.errors import Invalid
from crofter.resources.account.store import account
from crofter.resources.billing import charging, store

PAST_DUE = "Your account has a past due balance. Please pay it first."


class AccountStanding(Row):
    """What matters of an account to something new that it gets."""

    overdue: int
    """Micro-dollars that are owed and not just being collected."""
    managed: bool
    backups_enabled: bool


COLUMNS = (
    (store.BALANCE.scalar_subquery() - charging.PENDING.scalar_subquery()).label("overdue"),
    account.c.managed,
    account.c.backups_enabled,
)
_STANDING = query(select(*COLUMNS).where(account.c.id == bindparam("account_id")), AccountStanding)


def owes(db: Session, account_id: int) -> bool:
    return store.balance(db, account_id) > 0


def past_due(db: Session, account_id: int) -> bool:
    """Whether something is owed that is not just being collected."""
    return db.one(_STANDING, account_id=account_id).overdue > 0


def must_be_paid_up(ctx: Context, found: AccountStanding | None = None) -> None:
    """Nobody who owes money takes on more. ``found``: how they stand, where that is known already."""
    found = found or ctx.db.one(_STANDING, account_id=ctx.account_id)
    if found.overdue > 0:
        raise Invalid(PAST_DUE)
