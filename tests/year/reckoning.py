"""The year's invoices reckoned once more, from its history. Hours are counted one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from crofter.clock import DAY, HOUR
from tests.year.clouds import BEGINNING, GIGABYTE
from tests.year.history import PROMOTIONS, TAXES, TYPES, History, PricedPeriod, first_of, micros, month
from tests.year.life import CODE, Log

CENT = 10_000
THRESHOLD = 50_000_000
GIGABYTE_OF_TRAFFIC = 10_000
NUMBER = re.compile(r"\((\d+)\)")
SERVICES = {
    "backup": "Backup Service - ",
    "ip": "Additional IPv4 address - ",
    "managed": "Managed Service - ",
    "volume": "Storage Volume - ",
    "nodebalancer": "NodeBalancer - ",
}


def cents(amount: Decimal | int) -> int:
    return int((Decimal(amount) / CENT).quantize(Decimal(1), ROUND_HALF_UP)) * CENT


def after(text: str) -> str:
    return month(first_of(text) + 32 * DAY)


class Line(NamedTuple):
    what: str
    number: int
    unit_price: int
    quantity: int
    amount: int
    tax: int


class Bill(NamedTuple):
    date: int
    lines: tuple[Line, ...]

    @property
    def subtotal(self) -> int:
        return sum(line.amount for line in self.lines)

    @property
    def tax(self) -> int:
        return sum(line.tax for line in self.lines)


def line_of(what: str, label: str, unit_price: int, quantity: int, amount: int, tax: int) -> Line:
    """A line as an invoice has it: the object is known by its label, which is what such things are called."""
    number = 0
    if what not in ("transfer", "credit"):
        if what == "compute":
            assert label.partition(" - ")[0] in {plan["label"] for plan in TYPES.values()}, label
        else:
            assert label.startswith(SERVICES[what]), label
        number = int(NUMBER.findall(label)[-1])
    return Line(what, number, unit_price, quantity, amount, tax)


def bills(history: History, log: Log, account: int, until: int) -> list[Bill]:
    """Every invoice of an account: on the first of a month, and at three in the morning when much has come together."""
    hours = sorted(_hours([period for period in history.every if period.account == account], until))
    credit = PromotionCredit(log.redeemed.get(account))
    open_: dict[tuple[int, str], list[int]] = {}
    done, made = 0, []
    for date, of_month in _dates(until):
        while done < len(hours) and hours[done][0] < date:
            at, place, amount = hours[done]
            line = open_.setdefault((place, month(at)), [0, 0])
            line[0] += 1
            line[1] += amount
            done += 1
        due = sum(cents(amount) for _, amount in open_.values())
        if not of_month and due < THRESHOLD:
            continue
        gigabytes = _overage(history, account, date) if of_month and log.predictable_traffic else 0
        if not due and not gigabytes:
            continue
        rate = Decimal(TAXES.get(log.countries[account], {"percent": 0})["percent"]) / 100
        made.append(_bill(history, date, open_, gigabytes, rate, credit))
        open_ = {}
    return made


def _dates(until: int) -> Iterator[tuple[int, bool]]:
    """When invoices may be made; whether a month has ended then."""
    day = BEGINNING // DAY * DAY
    while day <= until:
        if month(day) != month(day - 1):
            yield day, True
        if BEGINNING < day + 3 * HOUR <= until:
            yield day + 3 * HOUR, False
        day += DAY


def _hours(periods: list[PricedPeriod], until: int) -> Iterator[tuple[int, int, int]]:
    """Each hour that has begun: when, of which period, and what it adds before the month is paid for."""
    spent: Counter[tuple[int, str]] = Counter()
    caps: dict[tuple[int, str], int] = {}
    for period in periods:
        hourly, monthly = period.price
        for at in range(period.began, min(until if period.ended is None else period.ended, until), HOUR):
            key = (period.chain, month(at))
            caps[key] = max(caps.get(key, 0), monthly)
            adds = min(hourly, caps[key] - spent[key])
            spent[key] += adds
            yield at, id(period), adds


def _overage(history: History, account: int, date: int) -> int:
    """Gigabytes beyond what the plans of the month gave together."""
    of = month(date - 1)
    first, edge = first_of(of), first_of(after(of))
    given, used = 0, history.left[account, of]
    stays: dict[int, int] = {}
    for period in (other for other in history.every if other.what == "compute" and other.made < date):
        if period.account != account:
            stays.pop(period.number, None)
            continue
        given += period.gives * max(0, min(edge, period.ended or edge) - max(first, period.began))
        stays.setdefault(period.number, period.began)
        if period.ended is None or period.ended >= date:
            used += history.sent(period.number, max(stays[period.number], first), edge)
    return max(0, used // GIGABYTE - given // (edge - first))


class PromotionCredit:
    """Remaining credit of a promotion."""

    def __init__(self, redeemed: int | None) -> None:
        terms = PROMOTIONS[CODE]
        self._left = 0 if redeemed is None else micros(terms["credit"])
        self._cap = micros(terms["monthly_cap"])
        self._expires = (redeemed or 0) + terms["days"] * DAY
        self._used: Counter[str] = Counter()

    def pay(self, date: int, amount: int) -> int:
        if date >= self._expires:
            return 0
        paid = min(amount, self._left, self._cap - self._used[month(date - 1)])
        self._left -= paid
        self._used[month(date - 1)] += paid
        return paid


def _bill(
    history: History,
    date: int,
    open_: dict[tuple[int, str], list[int]],
    gigabytes: int,
    rate: Decimal,
    credit: PromotionCredit,
) -> Bill:
    periods = {id(period): period for period in history.every}
    lines = []
    for (place, _), (quantity, amount) in open_.items():
        period = periods[place]
        lines.append(
            Line(period.what, period.number, period.price[0], quantity, cents(amount), cents(cents(amount) * rate))
        )
    if gigabytes:
        amount = gigabytes * GIGABYTE_OF_TRAFFIC
        lines.append(Line("transfer", 0, GIGABYTE_OF_TRAFFIC, gigabytes, amount, cents(amount * rate)))
    paid = credit.pay(date, sum(line.amount for line in lines))
    if paid:
        relief = min(cents(paid * rate), sum(line.tax for line in lines))
        lines.append(Line("credit", 0, -paid, 1, -paid, -relief))
    return Bill(date, tuple(sorted(lines)))
