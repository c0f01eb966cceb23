"""How an account stands: what it shows of itself, and whether it has paid what it owes and may have more."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Row, Session, query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid
from crofter.money import dollars
from crofter.resources.account import store as accounts
from crofter.resources.account.store import account
from crofter.resources.billing import hour_lines, payments, promotions, store
from crofter.resources.billing.shapes import CAPABILITIES, AccountView, CreditCard

PAST_DUE = "Your account has a past due balance. Please pay it first."


class AccountStanding(Row):
    """Payment state of an account, checked before it gets new objects."""

    overdue: int
    """Micro-dollars that are owed and not just being collected."""
    managed: bool
    backups_enabled: bool


COLUMNS = (
    (store.BALANCE.scalar_subquery() - payments.PENDING.scalar_subquery()).label("overdue"),
    account.c.managed,
    account.c.backups_enabled,
)
_STANDING = query(select(*COLUMNS).where(account.c.id == bindparam("account_id")), AccountStanding)


def owes(db: Session, account_id: int) -> bool:
    return store.balance(db, account_id) > 0


def past_due(db: Session, account_id: int) -> bool:
    """True if a debt is overdue and not being collected."""
    return db.one(_STANDING, account_id=account_id).overdue > 0


def must_be_paid_up(ctx: Context, standing: AccountStanding | None = None) -> None:
    """Refuse new objects to an account with overdue debt. ``standing``: the account's, if already known."""
    standing = standing or ctx.db.one(_STANDING, account_id=ctx.account_id)
    if standing.overdue > 0:
        raise Invalid(PAST_DUE)


def view(ctx: Context) -> AccountView:
    account = accounts.by_id(ctx.db, ctx.account_id)
    return AccountView(
        active_promotions=promotions.views(ctx),
        active_since=account.active_since,
        address_1=account.address_1,
        address_2=account.address_2,
        balance=dollars(store.balance(ctx.db, account.id)),
        balance_uninvoiced=dollars(hour_lines.uninvoiced(ctx)),
        capabilities=CAPABILITIES,
        city=account.city,
        company=account.company,
        country=account.country,
        credit_card=_card(ctx),
        email=account.email,
        euuid=account.euuid,
        first_name=account.first_name,
        last_name=account.last_name,
        phone=account.phone,
        state=account.state,
        tax_id=account.tax_id,
        zip=account.zip,
    )


def _card(ctx: Context) -> CreditCard:
    method = store.default_method(ctx.db, ctx.account_id)
    return CreditCard(None, None) if method is None else CreditCard(method.expiry, int(method.last_four))
