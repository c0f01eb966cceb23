"""What ``crofter admin`` does to the standing of accounts and users: suspend, close, credit, refund, remove."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from sqlalchemy import bindparam, func, select

from crofter.assembly import hypervisor
from crofter.cli.operators import Arguments, Rows, on_record
from crofter.context import ALL_SCOPES, Actor, Context, Runtime
from crofter.db import Session, query
from crofter.errors import Invalid, NotFound
from crofter.login import sessions
from crofter.money import micros, to_the_cent
from crofter.resources.account import store as accounts
from crofter.resources.account.store import Account
from crofter.resources.billing import invoices
from crofter.resources.billing import store as billing
from crofter.resources.closing import rules as closing
from crofter.resources.profile.two_factor import store as two_factor
from crofter.resources.users import rules as users
from crofter.resources.users import store as people

_SUSPENDED = query(select(accounts.account.c.suspended).where(accounts.account.c.id == bindparam("id")))


def _set_suspended(runtime: Runtime, arguments: Arguments) -> Rows:
    """Nobody of the account can sign in or use a token, until it is resumed. Machines run on, and cost."""
    wanted = arguments["verb"] == "suspend"
    with runtime.database.write() as db:
        account = _account(db, arguments["euuid"])
        ctx = Context.of_system(runtime, db, account.id)
        if bool(db.value(_SUSPENDED, id=account.id)) == wanted:
            raise Invalid(f"account {account.euuid} is {'' if wanted else 'not '}suspended")
        db.update(accounts.account, {"id": account.id}, suspended=wanted)
        on_record(ctx, arguments, account.id, "/v4/account", ("suspended",))
    return [{"euuid": account.euuid, "suspended": wanted}]


def _close(runtime: Runtime, arguments: Arguments) -> Rows:
    """As its owner would, but without asking the card: what is owed stays on the last invoice."""
    runtime.hypervisor = hypervisor(runtime)  # it knows the traffic that is still to be billed
    with runtime.database.read() as db:
        account = _account(db, arguments["euuid"])
        periods = invoices.final_periods(Context.of_system(runtime, db, account.id), account.id)
    with runtime.database.write() as db:
        db.lock_account(account.id)
        if accounts.by_id(db, account.id).closed:
            raise Invalid(f"account {account.euuid} is closed already")
        ctx = Context.of_system(runtime, db, account.id)
        made = invoices.make_final(ctx, account.id, periods)
        closing.close_now(ctx, periods[-1].until)
        for number in made:
            invoices.tell(ctx, account.id, number)
        owed = billing.balance(db, account.id)
        on_record(ctx, arguments, account.id, "/v4/account/cancel")
    return [{"closed": account.euuid, "owed": to_the_cent(owed)}]


# ---- money ----------------------------------------------------------------------------------------------------------


def _credit(runtime: Runtime, arguments: Arguments) -> Rows:
    """Lower what the account owes; what is left over counts towards the next invoices."""
    amount = _amount(arguments["amount"])
    with runtime.database.write() as db:
        account = _account(db, arguments["euuid"])
        db.lock_account(account.id)
        ctx = Context.of_system(runtime, db, account.id)
        entry = f"credit:{runtime.rng.hex(16)}"
        billing.post(db, account.id, entry, ctx.moment, {"owed": -amount, "credit": amount})
        on_record(ctx, arguments, account.id, f"{entry} {to_the_cent(amount)} USD", ("amount",))
        owed = billing.balance(db, account.id)
    return [{"euuid": account.euuid, "credited": to_the_cent(amount), "balance": to_the_cent(owed)}]


_PAYMENT = query(
    select(billing.payment.c.account_id, billing.payment.c.amount).where(billing.payment.c.id == bindparam("id")),
    lambda account_id, amount: (account_id, amount),
)
_REFUNDED = query(
    select(func.coalesce(func.sum(billing.ledger.c.amount), 0)).where(
        billing.ledger.c.account_id == bindparam("account_id"),
        billing.ledger.c.book == "bank",
        billing.ledger.c.entry.like(bindparam("entries")),
    )
)


def _refund(runtime: Runtime, arguments: Arguments) -> Rows:
    """Write down that money of a payment was given back. The gateway is not asked: that is done there."""
    amount = _amount(arguments["amount"])
    with runtime.database.write() as db:
        paid = db.maybe(_PAYMENT, id=arguments["id"])
        if paid is None:
            raise NotFound(f"there is no payment {arguments['id']}")
        account_id, whole = paid
        db.lock_account(account_id)
        ctx = Context.of_system(runtime, db, account_id)
        left = whole + int(db.value(_REFUNDED, account_id=account_id, entries=f"refund:{arguments['id']}:%"))
        if amount > left:
            raise Invalid(f"of payment {arguments['id']} {to_the_cent(left)} USD are left")
        entry = f"refund:{arguments['id']}:{runtime.rng.hex(16)}"
        billing.post(db, account_id, entry, ctx.moment, {"owed": amount, "bank": -amount})
        on_record(ctx, arguments, account_id, f"/v4/account/payments/{arguments['id']}", ("amount",))
    return [{"payment": arguments["id"], "refunded": to_the_cent(amount), "left": to_the_cent(left - amount)}]


def _amount(text: str) -> int:
    try:
        amount = micros(Decimal(text))
    except (InvalidOperation, ValueError):
        amount = 0
    if amount <= 0 or amount % 10_000:
        raise Invalid(f"an amount is dollars and cents like 12.50, not {text}")
    return amount


# ---- users ----------------------------------------------------------------------------------------------------------


def _reset_two_factor(runtime: Runtime, arguments: Arguments) -> Rows:
    """Somebody lost the second factor: it is off, and every browser is signed out, until it is set up again."""
    with runtime.database.write() as db:
        user = _user(db, arguments["username"])
        if not user.tfa_enabled:
            raise Invalid(f"user {user.username} has no second factor")
        db.lock_account(user.account_id)
        actor = Actor(user.account_id, user.id, user.username, user.restricted, 0, ALL_SCOPES)
        ctx = Context(runtime, db, actor)
        two_factor.disable(ctx)
        sessions.end_all(ctx, user.id)
        on_record(ctx, arguments, user.account_id, f"/v4/account/users/{user.username}", ("tfa_enabled",))
    return [{"username": user.username, "tfa_enabled": False}]


def _delete_user(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        user = _user(db, arguments["username"])
        db.lock_account(user.account_id)
        ctx = Context.of_system(runtime, db, user.account_id)
        users.delete(ctx, user)
        on_record(ctx, arguments, user.account_id, f"/v4/account/users/{user.username}")
    return [{"deleted": user.username}]


def _user(db: Session, username: str) -> people.User:
    user = db.maybe(people.BY_USERNAME, username=username)
    if user is None:
        raise NotFound(f"there is no user {username}")
    return user


def _account(db: Session, euuid: str) -> Account:
    account = accounts.by_euuid(db, euuid)
    if account is None:
        raise NotFound(f"there is no account {euuid}")
    return account


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "accounts suspend": _set_suspended,
    "accounts resume": _set_suspended,
    "accounts close": _close,
    "accounts credit": _credit,
    "accounts refund": _refund,
    "users reset-two-factor": _reset_two_factor,
    "users delete": _delete_user,
}
