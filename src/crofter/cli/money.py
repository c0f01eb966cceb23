"""Commands of ``crofter admin`` that book credits and refunds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from crofter.cli.operators import Arguments, Rows, on_record
from crofter.cli.suspending import account_of
from crofter.context import Context, Runtime
from crofter.db import query
from crofter.db.sql import bindparam, func, select
from crofter.errors import Invalid, NotFound
from crofter.money import micros, to_the_cent
from crofter.resources.billing import store as billing


def _credit(runtime: Runtime, arguments: Arguments) -> Rows:
    """Lower what the account owes; what is left over counts towards the next invoices."""
    amount = _amount(arguments["amount"])
    with runtime.database.write() as db:
        account = account_of(db, arguments["euuid"])
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
    """Book the refund of a payment. The operator pays the money back at the gateway."""
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


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {"accounts credit": _credit, "accounts refund": _refund}
