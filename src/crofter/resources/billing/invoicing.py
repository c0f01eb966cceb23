"""Invoices: made from meters on the first of the month, at a threshold in between, and when an account closes."""

from __future__ import annotations

from msgspec import Struct

from crofter import clock, mail
from crofter.context import Context
from crofter.drivers.hypervisor import Unreachable
from crofter.drivers.payments import Outcome
from crofter.engine import Nothing, Operation, Schedule, Sleep, StepContext, enqueue, step, tx_step
from crofter.events import Author
from crofter.money import to_the_cent
from crofter.resources.account import store as accounts
from crofter.resources.billing import charging, metering, meters, store, traffic
from crofter.resources.billing.drafting import Draft, draft

THRESHOLD = 50_000_000
"""Micro-dollars of running charges at which an invoice does not wait for the month to end."""
ASK_AGAIN = 600.0
"""Seconds until a host that does not answer is asked again."""
BATCH = 200
"""Accounts that are looked at in one transaction, so that closing a month keeps nobody waiting."""


class Args(Struct, frozen=True):
    account_id: int
    period: str
    until: int


# ---- one invoice ----------------------------------------------------------------------------------------------------


def make(ctx: Context, account_id: int, period: str, until: int, gigabytes: int = 0) -> int | None:
    """An invoice of everything up to ``until`` that no invoice has; its number, or None if there is nothing."""
    account = accounts.one(ctx.db, account_id)
    made = draft(ctx, account_id, account.country, until, gigabytes)
    if made.items and not any(item.amount for item in made.items):
        return None  # hours that are free, since the month is paid for: the next invoice has them
    meters.mark_billed(ctx.db, account_id, until)
    if not made.items:
        return None
    number = ctx.db.insert(
        store.invoice,
        account_id=account_id,
        date=clock.text(until),
        period=period,
        subtotal=made.subtotal,
        tax=made.tax,
        total=made.total,
        address=accounts.billing_address(account),
        seller=ctx.runtime.settings.seller,
    )
    _add_items(ctx, number, made)
    legs = {"owed": made.total, "revenue": -made.subtotal - made.credit, "promotion": made.credit, "tax": -made.tax}
    store.book(ctx.db, account_id, f"invoice:{number}", clock.text(until), legs)
    return number


def _add_items(ctx: Context, invoice_id: int, made: Draft) -> None:
    for item in made.items:
        ctx.db.insert(
            store.invoice_item,
            invoice_id=invoice_id,
            what=item.what,
            label=item.label,
            type=item.type,
            unit_price=item.unit_price,
            quantity=item.quantity,
            amount=item.amount,
            tax=item.tax,
            total=item.amount + item.tax,
            from_=clock.text(item.start),
            to_=clock.text(item.stop),
        )


class Stretch(Struct, frozen=True):
    """What an invoice that ends an account goes up to, and the traffic beyond what the plans give."""

    until: int
    gigabytes: int


def last_stretches(ctx: Context, account_id: int) -> list[Stretch]:
    """Of a month whose own invoice is still to come, and of this one. Outside any transaction: hosts are asked.

    Nobody is kept for a host that does not answer: traffic that only it knows of is not billed.
    """
    first = metering.month_start(ctx.now)
    ends = [ctx.now]
    if not store.is_closed(ctx.db, account_id, metering.month_of(first - 1)):
        ends.insert(0, first)
    return [Stretch(end, traffic.pool(ctx, account_id, end).billable) for end in ends]


def make_last(ctx: Context, account_id: int, stretches: list[Stretch]) -> list[int]:
    """The invoices of an account that closes."""
    now = stretches[-1].until
    made = [make(ctx, account_id, f"final@{now}:{one.until}", one.until, one.gigabytes) for one in stretches]
    return [number for number in made if number is not None]


# ---- on the clock ---------------------------------------------------------------------------------------------------


@step(retries=10)
def measure(work: StepContext) -> Sleep | None:
    """The traffic of a whole month is known only to the hosts. One that does not answer is waited for, for a day."""
    if "#" in work.args.period:
        return None
    with work.read() as ctx:
        late = ctx.now - work.args.until >= clock.DAY
        try:
            found = traffic.pool(ctx, work.args.account_id, work.args.until, exactly=not late)
        except Unreachable:
            return Sleep(ASK_AGAIN)
    work.vars["gigabytes"] = found.billable
    return None


