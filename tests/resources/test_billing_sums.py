"""Sums of the database equal the sums of single meters to the cent, without fetching a meter."""

from __future__ import annotations

from collections import Counter
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from crofter.clock import DAY, HOUR
from crofter.context import Actor, Context
from crofter.db import Query, Session
from crofter.db.sqlite import SqliteDatabase
from crofter.money import dollars, whole_cents
from crofter.resources.billing import cost_forecast, meters, sums, usage
from crofter.resources.billing.meters import Meter, meter
from crofter.resources.billing.shapes import AccountCost, ServiceCost, TagCost
from crofter.resources.billing.usage_sql import OF_INSTANCES
from crofter.resources.tags.store import tag, tagged
from tests.cloud import Cloud
from tests.resources.money import moment, stand_at

NOW = moment("2026-03-17T12:34:56")
FIRST = moment("2026-03-01T00:00:00")
ACCOUNT, OTHER = 1, 2
LABELS = ("blue", "green")

# ---- any history ----------------------------------------------------------------------------------------------------

PRICES = ((7_500, 5_000_000), (15_000, 10_000_000), (1_499, 1_000_001), (333, 200_000), (0, 0))
times = some.one_of(
    some.integers(NOW - 100 * DAY, NOW),
    some.integers(NOW - 2 * HOUR, NOW),
    some.sampled_from((FIRST - 1, FIRST, FIRST + 1, FIRST - HOUR, NOW - HOUR, NOW - 1, NOW)),
)
stays = some.tuples(some.sampled_from(PRICES), some.integers(1, 60 * DAY), some.booleans())
things = some.tuples(
    some.sampled_from(("compute", "backup", "ip", "volume")),
    times,
    some.lists(stays, min_size=1, max_size=4),
    some.booleans(),
    some.sets(some.sampled_from(LABELS)),
)
histories = some.tuples(some.lists(things, max_size=8), some.one_of(some.none(), some.integers(NOW - 50 * DAY, NOW)))


