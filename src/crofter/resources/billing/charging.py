"""Taking money: the intent is written down, the gateway is asked, and what it says is written down too."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from crofter.context import Context, World
from crofter.db import Row, query
from crofter.drivers.payments import Gateway, InDoubt, Outcome
from crofter.errors import Unavailable
from crofter.resources.account import store as accounts
from crofter.resources.billing import store


class Intent(Row):
    key: str
    account_id: int
    method_id: int
    amount: int
    purpose: str
    status: str
    token: str
    euuid: str


_INTENT = query(
    select(
        store.charge.c.key,
        store.charge.c.account_id,
        store.charge.c.method_id,
        store.charge.c.amount,
        store.charge.c.purpose,
        store.charge.c.status,
        store.payment_method.c.token,
        accounts.account.c.euuid,
    )
    .join(store.payment_method, store.payment_method.c.id == store.charge.c.method_id)
    .join(accounts.account, accounts.account.c.id == store.charge.c.account_id)
    .where(store.charge.c.key == bindparam("key")),
    Intent,
)


def gateway(world: World) -> Gateway:
    found: Gateway = world.services["payments"]
    return found


def intend(
    ctx: Context, account_id: int, purpose: str, amount: int | None = None, method_id: int | None = None
) -> str | None:
    """Write down that this much is to be taken; None if nothing is owed or there is no card."""
    owed = store.balance(ctx.db, account_id) if amount is None else amount
    method = store.default_method(ctx.db, account_id) if method_id is None else None
    chosen = method_id if method is None else method.id
    if owed <= 0 or chosen is None:
        return None
    ctx.db.insert(
        store.charge,
        key=purpose,
        account_id=account_id,
        method_id=chosen,
        amount=owed,
        purpose=purpose,
        status="pending",
        created=ctx.moment,
    )
    return purpose


def ask(world: World, key: str) -> Outcome:
    """Charge once, however often this is called. Outside any transaction."""
    with world.database.read() as db:
        intent = db.one(_INTENT, key=key)
    try:
        return gateway(world).charge(f"{intent.euuid}:{key}", intent.euuid, intent.token, intent.amount // 10_000)
    except InDoubt:
        found = gateway(world).find(f"{intent.euuid}:{key}")
        if found is None:
            raise Unavailable("The payment could not be confirmed. Please try again.") from None
        return found


def settle(ctx: Context, key: str, outcome: Outcome) -> int | None:
    """Write down what the gateway said; the payment's number if money moved."""
    intent = ctx.db.one(_INTENT, key=key)
    if intent.status != "pending":
        return None
    ctx.db.update(store.charge, {"key": key}, status="paid" if outcome.paid else "declined")
    if not outcome.paid:
        return None
    number = ctx.db.insert(
        store.payment,
        account_id=intent.account_id,
        date=ctx.moment,
        amount=intent.amount,
        reference=f"{intent.euuid}:{key}",
    )
    legs = {"owed": -intent.amount, "bank": intent.amount}
    store.book(ctx.db, intent.account_id, f"payment:{number}", ctx.moment, legs)
    return number
