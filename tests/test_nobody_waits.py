"""SQLite runs reads on the event loop and has a single writer: no statement may take long there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import pytest

from crofter.context import Context
from crofter.db import Session, revisions
from crofter.db.sql import Table
from crofter.db.sqlite import SqliteDatabase
from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from crofter.resources.billing import meters
from crofter.resources.billing.meters import meter
from crofter.resources.billing.store import invoice_item
from crofter.resources.instances import states
from crofter.resources.instances.kind import COMPUTE
from crofter.resources.instances.store import instance
from crofter.resources.maintenance.store import maintenance
from crofter.resources.support.store import ticket
from crofter.resources.users.store import grant
from tests import steps
from tests.cloud import Cloud
from tests.matrix import Matrix
from tests.planner import Planner

MANY = 600
"""More than a page holds: who does more on the event loop when there are so many more does it for all of them."""
CALLERS = ("unrestricted", "restricted, read_only")
COSTLY = {
    "view_stats": "a machine's history is worked out, or asked of its host",
    "view_month_stats": "likewise",
    "view_transfer": "likewise",
    "view_month_transfer": "likewise",
    "view_zone_file": "all records of a zone are written out",
}
"""Slow for another reason than what an account has."""
COUNTED = {
    "list_instances": "those of a restricted user are counted by grants, and all others wait for no thread",
    "list_ips": "likewise",
    "list_ipv6_ranges": "likewise",
    "list_tags": "likewise",
    "list_vlans": "likewise",
    "list_tagged_objects": "likewise",
}
"""Endpoints that are fast although their cost varies."""


def _copies(db: Session, of: Table, **changed: str) -> None:
    """Many rows like the latest one. ``changed``: columns that differ, in terms of the number n."""
    columns = [name for name in of.c.keys() if name != "id"]  # noqa: SIM118 - columns are no dictionary
    values = ", ".join(changed.get(name, name) for name in columns)
    db.raw(
        f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MANY})"
        f" INSERT INTO {of.name} ({', '.join(columns)}) SELECT {values} FROM {of.name}, numbers"
        f" WHERE id = (SELECT max(id) FROM {of.name} WHERE {'account_id = 2' if 'account_id' in columns else True})"
    )


def _grow(matrix: Matrix) -> None:
    """Insert more than a page of everything unlimited."""
    about = {"entity_type": "'compute'", "entity_id": "CAST(n AS TEXT)", "nature": "'important'"}
    user = "SELECT id FROM account_user WHERE username = 'user-read-only'"
    with matrix.cloud.runtime.database.write() as db:
        known = "(SELECT count(*) FROM instance)"
        _copies(db, instance, label=f"'copy-' || n || '-' || {known}", migration_pending="1")
        _copies(db, meter, object_id="n")
        revisions.change(db, 2)  # as every meter insertion does
        _copies(db, ticket, **about)
        values = dict.fromkeys(("unit_price", "quantity", "amount", "tax", "total"), 1)
        line = {"what": "compute", "label": "web", "type": "hourly", "from_": "2026-01-01T00:00:00"}
        db.insert(invoice_item, invoice_id=matrix.parts["invoice_id"], **line, **values, to_="2026-01-01T01:00:00")
        _copies(db, invoice_item)
        db.raw(f"INSERT OR IGNORE INTO {grant.name} SELECT ({user}), 'compute', id, 'read_only' FROM instance")
        columns = "account_id, instance_id, type, status, reason, when_"
        planned = "2, id, 'reboot', 'pending', 'new kernel', '2030-01-01T00:00:00'"
        db.raw(f"INSERT INTO {maintenance.name} ({columns}) SELECT {planned} FROM instance")


@pytest.fixture
def matrix() -> Iterator[Matrix]:
    """On a cloud of its own, whose connections may be watched to their end."""
    cloud = Cloud()
    steps.still(cloud)
    grown = Matrix(cloud)
    grown.parts["username"] = "user-read-only"
    _grow(grown)
    yield grown
    cloud.close()


def _steps(
    matrix: Matrix, patch: pytest.MonkeyPatch, endpoints: Iterable[Endpoint] = ENDPOINTS
) -> dict[str, tuple[int, int]]:
    """Return the database steps of each read: on the event loop, and in total."""
    with patch.context() as watching:
        taken = steps.watch(watching, matrix.cloud)
        counts: dict[str, tuple[int, int]] = {}
        for endpoint in endpoints:
            for caller in CALLERS if endpoint.method == "GET" else ():
                taken.clear()
                answer = matrix.ask(caller, endpoint)
                assert answer.status_code < 500, (endpoint.name, answer.text)
                here, all_ = taken[matrix.cloud._thread.ident or 0], max(taken.values(), default=0)
                before = counts.get(endpoint.name, (0, 0))
                counts[endpoint.name] = (max(before[0], here), max(before[1], all_))
        return counts


def test_no_read_goes_through_the_whole_account_on_the_event_loop(
    matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _steps(matrix, monkeypatch)
    _grow(matrix)
    after = _steps(matrix, monkeypatch)
    more = {name: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in before}
    assert {name for name, (here, _) in more.items() if here >= MANY} == set(COUNTED)
    # And no other is sent to a thread, which takes longer, without a reason.
    slow = {endpoint.name for endpoint in ENDPOINTS if endpoint.slow}
    assert {name for name, (_, all_) in more.items() if all_ >= MANY} - set(COUNTED) | set(COSTLY) == slow

    cost = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "view_account_cost")
    monkeypatch.setattr(cost, "slow", False)
    with matrix.cloud.runtime.database.write() as db:
        revisions.change(db, 2)  # else it is known from the last time
    assert _steps(matrix, monkeypatch, [cost])["view_account_cost"][0] >= 2 * MANY  # the measure sees it


def _written(patch: pytest.MonkeyPatch, *, grown: bool) -> dict[str, tuple[int, int]]:
    """The status of each write, and what the database does for it."""
    cloud = Cloud()
    try:
        steps.still(cloud)
        planner = Planner(cloud)
        if grown:
            _grow(planner)
        statements: dict[str, tuple[int, int]] = {}
        with patch.context() as watching:
            taken = steps.watch(watching, cloud)
            for endpoint in ENDPOINTS:
                if endpoint.writes and not endpoint.public:
                    taken.clear()
                    answer = planner.plan(endpoint)
                    statements[endpoint.name] = (answer.status_code, taken.total())
        return statements
    finally:
        cloud.close()


def _grew(patch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """Writes that do more in a large account."""
    before, after = (_written(patch, grown=grown) for grown in (False, True))
    assert {name: before[name][0] for name in before} == {name: after[name][0] for name in after}
    counts = {name: (before[name][1], after[name][1]) for name in before}
    return {name: (few, many) for name, (few, many) in counts.items() if many - few >= MANY}


def test_no_write_goes_through_the_whole_account(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(_grew(monkeypatch)) == {"cancel_account"}  # its plan says what all that runs comes to


def test_a_write_that_does_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = states.must_be_idle

    def careful(ctx: Context, row: Any, *accepts: Any, **options: Any) -> None:
        assert len(COMPUTE.labelled(ctx)) > 1
        idle(ctx, row, *accepts, **options)

    monkeypatch.setattr(states, "must_be_idle", careful)
    assert "boot_instance" in _grew(monkeypatch)


def test_the_meters_of_one_object_are_not_looked_for_among_those_of_the_account(
    sqlite_database: SqliteDatabase,
) -> None:
    connection = apsw.Connection(str(sqlite_database.path))
    sql = meters._OF_OBJECTS.compiled("sqlite").sql
    plan = [line for *_, line in connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1, "[]", "[]", 1))]
    connection.close()
    assert "SEARCH meter USING INDEX ix_meter_object (what=? AND object_id=?)" in plan