def store_history(db: Session, history: Any) -> None:
    """Objects that come, change their plan or their owner and go; and an invoice of all up to some moment."""
    for payer in (ACCOUNT, OTHER):
        db.delete(meter, account_id=payer)
    db.delete(tag, account_id=ACCOUNT)
    made = {label: db.insert(tag, account_id=ACCOUNT, label=label) for label in LABELS}
    objects, billed = history
    for number, (what, began, stays_, ends, labels) in enumerate(objects, start=1000):
        chain: int | None = None
        for place, ((hourly, monthly), length, owned) in enumerate(stays_):
            ended = min(began + length, NOW) if ends or place < len(stays_) - 1 else None
            price = {"hourly": hourly, "monthly": monthly, "transfer": 0}
            row = {"what": what, "object_id": number, "label": "", "began": began, "ended": ended, **price}
            payer = ACCOUNT if owned else OTHER
            kept = db.insert(meter, account_id=payer, chain=chain, billed_until=began, **row)
            chain = chain or kept
            if ended is not None:
                began += max(0, -(-(ended - began) // HOUR)) * HOUR
        for label in labels:
            kind = "compute" if what in OF_INSTANCES else what
            db.insert(tagged, tag_id=made[label], kind=kind, object_id=number)
    if billed is not None:
        meters.mark_billed(db, ACCOUNT, billed)


def _one_by_one(db: Session, every: list[Meter]) -> AccountCost:
    """The same from each meter by itself, by the rules that make the lines of an invoice."""
    end = usage.month_end(NOW)
    so_far, by_the_end = (
        {charge.meter.id: whole_cents(charge.amount) for charge in usage.charges(every, until, FIRST)}
        for until in (NOW, end)
    )
    groups: dict[tuple[str, str | None], list[int]] = {}
    for metered in every:
        kind = "compute" if metered.what in OF_INSTANCES else metered.what
        of = f"kind = '{kind}' AND object_id = {metered.object_id}"
        labels = [
            label for (label,) in db.raw(f"SELECT label FROM tag JOIN tagged ON tag_id = id WHERE {of}").fetchall()
        ]
        for key in (("all", None), ("service", metered.what), *(("tag", label) for label in labels or [None])):
            group = groups.setdefault(key, [0, 0])
            group[0] += by_the_end.get(metered.id, 0)
            group[1] += so_far.get(metered.id, 0)
    running = [metered for metered in every if metered.ended is None]
    total = groups.get(("all", None), [0, 0])
    in_order = sorted(groups.items(), key=lambda pair: (pair[0][1] is None, pair[0][1] or ""))
    return AccountCost(
        forecast=dollars(total[0]),
        from_="2026-03-01T00:00:00",
        hourly=dollars(sum(metered.hourly for metered in running)),
        month_to_date=dollars(total[1]),
        monthly=dollars(sum(metered.monthly for metered in running)),
        services=[
            ServiceCost(dollars(group[0]), dollars(group[1]), str(name))
            for (by, name), group in in_order
            if by == "service"
        ],
        tags=[TagCost(dollars(group[0]), dollars(group[1]), name) for (by, name), group in in_order if by == "tag"],
        to="2026-03-17T12:34:56",
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories)
def _compare(cloud: Cloud, history: Any) -> None:
    with cloud.runtime.database.write() as db:
        store_history(db, history)
        actor = Actor(ACCOUNT, 1, "admin", False, 1, frozenset("*"))
        forecast = cost_forecast.of_account(Context(cloud.runtime, db, actor))
        assert forecast == _one_by_one(db, meters.since(db, ACCOUNT, FIRST))
        lines = usage.unbilled(db, ACCOUNT, NOW)
        assert sums.uninvoiced(db, ACCOUNT, NOW) == sum(whole_cents(line.amount) for line in lines)


@pytest.mark.both
def test_any_history_comes_to_the_sum_of_its_lines(cloud: Cloud) -> None:
    stand_at(cloud, "2026-03-17T12:34:56")
    cloud.account(username="other")
    _compare(cloud)


# ---- many meters ----------------------------------------------------------------------------------------------------


def add_meters(cloud: Cloud, many: int) -> None:
    with cloud.runtime.database.write() as db:
        for number in range(many):
            began = NOW - (number + 1) * 17 * HOUR // 16
            price = {"hourly": 7_500, "monthly": 5_000_000, "transfer": 0}
            row = {"what": "compute", "object_id": 5000 + number, "label": "", "began": began, "ended": None, **price}
            db.insert(meter, account_id=ACCOUNT, chain=None, billed_until=began, **row)


@pytest.mark.parametrize("path", ["/v4/account", "/v4/account/cost"])
def test_no_more_rows_are_fetched_for_moreadd_meters(cloud: Cloud, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_at(cloud, "2026-03-17T12:34:56")
    fetched: Counter[str] = Counter()
    right = Session.all

    def counted(self: Session, statement: Query[Any], **values: Any) -> list[Any]:
        rows = right(self, statement, **values)
        fetched["rows"] += len(rows) if f"FROM {meter.name}" in statement.compiled(self.dialect).sql else 0
        return rows

    monkeypatch.setattr(Session, "all", counted)
    counts = []
    for more in (3, 300):
        add_meters(cloud, more)
        fetched.clear()
        assert cloud.admin.get(path).status_code == 200
        counts.append(fetched["rows"])
    assert counts[0] == counts[1] <= 3


def test_the_price_of_a_plan_is_that_of_what_it_changes(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the price of a plan as a difference, without a sum of all running meters."""
    add_meters(cloud, 3)
    monkeypatch.setattr(meters, "rates", None)
    body = {"region": "us-east", "type": "g6-nanode-1", "backups_enabled": True}
    answer = cloud.admin.post("/v4/compute/instances", json=body, headers={"prefer": "plan"})
    assert answer.json()["plan"]["price"] == {"hourly": 0.0105, "monthly": 7}


def test_meters_that_are_over_and_billed_are_not_gone_through(sqlite_database: SqliteDatabase) -> None:
    connection = apsw.Connection(str(sqlite_database.path))
    for statement, index in (
        (meters._OLDEST, "ix_meter_unbilled (account_id=?)"),
        (meters._SINCE, "ix_meter_account_id (account_id=? AND ended>?)"),
        (sums._UNINVOICED, "ix_meter_account_id (account_id=? AND ended>?)"),
        (sums._BY_SERVICE, "ix_meter_account_id (account_id=? AND ended>?)"),
    ):
        sql = statement.compiled("sqlite").sql
        plan = [line for *_, line in connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?"))]
        assert f"SEARCH meter USING INDEX {index}" in plan
        assert "SEARCH meter USING INDEX ix_meter_account_id (account_id=?)" not in plan
    connection.close()


# tags by owner


@pytest.mark.parametrize("changed", [False, True], ids=["alone", "after a change of plan"])
def test_tags_of_its_new_owner_do_not_show_where_an_object_was_before(cloud: Cloud, changed: bool) -> None:
    stand_at(cloud, "2026-03-17T12:34:56")
    cloud.account(username="other")
    with cloud.runtime.database.write() as db:
        price = {"hourly": 10_000, "monthly": 5_000_000, "transfer": 0}
        row = {"what": "compute", "object_id": 77, "label": "", "account_id": ACCOUNT, **price}
        middle = NOW - 5 * HOUR
        first = db.insert(meter, chain=None, began=NOW - 10 * HOUR, ended=middle, billed_until=FIRST, **row)
        if changed:
            db.insert(meter, chain=first, began=middle, ended=NOW - HOUR, billed_until=FIRST, **row)
        secret = db.insert(tag, account_id=OTHER, label="secret")
        db.insert(tagged, tag_id=secret, kind="compute", object_id=77)
    cost = cloud.admin.get("/v4/account/cost").json()
    amount = 0.09 if changed else 0.05
    assert cost["tags"] == [{"forecast": amount, "month_to_date": amount, "tag": None}]
