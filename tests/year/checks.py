"""What must hold after a year, however it went."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator

from tests.cloud import Cloud
from tests.resources.money import books_are_in_order, moment, rows
from tests.year.life import Log
from tests.year.reckoning import Bill, Line, bills
from tests.year.story import TYPES, Story, story

DIFFERENT_EACH_TIME = {"meta", "worker", "account_user"}
"""Tables that hold real time, or a salt for a password."""
NUMBER = re.compile(r"\((\d+)\)")
SERVICES = {
    "backup": "Backup Service - ",
    "ip": "Additional IPv4 address - ",
    "managed": "Managed Service - ",
    "volume": "Storage Volume - ",
    "nodebalancer": "NodeBalancer - ",
}


def everything_is_as_it_should_be(cloud: Cloud, log: Log) -> int:
    """How many invoices were looked at."""
    told = story(log)
    books_are_in_order(cloud)
    no_hour_of_an_object_is_metered_twice(cloud)
    assert rows(cloud, "SELECT 1 FROM charge WHERE status = 'pending'") == []
    return sum(_invoices_of(cloud, told, log, account) for account in log.countries)


def _invoices_of(cloud: Cloud, told: Story, log: Log, account: int) -> int:
    expected = bills(told, log, account, cloud.world.clock.now())
    found = list(_stored(cloud, account))
    assert [bill.date for _, bill in found] == [bill.date for bill in expected], account
    for (number, bill), wanted in zip(found, expected, strict=True):
        surplus, missing = Counter(bill.lines) - Counter(wanted.lines), Counter(wanted.lines) - Counter(bill.lines)
        assert (surplus, missing) == (Counter(), Counter()), (account, number, bill.date, surplus, missing)
        ledger_says(cloud, number, wanted)
    return len(found)


def _stored(cloud: Cloud, account: int) -> Iterator[tuple[int, Bill]]:
    for number, date, subtotal, tax, total in rows(
        cloud, f"SELECT id, date, subtotal, tax, total FROM invoice WHERE account_id = {account} ORDER BY id"
    ):
        columns = "what, label, unit_price, quantity, amount, tax, total"
        lines = []
        for what, label, price, quantity, amount, taxed, whole in rows(
            cloud, f"SELECT {columns} FROM invoice_item WHERE invoice_id = {number}"
        ):
            assert whole == amount + taxed
            lines.append(Line(what, _number(what, label), price, quantity, amount, taxed))
        bill = Bill(moment(date), tuple(sorted(lines)))
        assert (bill.subtotal, bill.tax, bill.subtotal + bill.tax) == (subtotal, tax, total), number
        assert min(subtotal, tax) >= 0
        yield number, bill


def _number(what: str, label: str) -> int:
    """Which object a line is about; and it is called what such things are called."""
    if what in ("transfer", "credit"):
        return 0
    if what == "compute":
        assert label.partition(" - ")[0] in {one["label"] for one in TYPES.values()}, label
    else:
        assert label.startswith(SERVICES[what]), label
    return int(NUMBER.findall(label)[-1])


def ledger_says(cloud: Cloud, number: int, bill: Bill) -> None:
    """Each leg of an invoice, to the micro-dollar."""
    credit = -sum(line.amount for line in bill.lines if line.what == "credit")
    legs = {
        "owed": bill.subtotal + bill.tax,
        "revenue": -bill.subtotal - credit,
        "promotion": credit,
        "tax": -bill.tax,
    }
    found = dict(rows(cloud, f"SELECT book, amount FROM ledger WHERE entry = 'invoice:{number}'"))
    assert found == {book: amount for book, amount in legs.items() if amount}, number


def no_hour_of_an_object_is_metered_twice(cloud: Cloud) -> None:
    """All that is there costs its owner money, and nothing else does."""
    alive = {tuple(row) for row in rows(cloud, "SELECT id, account_id FROM instance")}
    running = rows(cloud, "SELECT object_id, account_id FROM meter WHERE what = 'compute' AND ended IS NULL")
    assert len(running) == len(alive)
    assert {tuple(row) for row in running} == alive


def fingerprint(cloud: Cloud) -> str:
    """Of everything that the house has written down."""
    print_ = hashlib.sha256()
    names = rows(
        cloud, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    for (name,) in names:
        if name not in DIFFERENT_EACH_TIME:
            for row in sorted(map(repr, rows(cloud, f'SELECT * FROM "{name}"'))):
                print_.update(f"{name} {row}\n".encode())
    return print_.hexdigest()
