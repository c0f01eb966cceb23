"""Sums of an hour equal fresh sums at each of its moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from crofter.clock import HOUR
from crofter.context import Actor, Context
from crofter.db import Session
from crofter.resources.billing import cost_forecast, hour_lines, hour_sums, meters, sums
from crofter.resources.billing.hour_sums import hour_of
from crofter.resources.billing.meters import Metered, Price, meter
from tests.cloud import Cloud
from tests.resources.compute import create
from tests.resources.money import moment, stand_at
from tests.resources.test_billing_sums import ACCOUNT, FIRST, NOW, add_meters, histories, store_history

ALICE = Actor(ACCOUNT, 1, "admin", False, 1, frozenset("*"))
END = moment("2026-04-01T00:00:00")

# ---- any history ----------------------------------------------------------------------------------------------------

hours = some.one_of(
    some.integers(0, 200).map(lambda later: hour_of(NOW) + later * HOUR),
    some.sampled_from((hour_of(NOW), hour_of(NOW) - HOUR, FIRST, FIRST - HOUR, END - HOUR, END)),
)
moments_of_an_hour = some.lists(
    some.one_of(some.sampled_from((0, 1, HOUR - 1)), some.integers(0, HOUR - 1)), max_size=8
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories, hour=hours, moments=moments_of_an_hour)
def _compare(cloud: Cloud, history: Any, hour: int, moments: list[int]) -> None:
    with cloud.runtime.database.write() as db:
        store_history(db, history)
        ctx = Context(cloud.runtime, db, ALICE)
        unbilled, month = hour_lines._uninvoiced(ctx, hour), hour_lines._month(ctx, hour)
        phases = {meter.began % HOUR for meter in meters.since(db, ACCOUNT, 0)}
        growing = {min(HOUR - 1, phase + more) for phase in phases for more in (0, 1)}
        for later in {*moments, *growing}:
            ctx.now = hour + later
            assert unbilled.at(ctx.now) == sums.uninvoiced(db, ACCOUNT, ctx.now)
            assert _shown(cost_forecast._at(ctx, month)) == _shown(cost_forecast._added_up(ctx))


def _shown(month: Any) -> Any:
    """Return the cost of a month in a comparable form."""
    groups = (
        {name: (cost.so_far, cost.by_the_end) for name, cost in by.items()} for by in (month.services, month.tags)
    )
    return [*groups, month.hourly, month.monthly]


def test_at_each_moment_of_an_hour_it_is_the_sum_of_the_lines(cloud: Cloud) -> None:
    stand_at(cloud, "2026-03-17T12:34:56")
    cloud.account(username="other")
    _compare(cloud)


# changes


def _costs(cloud: Cloud) -> tuple[Any, Any]:
    """Return the cost after three requests: the third uses the stored sums."""
    for _ in range(2):
        cloud.admin.get("/v4/account/cost"), cloud.admin.get("/v4/account")
    return cloud.admin.get("/v4/account").json()["balance_uninvoiced"], cloud.admin.get("/v4/account/cost").json()


def _anew(cloud: Cloud) -> tuple[Any, Any]:
    for kept in (hour_lines._UNINVOICED_SUMS, hour_lines._MONTHS):
        kept._kept.clear()
    account, cost = cloud.admin.get("/v4/account").json(), cloud.admin.get("/v4/account/cost").json()
    return account["balance_uninvoiced"], cost


def _in_write(change: Callable[[Context], object]) -> Callable[[Cloud, int], None]:
    def run(cloud: Cloud, _instance: int) -> None:
        with cloud.runtime.database.write() as db:
            change(Context(cloud.runtime, db, ALICE))

    return run


def _put(path: str, **body: Any) -> Callable[[Cloud, int], None]:
    return lambda cloud, instance: _ok(cloud.admin.put(path.format(instance), json=body))


def _post(path: str, **body: Any) -> Callable[[Cloud, int], None]:
    return lambda cloud, instance: _ok(cloud.admin.post(path.format(instance), json=body))


def _ok(answer: Any) -> None:
    assert answer.status_code == 200, answer.text


CHANGES: dict[str, Callable[[Cloud, int], Any]] = {
    "another instance": lambda cloud, _instance: create(cloud.admin, label="another"),
    "backups": _post("/v4/compute/instances/{}/backups/enable"),
    "a tag more": _put("/v4/compute/instances/{}", tags=["red", "blue"]),
    "no tag": _put("/v4/compute/instances/{}", tags=[]),
    "a tag that goes": lambda cloud, _instance: _ok(cloud.admin.delete("/v4/tags/red")),
    "a tag that comes with what carries it": lambda cloud, instance: _ok(
        cloud.admin.post("/v4/tags", json={"label": "green", "computes": [instance]})
    ),
    "another price": _in_write(
        lambda ctx: meters.change(ctx, ACCOUNT, Metered("compute", 5000, "", Price(50_000, 9_000_000)))
    ),
    "an end": _in_write(lambda ctx: meters.stop(ctx, "compute", 5001)),
    "an end undone": _in_write(lambda ctx: _resume(ctx)),
    "another owner": _in_write(lambda ctx: meters.move(ctx, "compute", 5002, 2)),
    "all of a kind at an end": _in_write(lambda ctx: meters.stop_kind(ctx.db, ACCOUNT, "compute", ctx.now)),
    "all at an end": _in_write(lambda ctx: meters.stop_all(ctx.db, ACCOUNT, ctx.now)),
    "an invoice": _in_write(lambda ctx: meters.mark_billed(ctx.db, ACCOUNT, ctx.now)),
}


def _resume(ctx: Context) -> None:
    meters.resume(ctx, "compute", 6000, ["compute"])


@pytest.mark.both
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_shows_at_once(cloud: Cloud, change: Callable[[Cloud, int], Any]) -> None:
    stand_at(cloud, "2026-03-17T12:34:56")
    cloud.account(username="other")
    instance = create(cloud.admin, label="web", tags=["red"])["id"]
    add_meters(cloud, 5)
    _ended(cloud)
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 7 * 60})
    before = _costs(cloud)
    assert before == _anew(cloud)
    assert _costs(cloud) == before
    change(cloud, instance)
    first = (cloud.admin.get("/v4/account").json()["balance_uninvoiced"], cloud.admin.get("/v4/account/cost").json())
    assert first == _costs(cloud) == _anew(cloud)
    assert first != before


def _ended(cloud: Cloud) -> None:
    """Something that ended some hours ago, with a price of its own."""
    with cloud.runtime.database.write() as db:
        price = {"hourly": 33_000, "monthly": 20_000_000, "transfer": 0}
        row = {"what": "compute", "object_id": 6000, "label": "", "account_id": ACCOUNT, "chain": None, **price}
        db.insert(meter, began=NOW - 9 * HOUR, ended=NOW - 5 * HOUR, billed_until=NOW - 9 * HOUR, **row)


# ---- how many are looked at -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v4/account", "/v4/account/cost"])
def test_no_meter_is_looked_at_twice_in_an_hour(cloud: Cloud, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time they are added up, the second time for the whole hour, and then no more while nothing changes."""
    stand_at(cloud, "2026-03-17T12:00:00")
    add_meters(cloud, 300)
    run, statements = Session._run, list[str]()

    def noted(self: Session, compiled: Any, values: dict[str, Any]) -> Any:
        statements.append(compiled.sql)
        return run(self, compiled, values)

    def meters_read() -> bool:
        statements.clear()
        assert cloud.admin.get(path).status_code == 200
        return any("FROM meter" in sql for sql in statements)

    monkeypatch.setattr(Session, "_run", noted)
    assert [meters_read() for _ in range(5)] == [True, True, False, False, False]
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 1800})
    assert not meters_read()
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 1800})
    assert [meters_read() for _ in range(3)] == [True, True, False]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hour_sums, "MOST_STEPS", 10)
    kept = hour_sums.HourSums(lambda _ctx, _hour: None, lambda _sums: 0)
    for account_id in range(8):
        kept._keep(account_id, hour_sums.Kept(1, 0, steps=4))
    assert list(kept._kept) == [6, 7]
    kept._keep(8, hour_sums.Kept(1, 0, steps=40))
    assert list(kept._kept) == [8]


def test_a_transaction_that_may_write_reads_nothing_that_is_kept(cloud: Cloud) -> None:
    """Bypass the stored sums in a writing transaction, which may have changes of its own that could be rolled back."""
    add_meters(cloud, 3)
    _costs(cloud)
    with cloud.runtime.database.write() as db:
        assert hour_lines.month(Context(cloud.runtime, db, ALICE)) is None
    with cloud.runtime.database.read() as db:
        assert hour_lines.month(Context(cloud.runtime, db, ALICE)) is not None