@tx_step()
def invoice(ctx: Context, work: StepContext) -> Sleep | None:
    if "number" in work.vars:
        return None  # it was made before, and only its money is wanting
    account_id = work.args.account_id
    if accounts.one(ctx.db, account_id).closed:
        meters.mark_billed(ctx.db, account_id, work.args.until)  # its last invoice was made when it closed
        return None
    gigabytes = int(work.vars.get("gigabytes", 0))
    number = make(ctx, account_id, work.args.period, work.args.until, gigabytes)
    if number is not None:
        work.vars["number"] = number
        work.vars["key"] = charging.intend_balance(ctx, account_id, f"invoice:{number}", patience=charging.GIVEN_UP)
        if work.vars["key"] is None:
            tell(ctx, account_id, number)
    return None


@step(retries=20)
def collect(work: StepContext) -> Sleep | None:
    """Take what is owed from the default card; a failure is told by what stays owed."""
    key = work.vars.get("key")
    if key is not None:
        outcome = charging.ask(work.runtime, str(key))
        work.then(lambda ctx: _collected(ctx, work, outcome))
    return None


def _collected(ctx: Context, work: StepContext, outcome: Outcome) -> None:
    charging.settle(ctx, str(work.vars["key"]), outcome)
    tell(ctx, work.args.account_id, int(work.vars["number"]))


def tell(ctx: Context, account_id: int, number: int) -> None:
    """Mail to the account: there is an invoice, and whether anything is to be done about it."""
    account = accounts.one(ctx.db, account_id)
    owed = store.balance(ctx.db, account_id)
    standing = f"{to_the_cent(owed)} USD are due. Please pay them." if owed > 0 else "Nothing is due."
    mail.send(ctx, account.email, f"Invoice #{number}", f"Invoice #{number} is ready.\n{standing}\n")


def invoice_given_up(ctx: Context, work: StepContext, _reason: str) -> None:
    """It is taken up later with what it knows: nothing is made twice, and who pays is told when that is settled."""
    enqueue(ctx, INVOICE, work.args, key=work.key, due=ctx.now + charging.TRY_AGAIN, vars=work.vars)


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
    """One invoice for each account that used something in the month that has just ended."""
    until = int(work.vars["occurrence"])
    month = metering.month_of(until - 1)
    found = ctx.db.column(meters.BILLABLE_OF_MONTH, after=int(work.vars.get("after", 0)), most=BATCH, month=month)
    for account_id in found:
        _begin(ctx, account_id, month, until)
        work.vars["after"] = account_id
    return Sleep(0) if len(found) == BATCH else None


def month_given_up(ctx: Context, work: StepContext, _reason: str) -> None:
    """No month goes by without its invoices: it is taken up later where it was left."""
    enqueue(ctx, CLOSE_MONTH, Nothing(), due=ctx.now + charging.TRY_AGAIN, vars=work.vars)


@step()
def watch_thresholds(work: StepContext) -> Sleep | None:
    """Who has used so much since the last invoice that the month's end is too far."""
    with work.read() as ctx:
        found = ctx.db.column(meters.BILLABLE, after=int(work.vars.get("after", 0)), most=BATCH)
        over = [one for one in found if metering.uninvoiced(ctx.db, one, ctx.now) >= THRESHOLD]
    work.vars["after"] = found[-1] if found else 0
    work.then(lambda ctx: _begin_extra(ctx, over))
    return Sleep(0) if len(found) == BATCH else None


def _begin_extra(ctx: Context, accounts_over: list[int]) -> None:
    month = metering.month_of(ctx.now)
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

OPERATIONS = (INVOICE, CLOSE_MONTH, THRESHOLDS, charging.FOLLOW_UP)
SCHEDULES = (
    Schedule("billing.close_month", CLOSE_MONTH, "monthly", Nothing(), catchup="all"),
    Schedule("billing.threshold", THRESHOLDS, "daily 03:00", Nothing()),
)
