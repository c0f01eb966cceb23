"""The end of an account: it is charged, closed, and then cleared a little at a time, so that others can write."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from crofter import audit, clock
from crofter.context import Context
from crofter.db.database import TransactionConflict
from crofter.drivers.payments import NOT_TAKEN
from crofter.engine import Nothing, Operation, Sleep, StepContext, enqueue, tx_step
from crofter.errors import Conflict, Problem, Unauthenticated, Unavailable
from crofter.resources.account import store as accounts
from crofter.resources.billing import invoices, meters, payments
from crofter.resources.billing import store as billing
from crofter.resources.tags import store as tags
from crofter.resources.transfers import rules as transfers
from crofter.results import TwoPhaseWrite
from crofter.shapes import Body, View

UNPAID = "The account cannot be cancelled until the outstanding balance is paid: the card on file could not be charged."
SURVEY = "https://example.com/survey/"
AT_ONCE = 50
"""Maximum number of objects removed in a transaction."""
TRY_AGAIN = 6 * clock.HOUR


class Cancel(Body):
    comments: Annotated[str, Meta(max_length=65535)] | None = None


class Cancelled(View):
    survey_link: str


class LastCharge(Struct, frozen=True):
    """The last invoices of an account, up to when they go, and the charge that is to pay them, if anything is owed."""

    until: int
    invoices: list[int]
    charge: str | None


def cancel(ctx: Context, sent: list[str]) -> TwoPhaseWrite[Cancelled]:
    """The last invoice is made and charged; only if that works is the account closed.

    All that comes after this transaction. What it takes grows with the account, and who only plans can do without.
    """
    _must_not_be_paying(ctx)

    def charge() -> tuple[LastCharge, Any]:
        last = _make_last_invoices(ctx, sent)
        return last, None if last.charge is None else payments.submit(ctx.runtime, last.charge)

    return TwoPhaseWrite(charge, lambda after, charged: _record_and_close(after, *charged), cost=_cost_of_all)


def _must_not_be_paying(ctx: Context) -> None:
    if payments.pending(ctx.db, ctx.account_id):
        raise Conflict(payments.UNDER_WAY)


def _make_last_invoices(begun: Context, sent: list[str]) -> LastCharge:
    """The last invoices, and the intent to take what is owed: in a transaction of their own."""
    runtime, actor = begun.runtime, begun.actor
    with runtime.database.read() as db:
        periods = invoices.final_periods(Context(runtime, db, actor), actor.account_id)
    try:
        with runtime.database.write() as db:
            db.lock_account(actor.account_id)
            ctx = Context(runtime, db, actor, address=begun.address, request_id=begun.request_id)
            if accounts.by_id(db, actor.account_id).closed:
                raise Unauthenticated  # another request closed it first
            _must_not_be_paying(ctx)
            numbers = invoices.make_final(ctx, actor.account_id, periods)
            key = payments.intend_balance(ctx, actor.account_id, f"cancel:{ctx.rng.hex(32)}")
            if key is not None:  # the intent to charge is committed here, so it is on record even if the end fails
                audit.write(ctx, "cancel_account", "/v4/account/cancel", sent)
    except TransactionConflict:
        raise Unavailable from None
    return LastCharge(periods[-1].until, numbers, key)


def _record_and_close(ctx: Context, last: LastCharge, outcome: Any) -> Cancelled | Problem:
    if last.charge is not None:
        payments.record_outcome(ctx, last.charge, outcome)
    for number in last.invoices:
        invoices.tell(ctx, ctx.account_id, number)
    return _close(ctx, last.until)


def _cost_of_all(ctx: Context) -> tuple[int, int]:
    hourly, monthly = meters.rates(ctx.db, ctx.account_id)
    return -hourly, -monthly


def _close(ctx: Context, until: int) -> Cancelled | Problem:
    account = accounts.by_id(ctx.db, ctx.account_id)
    if account.closed:
        return Unauthenticated()  # another request closed it first
    if billing.balance(ctx.db, account.id) > 0:
        return Conflict(UNPAID if ctx.runtime.payments.takes_payments else NOT_TAKEN)
    close_now(ctx, until)
    return Cancelled(SURVEY + account.euuid)


def close_now(ctx: Context, until: int) -> None:
    """Close the account, even with a debt, and begin to remove its objects."""
    meters.stop_all(ctx.db, ctx.account_id, until)  # paid for up to then, and free while it is being removed
    transfers.cancel_all(ctx)
    ctx.db.update(accounts.account, {"id": ctx.account_id}, closed=True)
    enqueue(ctx, CLEAR, Nothing())


# ---- removing what a closed account has -----------------------------------------------------------------------------


@tx_step()
def remove_some(ctx: Context, work: StepContext) -> Sleep | None:
    reached: dict[str, int] = work.vars.setdefault("reached", {})
    return Sleep(0) if ctx.runtime.kinds.remove_some(ctx, reached, AT_ONCE) else None


@tx_step()
def remove_tags(ctx: Context, _work: StepContext) -> Sleep | None:
    """After the objects that carry them: people name tags after what they do."""
    return Sleep(0) if tags.delete_some(ctx, AT_ONCE) else None


def resume_later(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry the removal later: no object of a closed account may stay."""
    enqueue(ctx, CLEAR, work.args, due=ctx.now + TRY_AGAIN, vars=work.vars)


CLEAR = Operation(
    kind="account.clear", args=Nothing, queue="bulk", steps=(remove_some, remove_tags), failed=resume_later, keep=False
)
