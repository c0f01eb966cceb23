"""Whether an account has paid what it owes."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Session
from crofter.errors import Invalid
from crofter.resources.billing import charging, store

PAST_DUE = "Your account has a past due balance. Please pay it first."


def owes(db: Session, account_id: int) -> bool:
    return store.balance(db, account_id) > 0


def past_due(db: Session, account_id: int) -> bool:
    """Whether something is owed that is not just being collected."""
    return store.balance(db, account_id) - charging.pending(db, account_id) > 0


def must_be_paid_up(ctx: Context) -> None:
    """Nobody who owes money takes on more."""
    if past_due(ctx.db, ctx.account_id):
        raise Invalid(PAST_DUE)
