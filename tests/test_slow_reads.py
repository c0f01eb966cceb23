"""Reads of SQLite are answered on the event loop, where everybody waits meanwhile: nothing may take long there."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import apsw
import pytest
from sqlalchemy import Table

from crofter.corridor import ENDPOINTS
from crofter.db import Session
from crofter.db.lite import SqliteDatabase
from crofter.resources.billing import meters
from crofter.resources.billing.meters import meter
from crofter.resources.billing.store import invoice_item
from crofter.resources.instances.store import instance
from crofter.resources.maintenance.store import maintenance
from crofter.resources.support.store import ticket
from crofter.resources.users.store import grant
from tests.cloud import Cloud
from tests.matrix import Matrix

PAGE = 500
"""Rows of the longest page. Who takes more on the event loop takes as many as the account has."""
MANY = 600
CALLERS = ("unrestricted", "restricted, read_only")
COSTLY = {
    "view_stats": "a machine's history is worked out, or asked of its host",
    "view_month_stats": "likewise",
    "view_transfer": "likewise",
    "view_month_transfer": "likewise",
}
"""Slow for another reason than the rows they take."""


def _copies(db: Session, of: Table, **changed: str) -> None:
    """Many rows like the latest one. ``changed``: columns that differ, in terms of the number n."""
    columns = [column.name for column in of.columns if column.name != "id"]
    values = ", ".join(changed.get(name, name) for name in columns)
    db.raw(
        f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MANY})"
        f" INSERT INTO {of.name} ({', '.join(columns)}) SELECT {values} FROM {of.name}, numbers"
        f" WHERE id = (SELECT max(id) FROM {of.name} WHERE {'account_id = 2' if 'account_id' in columns else True})"
    )


def _grow(matrix: Matrix) -> None:
    """Of all that an account may have without end, more than a page."""
    about = {"entity_type": "'compute'", "entity_id": "CAST(n AS TEXT)", "nature": "'important'"}
    user = "SELECT id FROM account_user WHERE username = 'user-read-only'"
    with matrix.cloud.world.database.write() as db:
        _copies(db, instance, label="'copy-' || n", migration_pending="1")
        _copies(db, meter, object_id="n")
        _copies(db, ticket, **about)
        values = dict.fromkeys(("unit_price", "quantity", "amount", "tax", "total"), 1)
        line = {"what": "compute", "label": "web", "type": "hourly", "from_": "2026-01-01T00:00:00"}
        db.insert(invoice_item, invoice_id=matrix.parts["invoice_id"], **line, **values, to_="2026-01-01T01:00:00")
        _copies(db, invoice_item)
        db.raw(f"INSERT OR IGNORE INTO {grant.name} SELECT ({user}), 'compute', id, 'read_only' FROM instance")
        columns = "account_id, instance_id, type, status, reason, when_"
        planned = "2, id, 'reboot', 'pending', 'new kernel', '2030-01-01T00:00:00'"
        db.raw(f"INSERT INTO {maintenance.name} ({columns}) SELECT {planned} FROM instance")


def _watch(patch: pytest.MonkeyPatch) -> Counter[int]:
    """How many rows each thread takes from the database, from now on."""
    taken: Counter[int] = Counter()
    opened = SqliteDatabase._session

    def row(_cursor: Any, found: Any) -> Any:
        taken[threading.get_ident()] += 1
        return found

    def session(database: SqliteDatabase, connection: Any) -> Session:
        connection.row_trace = row
        return opened(database, connection)

    patch.setattr(SqliteDatabase, "_session", session)
    return taken


@pytest.fixture
def matrix() -> Iterator[Matrix]:
    """On a cloud of its own, whose connections may be watched to their end."""
    cloud = Cloud()
    grown = Matrix(cloud)
    grown.parts["username"] = "user-read-only"
    _grow(grown)
    yield grown
    cloud.close()


def _rows(matrix: Matrix, patch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """What each read takes from the database: on the event loop, and anywhere."""
    with patch.context() as watching:
        taken = _watch(watching)
        found: dict[str, tuple[int, int]] = {}
        for endpoint in ENDPOINTS:
            for caller in CALLERS if endpoint.method == "GET" else ():
                taken.clear()
                answer = matrix.knock(caller, endpoint)
                assert answer.status_code < 500, (endpoint.name, answer.text)
                here, all_ = taken[matrix.cloud._thread.ident or 0], max(taken.values(), default=0)
                before = found.get(endpoint.name, (0, 0))
                found[endpoint.name] = (max(before[0], here), max(before[1], all_))
        return found


def test_no_read_takes_the_whole_account_on_the_event_loop(matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(matrix, monkeypatch)
    assert {name: here for name, (here, _) in rows.items() if here > PAGE} == {}
    # And no other is sent to a thread, which takes longer, without a reason.
    slow = {one.name for one in ENDPOINTS if one.slow}
    assert {name for name, (_, all_) in rows.items() if all_ > PAGE} | set(COSTLY) == slow

    cost = next(one for one in ENDPOINTS if one.name == "view_account_cost")
    monkeypatch.setattr(cost, "slow", False)
    assert _rows(matrix, monkeypatch)["view_account_cost"][0] > PAGE  # the measure sees it


def test_the_meters_of_one_object_are_not_looked_for_among_those_of_the_account(
    sqlite_database: SqliteDatabase,
) -> None:
    connection = apsw.Connection(str(sqlite_database.path))
    sql = meters._OF_OBJECT.compiled("sqlite").sql
    plan = [line for *_, line in connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1, "[]", 1, 1))]
    connection.close()
    assert "SEARCH meter USING INDEX ix_meter_object (what=? AND object_id=?)" in plan
