"""Meters: hours, caps, chains. Pure arithmetic, against a slow and obvious way of doing the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from crofter.clock import HOUR, MINUTE
from crofter.money import whole_cents
from crofter.resources.billing import usage
from crofter.resources.billing.meters import Meter
from crofter.resources.billing.taxes import Tax


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def meter(
    began: int,
    ended: int | None = None,
    *,
    number: int = 1,
    chain: int | None = None,
    hourly: int = 7_500,
    monthly: int = 5_000_000,
    billed: int | None = None,
) -> Meter:
    return Meter(
        number, 1, chain, "compute", 1, f"meter {number}", hourly, monthly, 1000, began, ended, billed or began
    )


def amounts(lines: list[usage.MeterCharge]) -> list[tuple[int, int]]:
    return [(line.hours, line.amount) for line in lines]


def test_a_begun_hour_counts_whole() -> None:
    start = at("2026-03-10T10:20:00")
    for minutes, hours in ((0, 0), (1, 1), (59, 1), (60, 1), (61, 2), (180, 3)):
        lines = usage.charges([meter(start)], start + minutes * MINUTE)
        assert sum(line.hours for line in lines) == hours


def test_a_month_costs_no_more_than_its_cap() -> None:
    start = at("2026-03-01T00:00:00")
    assert amounts(usage.charges([meter(start)], at("2026-04-01T00:00:00"))) == [(744, 5_000_000)]
    assert amounts(usage.charges([meter(start)], at("2026-03-28T00:00:00"))) == [(648, 4_860_000)]


def test_months_are_billed_apart_and_no_hour_in_two() -> None:
    lines = usage.charges([meter(at("2026-03-31T23:30:00"))], at("2026-05-01T00:00:00"))
    assert [(line.hours, line.start, line.stop) for line in lines] == [
        (1, at("2026-03-31T23:30:00"), at("2026-04-01T00:00:00")),
        (720, at("2026-04-01T00:00:00"), at("2026-05-01T00:00:00")),
    ]


def test_invoices_in_between_change_nothing_but_where_the_lines_are_cut() -> None:
    start = at("2026-02-03T04:05:06")
    whole = usage.charges([meter(start)], at("2026-03-01T00:00:00"))
    first = usage.charges([meter(start)], at("2026-02-20T01:02:03"))
    rest = usage.charges([meter(start, billed=at("2026-02-20T01:02:03"))], at("2026-03-01T00:00:00"))
    assert sum(line.hours for line in whole) == sum(line.hours for line in (*first, *rest))
    assert sum(line.amount for line in whole) == sum(line.amount for line in (*first, *rest))


def test_what_ended_before_its_first_hour_began_costs_nothing() -> None:
    start = at("2026-03-10T11:00:00")
    assert usage.charges([meter(start, ended=start - MINUTE)], start + HOUR) == []


def test_after_a_change_of_plan_the_dearer_cap_holds_for_both() -> None:
    start, change = at("2026-03-01T00:00:00"), at("2026-03-30T00:00:00")
    dear = meter(start, change, hourly=15_000, monthly=10_000_000)
    cheap = meter(change, number=2, chain=1)
    lines = usage.charges([dear, cheap], at("2026-04-01T00:00:00"))
    assert amounts(lines) == [(696, 10_000_000), (48, 0)]
    other_way = usage.charges(
        [meter(start, change), meter(change, number=2, chain=1, hourly=15_000, monthly=10_000_000)],
        at("2026-04-01T00:00:00"),
    )
    assert amounts(other_way) == [(696, 5_000_000), (48, 720_000)]


def test_a_new_month_starts_with_a_new_cap() -> None:
    old = meter(at("2026-03-01T00:00:00"), at("2026-03-31T00:00:00"), hourly=15_000, monthly=10_000_000)
    new = meter(at("2026-03-31T00:00:00"), number=2, chain=1)
    lines = usage.charges([old, new], at("2026-05-01T00:00:00"))
    assert amounts(lines) == [(720, 10_000_000), (24, 0), (720, 5_000_000)]


def _hour_by_hour(meters: list[Meter], until: int) -> int:
    """Return the same amount, computed hour by hour."""
    spent: dict[tuple[int, str], int] = {}
    caps: dict[tuple[int, str], int] = {}
    for meter in sorted(meters, key=lambda metered: metered.began):
        hour, stop = meter.began, min(until, meter.ended or until)
        while hour < stop:
            month = (meter.chain or meter.id, datetime.fromtimestamp(hour / 1000, UTC).strftime("%Y-%m"))
            caps[month] = max(caps.get(month, 0), meter.monthly)
            spent[month] = min(caps[month], spent.get(month, 0) + meter.hourly)
            hour += HOUR
    return sum(spent.values())


def test_any_history_comes_to_what_counting_hour_by_hour_gives() -> None:
    rng = random.Random(7)
    for _ in range(200):
        began = at("2026-01-01T00:00:00") + rng.randrange(40 * 24 * 3600) * 1000
        meters: list[Meter] = []
        now = began
        for number in range(1, rng.randrange(2, 7)):
            now = max(now, began) + rng.randrange(1, 30 * 24 * 60) * MINUTE
            price = rng.choice([(7_500, 5_000_000), (15_000, 10_000_000), (60_000, 40_000_000)])
            chain = None if number == 1 else 1
            meters.append(meter(began, now, number=number, chain=chain, hourly=price[0], monthly=price[1]))
            began += -(-(now - began) // HOUR) * HOUR
        until = meters[0].began + rng.randrange(1, 130 * 24 * 60) * MINUTE
        assert sum(line.amount for line in usage.charges(meters, until)) == _hour_by_hour(meters, until)


def test_however_often_it_is_billed_the_sum_is_the_same() -> None:
    rng = random.Random(11)
    for _ in range(100):
        began = at("2026-01-10T10:10:10")
        change = began + rng.randrange(1, 60 * 24 * 60) * MINUTE
        second = began + -(-(change - began) // HOUR) * HOUR
        meters = [meter(began, change), meter(second, number=2, chain=1, hourly=30_000, monthly=20_000_000)]
        until = change + rng.randrange(1, 60 * 24 * 60) * MINUTE
        whole = sum(line.amount for line in usage.charges(meters, until))
        total = 0
        for stop in sorted([*(rng.randrange(began, until) for _ in range(5)), until]):
            total += sum(line.amount for line in usage.charges(meters, stop))
            meters = [_billed(meter, stop) for meter in meters]
        assert total == whole


def _billed(metered: Meter, until: int) -> Meter:
    stop = until if metered.ended is None else min(until, metered.ended)
    if metered.billed_until >= stop:
        return metered
    return meter(
        metered.began,
        metered.ended,
        number=metered.id,
        chain=metered.chain,
        hourly=metered.hourly,
        monthly=metered.monthly,
        billed=stop,
    )


def test_cents_are_rounded_half_up_and_tax_is_whole_cents() -> None:
    assert [whole_cents(amount) for amount in (0, 4_999, 5_000, 14_999, 15_000)] == [0, 0, 10_000, 10_000, 20_000]
    assert Tax("VAT", 190_000).on(5_000_000) == 950_000
    assert Tax("VAT", 77_000).on(10_000) == 0
    assert Tax("VAT", 500_000).on(10_000) == 10_000
