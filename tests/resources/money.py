"""Shared steps for tests of billing: passing months, and checks of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from httpx2 import Client, Response

from crofter.clock import Setting
from crofter.engine import timekeeping
from crofter.engine.schedules import following
from crofter.engine.tables import schedule
from tests.cloud import Cloud

CARD = {"card_number": "4111111111111111", "cvv": "123", "expiry_month": 12, "expiry_year": 2099}


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def stand_at(cloud: Cloud, text: str) -> None:
    """Make the clock stand at a moment, before anything has happened; as if the server had been started then."""
    timekeeping.put(cloud.runtime, Setting("frozen", 0, moment(text)))
    with cloud.runtime.database.write() as db:
        for name, rule in db.raw("SELECT name, rule FROM schedule").fetchall():
            db.update(schedule, {"name": name}, next_due=following(rule, moment(text)))


def until(cloud: Cloud, text: str) -> None:
    """Let time pass up to a moment, without a client that loses patience."""
    cloud.application.time_travel.advance((moment(text) - cloud.runtime.clock.now()) / 1000)


def instance(client: Client, type: str = "g6-nanode-1", **more: Any) -> int:
    answer = client.post("/v4/compute/instances", json={"region": "us-east", "type": type, **more})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def done(answer: Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def invoices(client: Client) -> list[dict[str, Any]]:
    """Oldest first."""
    return list(reversed(client.get("/v4/account/invoices").json()["data"]))


def items(client: Client, invoice_id: int) -> list[dict[str, Any]]:
    return list(client.get(f"/v4/account/invoices/{invoice_id}/items").json()["data"])


def rows(cloud: Cloud, sql: str) -> list[Sequence[Any]]:
    with cloud.runtime.database.read() as db:
        return list(db.raw(sql).fetchall())


def payers(cloud: Cloud, number: int) -> list[str]:
    """Return the accounts that pay for an instance from now on."""
    sql = "SELECT u.username FROM meter m JOIN account_user u ON u.account_id = m.account_id"
    return [str(name) for (name,) in rows(cloud, f"{sql} WHERE m.object_id = {number} AND m.ended IS NULL")]


def _by_account(cloud: Cloud, sql: str) -> dict[int, int]:
    return {int(account): int(amount) for account, amount in rows(cloud, sql)}


def books_are_in_order(cloud: Cloud) -> None:
    """Check the invariants of the ledger."""
    assert rows(cloud, "SELECT entry FROM ledger GROUP BY entry HAVING sum(amount) <> 0") == []
    assert rows(cloud, "SELECT id FROM invoice WHERE subtotal + tax <> total") == []
    assert (
        rows(
            cloud,
            "SELECT i.id FROM invoice i JOIN invoice_item n ON n.invoice_id = i.id GROUP BY i.id, i.subtotal, i.tax"
            " HAVING sum(n.amount) <> i.subtotal OR sum(n.tax) <> i.tax",
        )
        == []
    )
    for book in ("invoice", "payment"):
        amount = "total" if book == "invoice" else "-amount"
        assert (
            rows(
                cloud,
                f"SELECT b.id FROM {book} b LEFT JOIN ledger l ON l.entry = '{book}:' || b.id AND l.book = 'owed'"
                f" WHERE coalesce(l.amount, 0) <> b.{amount.removeprefix('-')} * {-1 if book == 'payment' else 1}",
            )
            == []
        )
    owed = _by_account(cloud, "SELECT account_id, sum(amount) FROM ledger WHERE book = 'owed' GROUP BY account_id")
    billed = _by_account(cloud, "SELECT account_id, sum(total) FROM invoice GROUP BY account_id")
    paid = _by_account(cloud, "SELECT account_id, sum(amount) FROM payment GROUP BY account_id")
    for account in {*owed, *billed, *paid}:
        assert owed.get(account, 0) == billed.get(account, 0) - paid.get(account, 0), account
    assert rows(cloud, "SELECT 1 FROM ledger WHERE amount / 10000 * 10000 <> amount") == []
    ours = rows(cloud, "SELECT reference, amount / 10000 FROM payment ORDER BY reference")
    theirs = rows(cloud, "SELECT key, cents FROM simulated_charge WHERE paid = TRUE ORDER BY key")
    assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))
    assert rows(cloud, "SELECT 1 FROM credit WHERE remaining < 0 OR month_used > monthly_cap OR month_used < 0") == []
