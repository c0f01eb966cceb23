"""Invoices on the clock: made on the first of the month or at a threshold in between, and collected from the card."""

from __future__ import annotations

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.drivers.hypervisor import Unreachable
from crofter.drivers.payments import Outcome
from crofter.engine import Nothing, Operation, Schedule, Sleep, StepContext, enqueue, step, tx_step
from crofter.events import Author
from crofter.resources.account import store as accounts
from crofter.resources.billing import invoices, meters, payments, store, sums, traffic, usage

THRESHOLD = 50_000_000
"""Micro-dollars of running charges at which an invoice does not wait for the month to end."""
ASK_AGAIN = 600.0
"""Seconds until an unreachable host is queried again."""
BATCH = 200
"""Accounts per transaction, so that closing a month blocks no request for long."""


class Args(Struct, frozen=True):
    account_id: int
    period: str
    until: int


@step(retries=10)
def measure(work: StepContext) -> Sleep | None:
    """The traffic of a whole month is known only to the hosts. One that does not answer is waited for, for a day."""
    if "#" in work.args.period:
        return None
    with work.read() as ctx:
        late = ctx.now - work.args.until >= clock.DAY
        try:
            pool = traffic.pool(ctx, work.args.account_id, work.args.until, exactly=not late)
        except Unreachable:
            return Sleep(ASK_AGAIN)
    work.vars["gigabytes"] = pool.billable
    return None


@tx_step()
def invoice(ctx: Context, work: StepContext) -> Sleep | None:
    if "number" in work.vars:
        return None  # the invoice exists; only its payment is missing
    account_id = work.args.account_id
    if accounts.by_id(ctx.db, account_id).closed:
        meters.mark_billed(ctx.db, account_id, work.args.until)  # its last invoice was made when it closed
        return None
    gigabytes = int(work.vars.get("gigabytes", 0))
    number = invoices.make(ctx, account_id, work.args.period, work.args.until, gigabytes)
    if number is not None:
        work.vars["number"] = number
        work.vars["key"] = payments.intend_balance(ctx, account_id, f"invoice:{number}", patience=payments.GIVEN_UP)
        if work.vars["key"] is None:
            invoices.tell(ctx, account_id, number)
    return None


@step(retries=20)
def collect(work: StepContext) -> Sleep | None:
    """Charge the debt to the default card; after a failure the debt stays."""
    key = work.vars.get("key")
    if key is not None:
        outcome = payments.submit(work.runtime, str(key))
        work.then(lambda ctx: _collected(ctx, work, outcome))
    return None


def _collected(ctx: Context, work: StepContext, outcome: Outcome) -> None:
    payments.record_outcome(ctx, str(work.vars["key"]), outcome)
    invoices.tell(ctx, work.args.account_id, int(work.vars["number"]))


def invoice_given_up(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry later with the stored state: nothing is created twice, and the payer is notified of the payment."""
    enqueue(ctx, INVOICE, work.args, key=work.key, due=ctx.now + payments.TRY_AGAIN, vars=work.vars)


INVOICE = Operation(
    kind="billing.invoice",
    args=Args,
    steps=(measure, invoice, collect),
    queue="billing",
    failed=invoice_given_up,
    keep=False,
)


def _begin(ctx: Context, account_id: int, period: str, until: int) -> None:
    enqueue(
        ctx,
        INVOICE,
        Args(account_id, period, until),
        key=f"billing:{account_id}",
        dedup=f"invoice:{account_id}:{period}",
        author=Author(account_id, None, ""),
    )


@tx_step()
def close_month(ctx: Context, work: StepContext) -> Sleep | None:
    """Create an invoice for each account with usage in the past month."""
    until = int(work.vars["occurrence"])
    month = usage.month_of(until - 1)
    account_ids = traffic.billable_accounts(ctx.db, month, after=int(work.vars.get("after", 0)), most=BATCH)
    for account_id in account_ids:
        _begin(ctx, account_id, month, until)
        work.vars["after"] = account_id
    return Sleep(0) if len(account_ids) == BATCH else None


def month_given_up(ctx: Context, work: StepContext, _reason: str) -> None:
    """No month goes by without its invoices: it is taken up later where it was left."""
    enqueue(ctx, CLOSE_MONTH, Nothing(), due=ctx.now + payments.TRY_AGAIN, vars=work.vars)


@step()
def watch_thresholds(work: StepContext) -> Sleep | None:
    """Bill accounts whose usage since the last invoice exceeds the threshold."""
    with work.read() as ctx:
        account_ids = meters.billable(ctx.db, after=int(work.vars.get("after", 0)), most=BATCH)
        over = [number for number in account_ids if sums.uninvoiced(ctx.db, number, ctx.now) >= THRESHOLD]
    work.vars["after"] = account_ids[-1] if account_ids else 0
    work.then(lambda ctx: _begin_extra(ctx, over))
    return Sleep(0) if len(account_ids) == BATCH else None


def _begin_extra(ctx: Context, accounts_over: list[int]) -> None:
    month = usage.month_of(ctx.now)
    for account_id in accounts_over:
        _begin(ctx, account_id, f"{month}#{store.extra_invoices(ctx.db, account_id, month) + 1}", ctx.now)


CLOSE_MONTH = Operation(
    kind="billing.close_month",
    args=Nothing,
    steps=(close_month,),
    queue="billing",
    failed=month_given_up,
    keep=False,
)
THRESHOLDS = Operation(kind="billing.threshold", args=Nothing, steps=(watch_thresholds,), queue="billing", keep=False)

OPERATIONS = (INVOICE, CLOSE_MONTH, THRESHOLDS, payments.FOLLOW_UP)
SCHEDULES = (
    Schedule("billing.close_month", CLOSE_MONTH, "monthly", Nothing(), catchup="all"),
    Schedule("billing.threshold", THRESHOLDS, "daily 03:00", Nothing()),
)
