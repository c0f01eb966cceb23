"""Invariants after a simulated year: each check has a name and returns its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from crofter.clock import HOUR
from tests.cloud import Cloud
from tests.resources import money
from tests.resources.money import moment, rows
from tests.year.history import facts, history_of
from tests.year.life import Log
from tests.year.reckoning import Bill, bills, line_of

PARALLEL = "ip"
"""Kinds of which an object may have several at a time; of the others it has one."""


class ComparedInvoices(NamedTuple):
    """The server, and the invoices of each account by date: those that it made, and those that it should have made."""

    cloud: Cloud
    found: dict[int, dict[int, tuple[int, Bill]]]
    wanted: dict[int, dict[int, Bill]]

    def both(self) -> Iterator[tuple[int, Bill, Bill]]:
        """Number, as found and as wanted."""
        for account, made in self.found.items():
            for date, (number, bill) in made.items():
                if date in self.wanted[account]:
                    yield number, bill, self.wanted[account][date]


def everything_is_as_it_should_be(cloud: Cloud, log: Log) -> int:
    """How many invoices were looked at."""
    compared = _look(cloud, log)
    for check in CHECKS:
        check(compared)
    return sum(len(made) for made in compared.found.values())


def violated(cloud: Cloud, log: Log) -> set[str]:
    """The names of the checks that find something wrong."""
    compared = _look(cloud, log)
    return {check.__name__ for check in CHECKS if not _holds(check, compared)}


def _holds(check: Callable[[ComparedInvoices], None], compared: ComparedInvoices) -> bool:
    try:
        check(compared)
    except AssertionError:
        return False
    return True


def _look(cloud: Cloud, log: Log) -> ComparedInvoices:
    history, now = history_of(log), cloud.runtime.clock.now()
    stored_bills: dict[int, dict[int, tuple[int, Bill]]] = {}
    wanted: dict[int, dict[int, Bill]] = {}
    for account in log.countries:
        stored = list(_stored(cloud, account))
        stored_bills[account] = {bill.date: (number, bill) for number, bill in stored}
        assert len(stored_bills[account]) == len(stored), "two invoices of one account have the same date"
        wanted[account] = {bill.date: bill for bill in bills(history, log, account, now)}
    return ComparedInvoices(cloud, stored_bills, wanted)


def _stored(cloud: Cloud, account: int) -> Iterator[tuple[int, Bill]]:
    columns = "what, label, unit_price, quantity, amount, tax"
    for number, date in rows(cloud, f"SELECT id, date FROM invoice WHERE account_id = {account} ORDER BY id"):
        lines = rows(cloud, f"SELECT {columns} FROM invoice_item WHERE invoice_id = {number}")
        yield number, Bill(moment(date), tuple(sorted(line_of(*line) for line in lines)))


# ---- against the history --------------------------------------------------------------------------------------------


def invoices_are_made_when_they_should_be(compared: ComparedInvoices) -> None:
    for account, made in compared.found.items():
        assert sorted(made) == sorted(compared.wanted[account]), account


def invoices_have_the_lines_that_the_history_comes_to(compared: ComparedInvoices) -> None:
    for number, bill, wanted in compared.both():
        surplus, missing = Counter(bill.lines) - Counter(wanted.lines), Counter(wanted.lines) - Counter(bill.lines)
        assert (surplus, missing) == (Counter(), Counter()), (number, bill.date, surplus, missing)


# ---- in itself ------------------------------------------------------------------------------------------------------


def the_books_are_in_order(compared: ComparedInvoices) -> None:
    money.books_are_in_order(compared.cloud)
    assert rows(compared.cloud, "SELECT 1 FROM invoice_item WHERE total <> amount + tax") == []
    assert rows(compared.cloud, "SELECT 1 FROM invoice WHERE subtotal < 0 OR tax < 0") == []
    assert rows(compared.cloud, "SELECT 1 FROM charge WHERE status = 'pending'") == []


def the_ledger_has_each_leg_to_the_micro_dollar(compared: ComparedInvoices) -> None:
    for number, bill in (numbered for made in compared.found.values() for numbered in made.values()):
        credit = -sum(line.amount for line in bill.lines if line.what == "credit")
        legs = {
            "owed": bill.subtotal + bill.tax,
            "revenue": -bill.subtotal - credit,
            "promotion": credit,
            "tax": -bill.tax,
        }
        entries: Any = rows(compared.cloud, f"SELECT book, amount FROM ledger WHERE entry = 'invoice:{number}'")
        stored = dict(entries)
        assert stored == {book: amount for book, amount in legs.items() if amount}, number


def all_that_is_there_costs_its_owner(compared: ComparedInvoices) -> None:
    """And nothing else does."""
    alive = rows(compared.cloud, "SELECT id, account_id FROM instance")
    running = rows(compared.cloud, "SELECT object_id, account_id FROM meter WHERE what = 'compute' AND ended IS NULL")
    assert sorted(map(tuple, running)) == sorted(map(tuple, alive))


def no_hour_of_an_object_is_metered_twice(compared: ComparedInvoices) -> None:
    """Check that a meter ends before the next begins, and that consecutive meters share no begun hour."""
    known: dict[tuple[object, ...], list[tuple[int, int, int | None]]] = {}
    columns = "id, coalesce(chain, id), what, object_id, began, ended"
    for _, chain, what, number, began, ended in rows(compared.cloud, f"SELECT {columns} FROM meter ORDER BY id"):
        if ended is None or ended > began:  # a meter that ended before its first hour is free
            known.setdefault((what, number, chain if what == PARALLEL else 0), []).append((chain, began, ended))
    for thing, meters in known.items():
        for (chain, began, ended), (following, begins, _) in pairwise(sorted(meters, key=lambda meter: meter[1])):
            assert ended is not None, thing
            hours = -(-(ended - began) // HOUR) * HOUR
            assert begins >= (began + hours if following == chain else ended), thing


CHECKS: tuple[Callable[[ComparedInvoices], None], ...] = (
    invoices_are_made_when_they_should_be,
    invoices_have_the_lines_that_the_history_comes_to,
    the_ledger_has_each_leg_to_the_micro_dollar,
    the_books_are_in_order,
    all_that_is_there_costs_its_owner,
    no_hour_of_an_object_is_metered_twice,
)


# contents of the year


def what_was_billed(cloud: Cloud) -> set[str]:
    """Return the kinds of billed lines; transfer is traffic beyond the plans, credit a promotion's."""
    return {str(what) for (what,) in rows(cloud, "SELECT DISTINCT what FROM invoice_item WHERE amount <> 0")}


def paid_by_hand(cloud: Cloud) -> int:
    return len(rows(cloud, "SELECT 1 FROM charge WHERE substr(key, 1, 4) = 'pay:' AND status = 'paid'"))


def moved_and_billed_on_both_sides(cloud: Cloud, log: Log) -> set[int]:
    """Instances that went from one account to another, and are on invoices of two accounts at least."""
    payers: dict[int, set[int]] = {}
    for account, label in rows(
        cloud,
        "SELECT i.account_id, n.label FROM invoice_item n JOIN invoice i ON i.id = n.invoice_id"
        " WHERE n.what = 'compute' AND n.amount <> 0",
    ):
        payers.setdefault(line_of("compute", label, 0, 0, 0, 0).number, set()).add(account)
    return {fact.number for fact in facts(log) if fact.what == "moved" and len(payers.get(fact.number, ())) > 1}
