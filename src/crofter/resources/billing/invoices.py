"""Making an invoice: its lines from what meters come to, what a promotion pays of them, and the tax."""

from __future__ import annotations

from msgspec import Struct

from crofter import clock, mail
from crofter.context import Context
from crofter.money import to_the_cent, whole_cents
from crofter.resources.account import store as accounts
from crofter.resources.billing import meters, prices, promotions, store, taxes, traffic, usage
from crofter.resources.billing.taxes import Tax
from crofter.resources.billing.usage import MeterCharge


class InvoiceLine(Struct, frozen=True):
    """A line before it is stored; amounts are micro-dollars in whole cents."""

    what: str
    label: str
    type: str
    unit_price: int
    quantity: int
    amount: int
    tax: int
    start: int
    stop: int


class Draft(Struct, frozen=True):
    """An invoice before it is stored; ``credit`` is what a promotion pays, and among the lines too."""

    lines: list[InvoiceLine]
    credit: int

    @property
    def subtotal(self) -> int:
        return sum(line.amount for line in self.lines)

    @property
    def tax(self) -> int:
        return sum(line.tax for line in self.lines)

    @property
    def total(self) -> int:
        return self.subtotal + self.tax


def draft(ctx: Context, account_id: int, country: str, until: int, gigabytes: int = 0) -> Draft:
    """Draft an invoice of all unbilled usage up to ``until``. ``gigabytes``: traffic of the month beyond the plans."""
    tax = taxes.of(ctx.db, country)
    lines = [_metered(charge, tax) for charge in usage.unbilled(ctx.db, account_id, until)]
    lines += _overage(ctx, account_id, until, gigabytes, tax)
    credit = _credit(ctx, account_id, until, lines, tax)
    return Draft([*lines, *credit], -sum(line.amount for line in credit))


def _metered(charge: MeterCharge, tax: Tax) -> InvoiceLine:
    meter, amount = charge.meter, whole_cents(charge.amount)
    return InvoiceLine(
        what=meter.what,
        label=meter.label,
        type="hourly",
        unit_price=meter.hourly,
        quantity=charge.hours,
        amount=amount,
        tax=tax.on(amount),
        start=charge.start,
        stop=charge.stop,
    )


def _overage(ctx: Context, account_id: int, until: int, gigabytes: int, tax: Tax) -> list[InvoiceLine]:
    first = usage.month_start(until - 1)
    left = gigabytes - store.overage_billed(ctx.db, account_id, clock.text(first))
    if left <= 0:
        return []
    amount = whole_cents(left * prices.TRANSFER)
    label = "Network transfer beyond what the plans include (GB)"
    return [InvoiceLine("transfer", label, "misc", prices.TRANSFER, left, amount, tax.on(amount), first, until)]


def _credit(ctx: Context, account_id: int, until: int, lines: list[InvoiceLine], tax: Tax) -> list[InvoiceLine]:
    """Return the promotion's part as a negative line, at most the total."""
    first = usage.month_start(until - 1)
    for credit in promotions.active(ctx.db, account_id, clock.text(until)):
        paid = promotions.spend(ctx, credit, usage.month_of(first), ((line.what, line.amount) for line in lines))
        if paid:  # an account has one at a time
            relief = min(tax.on(paid), sum(line.tax for line in lines))
            label = f"Promotion: {credit.summary}"
            return [InvoiceLine("credit", label, "misc", -paid, 1, -paid, -relief, first, until)]
    return []


# ---- storing one ----------------------------------------------------------------------------------------------------


def make(ctx: Context, account_id: int, period: str, until: int, gigabytes: int = 0) -> int | None:
    """An invoice of everything up to ``until`` that no invoice has; its number, or None if there is nothing."""
    account = accounts.by_id(ctx.db, account_id)
    drafted = draft(ctx, account_id, account.country, until, gigabytes)
    if drafted.lines and not any(line.amount for line in drafted.lines):
        return None  # hours that are free, since the month is paid for: the next invoice has them
    meters.mark_billed(ctx.db, account_id, until)
    if not drafted.lines:
        return None
    number = ctx.db.insert(
        store.invoice,
        account_id=account_id,
        date=clock.text(until),
        period=period,
        subtotal=drafted.subtotal,
        tax=drafted.tax,
        total=drafted.total,
        address=accounts.billing_address(account),
        seller=ctx.runtime.settings.seller,
    )
    _add_items(ctx, number, drafted.lines)
    legs = {
        "owed": drafted.total,
        "revenue": -drafted.subtotal - drafted.credit,
        "promotion": drafted.credit,
        "tax": -drafted.tax,
    }
    store.post(ctx.db, account_id, f"invoice:{number}", clock.text(until), legs)
    return number


def _add_items(ctx: Context, invoice_id: int, lines: list[InvoiceLine]) -> None:
    for line in lines:
        ctx.db.insert(
            store.invoice_item,
            invoice_id=invoice_id,
            what=line.what,
            label=line.label,
            type=line.type,
            unit_price=line.unit_price,
            quantity=line.quantity,
            amount=line.amount,
            tax=line.tax,
            total=line.amount + line.tax,
            from_=clock.text(line.start),
            to_=clock.text(line.stop),
        )


class FinalPeriod(Struct, frozen=True):
    """End of the period of a final invoice, with its traffic beyond the plans."""

    until: int
    gigabytes: int


def final_periods(ctx: Context, account_id: int) -> list[FinalPeriod]:
    """Return the open periods: the last month if its invoice is still due, and this one. Call outside transactions:
    hosts are queried.

    An unreachable host does not delay the closing: traffic that only it knows is not billed.
    """
    first = usage.month_start(ctx.now)
    ends = [ctx.now]
    if not store.is_closed(ctx.db, account_id, usage.month_of(first - 1)):
        ends.insert(0, first)
    return [FinalPeriod(end, traffic.pool(ctx, account_id, end).billable) for end in ends]


def make_final(ctx: Context, account_id: int, periods: list[FinalPeriod]) -> list[int]:
    """The invoices of an account that closes."""
    now = periods[-1].until
    made = [make(ctx, account_id, f"final@{now}:{period.until}", period.until, period.gigabytes) for period in periods]
    return [number for number in made if number is not None]


def tell(ctx: Context, account_id: int, number: int) -> None:
    """Mail to the account: there is an invoice, and whether anything is to be done about it."""
    account = accounts.by_id(ctx.db, account_id)
    owed = store.balance(ctx.db, account_id)
    state = f"{to_the_cent(owed)} USD are due. Please pay them." if owed > 0 else "Nothing is due."
    mail.send(ctx, account.email, f"Invoice #{number}", f"Invoice #{number} is ready.\n{state}\n")
