"""Invoices: made from meters on the first of the month, at a threshold in between, and when an account closes."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import bindparam, func, select

from crofter import clock
from crofter.context import Context
from crofter.db import query
from crofter.drivers.payments import Outcome
from crofter.engine import Chore, Operation, Sleep, Work, enqueue, step, tx_step
from crofter.housekeeping import Nothing
from crofter.journal import Author
from crofter.resources.account import store as accounts
from crofter.resources.billing import charging, metering, store, taxes
from crofter.resources.billing.metering import Line

THRESHOLD = 50_000_000
"""Micro-dollars of running charges at which an invoice does not wait for the month to end."""
_BILLABLE = query(
    select(store.meter.c.account_id)
    .where(store.meter.c.ended.is_(None) | (store.meter.c.billed_until < store.meter.c.ended))
    .distinct()
    .order_by(store.meter.c.account_id)
)
_SAME_MONTH = query(
    select(func.count()).where(
        store.invoice.c.account_id == bindparam("account_id"), store.invoice.c.period.like(bindparam("pattern"))
    )
)


class Args(Struct, frozen=True):
    account_id: int
    period: str
    until: int


def make(ctx: Context, account_id: int, period: str, until: int) -> int | None:
    """An invoice of everything up to ``until`` that no invoice has; its number, or None if there is nothing."""
    made = [(found, line) for found in store.unbilled(ctx.db, account_id) for line in metering.lines(found, until)]
    if not made:
        return None
    account = accounts.one(ctx.db, account_id)
    folder = ctx.world.settings.catalogue
    amounts = [taxes.whole_cents(line.amount) for _, line in made]
    taxed = [taxes.on(amount, account.country, folder) for amount in amounts]
    subtotal, tax = sum(amounts), sum(taxed)
    number = ctx.db.insert(
        store.invoice,
        account_id=account_id,
        date=clock.text(until),
        period=period,
        subtotal=subtotal,
        tax=tax,
        total=subtotal + tax,
        address=accounts.billing_address(account),
    )
    for (_, line), amount, its_tax in zip(made, amounts, taxed, strict=True):
        _add_item(ctx, number, line, amount, its_tax)
        ctx.db.update(
            store.meter,
            {"id": line.meter.id},
            billed_hours=line.meter.billed_hours + line.hours,
            billed_until=line.stop,
            month=line.month,
            month_amount=line.month_amount,
        )
    if subtotal + tax:
        legs = {"owed": subtotal + tax, "revenue": -subtotal, "tax": -tax}
        store.book(ctx.db, account_id, f"invoice:{number}", clock.text(until), legs)
    return number


def _add_item(ctx: Context, invoice_id: int, line: Line, amount: int, tax: int) -> None:
    ctx.db.insert(
        store.invoice_item,
        invoice_id=invoice_id,
        label=line.meter.label,
        type="hourly",
        unit_price=line.meter.hourly,
        quantity=line.hours,
        amount=amount,
        tax=tax,
        total=amount + tax,
        from_=clock.text(line.start),
        to_=clock.text(line.stop),
    )


# ---- on the clock ---------------------------------------------------------------------------------------------------


@tx_step()
def invoice(ctx: Context, work: Work) -> Sleep | None:
    ctx.db.hold(work.args.account_id)
    number = make(ctx, work.args.account_id, work.args.period, work.args.until)
    if number is not None:
        work.vars["key"] = charging.intend(ctx, work.args.account_id, f"invoice:{number}")
    return None


@step(retries=20)
def collect(work: Work) -> Sleep | None:
    """Take what is owed from the default card; a failure is told by what stays owed."""
    key = work.vars.get("key")
    if key is None:
        return None
    outcome = charging.ask(work.world, str(key))
    work.then(lambda ctx: _settle(ctx, str(key), outcome))
    return None


def _settle(ctx: Context, key: str, outcome: Outcome) -> None:
    charging.settle(ctx, key, outcome)


INVOICE = Operation(kind="billing.invoice", args=Args, steps=(invoice, collect), lane="billing", keep=False)


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
def close_month(ctx: Context, work: Work) -> Sleep | None:
    """One invoice for each account that used something in the month that has just ended."""
    until = int(work.vars["occurrence"])
    period = metering.month_of(until - 1)
    for account_id in ctx.db.column(_BILLABLE):
        _begin(ctx, account_id, period, until)
    return None


@tx_step()
def watch_threshold(ctx: Context, work: Work) -> Sleep | None:
    for account_id in ctx.db.column(_BILLABLE):
        if metering.uninvoiced(ctx.db, account_id, ctx.now) >= THRESHOLD:
            month = metering.month_of(ctx.now)
            count = int(ctx.db.value(_SAME_MONTH, account_id=account_id, pattern=f"{month}#%"))
            _begin(ctx, account_id, f"{month}#{count + 1}", ctx.now)
    return None


CLOSE_MONTH = Operation(kind="billing.close_month", args=Nothing, steps=(close_month,), lane="billing", keep=False)
THRESHOLDS = Operation(kind="billing.threshold", args=Nothing, steps=(watch_threshold,), lane="billing", keep=False)

OPERATIONS = (INVOICE, CLOSE_MONTH, THRESHOLDS)
CHORES = (
    Chore("billing.close_month", CLOSE_MONTH, "monthly", Nothing(), catchup="all"),
    Chore("billing.threshold", THRESHOLDS, "daily 03:00", Nothing()),
)
