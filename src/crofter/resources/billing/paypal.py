"""Payments that their payer approves with PayPal: prepared in one request, and made in another."""

from __future__ import annotations

from functools import partial

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import Row, query
from crofter.db.sql import bindparam, delete, select
from crofter.drivers.payments import InDoubt, Outcome, Refused, Staged
from crofter.errors import Invalid, Problem, Unavailable
from crofter.kinds import inaccessible
from crofter.money import CENT
from crofter.resources.account import store as accounts
from crofter.resources.billing import payments, rules, store
from crofter.resources.billing.shapes import PayPalCreate, PayPalExecute, PayPalView
from crofter.results import TwoPhaseWrite

GOOD_FOR = clock.DAY
"""A payer who takes longer begins anew: what is owed may be something else by then."""
KEPT_FOR = 2 * clock.DAY
"""Retention, so that a repeated request gets the same response."""


class StagedPayment(Row):
    payment_id: str
    amount: int
    created: int
    executed_by: str | None


_STAGED = query(
    select(*(store.staged_payment.c[name] for name in StagedPayment.__struct_fields__)).where(
        store.staged_payment.c.account_id == bindparam("account_id"),
        store.staged_payment.c.payment_id == bindparam("payment_id"),
    ),
    StagedPayment,
)
_FORGET = query(delete(store.staged_payment).where(store.staged_payment.c.created < bindparam("before")))


# ---- preparing ------------------------------------------------------------------------------------------------------


def stage(ctx: Context, body: PayPalCreate) -> TwoPhaseWrite[PayPalView]:
    """Stage a payment. Nothing is stored before the gateway's response: a lost staged payment moves no money."""
    payments.must_be_taken(ctx)
    amount = rules.payable(ctx, body.usd)
    customer = accounts.by_id(ctx.db, ctx.account_id).euuid
    call = partial(_prepared, ctx.runtime, ctx.rng.hex(24), customer, amount // CENT, body)
    return TwoPhaseWrite(call, partial(_staged, amount=amount))


def _prepared(runtime: Runtime, key: str, customer: str, cents: int, body: PayPalCreate) -> Staged:
    try:
        return runtime.payments.stage(key, customer, cents, body.redirect_url, body.cancel_url)
    except Refused as refused:
        raise Invalid(str(refused)) from None
    except InDoubt:
        raise Unavailable from None


def _staged(ctx: Context, prepared: Staged, *, amount: int) -> PayPalView:
    ctx.db.run(_FORGET, before=ctx.now - KEPT_FOR)
    values = {"account_id": ctx.account_id, "amount": amount, "created": ctx.now}
    ctx.db.insert(store.staged_payment, payment_id=prepared.payment_id, **values)
    return PayPalView(prepared.checkout_token, prepared.payment_id)


# ---- making ---------------------------------------------------------------------------------------------------------


def execute(ctx: Context, body: PayPalExecute, idempotency_key: str | None) -> TwoPhaseWrite[None]:
    """Execute a staged payment once; after a declined attempt a payer may approve the payment again."""
    payments.must_be_taken(ctx)
    staged = ctx.db.maybe(_STAGED, account_id=ctx.account_id, payment_id=body.payment_id)
    if staged is None:
        raise inaccessible("Payment", "payment_id")
    key = payments.attempt(ctx, "paypal", staged.payment_id)
    asked_by = f"{ctx.actor.token_id}:{idempotency_key or ctx.rng.hex(32)}"
    status = payments.status_of(ctx, key)
    if status is None:
        _must_be_payable_still(ctx, staged)
        rules.must_not_try_out_cards(ctx)
        ctx.db.update(store.staged_payment, {"payment_id": staged.payment_id}, executed_by=asked_by)
        payments.intend(ctx, ctx.account_id, key, staged.amount, staged.payment_id, payer_id=body.payer_id)
    elif status != "pending" and staged.executed_by != asked_by:
        raise Invalid("This payment was executed already.", field="payment_id")
    runtime = ctx.runtime
    return TwoPhaseWrite(lambda: payments.submit(runtime, key), lambda after, outcome: _executed(after, key, outcome))


def _must_be_payable_still(ctx: Context, staged: StagedPayment) -> None:
    if ctx.now - staged.created >= GOOD_FOR:
        raise Invalid("This payment has expired.", field="payment_id")


def _executed(ctx: Context, key: str, outcome: Outcome) -> Problem | None:
    return Invalid(rules.DECLINED) if rules.recorded(ctx, key, outcome) is None else None
