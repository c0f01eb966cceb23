"""An invoice before it is written down: its lines, what a promotion pays of them, and the tax."""

from __future__ import annotations

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.resources.billing import metering, prices, promotions, store, taxes
from crofter.resources.billing.metering import Line
from crofter.resources.billing.taxes import Tax, whole_cents


class Item(Struct, frozen=True):
    """One line; amounts are micro-dollars, in whole cents."""

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
    items: list[Item]
    credit: int

    @property
    def subtotal(self) -> int:
        return sum(item.amount for item in self.items)

    @property
    def tax(self) -> int:
        return sum(item.tax for item in self.items)

    @property
    def total(self) -> int:
        return self.subtotal + self.tax


def draft(ctx: Context, account_id: int, country: str, until: int, gigabytes: int = 0) -> Draft:
    """All up to ``until`` that no invoice has. ``gigabytes``: traffic of the month beyond what the plans give."""
    tax = taxes.of(ctx.db, country)
    items = [_metered(line, tax) for line in metering.unbilled(ctx.db, account_id, until)]
    items += _overage(ctx, account_id, until, gigabytes, tax)
    credit = _credit(ctx, account_id, until, items, tax)
    return Draft([*items, *credit], -sum(item.amount for item in credit))


def _metered(line: Line, tax: Tax) -> Item:
    meter, amount = line.meter, whole_cents(line.amount)
    return Item(
        meter.what, meter.label, "hourly", meter.hourly, line.hours, amount, tax.on(amount), line.start, line.stop
    )


def _overage(ctx: Context, account_id: int, until: int, gigabytes: int, tax: Tax) -> list[Item]:
    first = metering.month_start(until - 1)
    left = gigabytes - store.overage_billed(ctx.db, account_id, clock.text(first))
    if left <= 0:
        return []
    amount = whole_cents(left * prices.TRANSFER)
    label = "Network transfer beyond what the plans include (GB)"
    return [Item("transfer", label, "misc", prices.TRANSFER, left, amount, tax.on(amount), first, until)]


def _credit(ctx: Context, account_id: int, until: int, items: list[Item], tax: Tax) -> list[Item]:
    """What a promotion pays, as a line below zero: never more than there is to pay."""
    month = metering.month_of(until - 1)
    made: list[Item] = []
    for found in promotions.active(ctx.db, account_id, clock.text(until)):
        paid = promotions.spend(ctx, found, month, ((item.what, item.amount) for item in items))
        if paid:
            relief = min(tax.on(paid), sum(item.tax for item in items))
            label = f"Promotion: {found.summary}"
            made.append(Item("credit", label, "misc", -paid, 1, -paid, -relief, metering.month_start(until - 1), until))
            break  # an account has one at a time
    return made
