"""Expired rows are deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crofter import events
from crofter.clock import DAY, HOUR
from crofter.db import query
from crofter.db.sql import func, select
from crofter.drivers.hypervisor.ledger import tables
from crofter.edge import idempotency
from crofter.engine import queue
from crofter.resources.logins import store as logins
from tests.cloud import Cloud
from tests.sweep import Machine, fault

_ORDERS = query(select(func.count()).select_from(tables.work))
_CHANGES = query(select(func.count()).select_from(tables.change))
_ENTRIES = query(select(func.count()).select_from(tables.thing))


@pytest.mark.both
def test_hypervisors_forget_orders_of_operations_that_are_forgotten(cloud: Cloud) -> None:
    machine = Machine(cloud)
    fault(machine, "power_off")  # a change, which the watchdog answers with orders
    cloud.settle()
    machine.rest("shutdown")

    def remembered() -> list[int]:
        with cloud.runtime.database.read() as db:
            return [db.value(counted) for counted in (_ENTRIES, _ORDERS, _CHANGES)]

    things, *before = remembered()
    assert min(before) > 0
    # otherwise a backup would be queued every day
    assert machine.owner.post(f"{machine.path}/backups/cancel").status_code == 200
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 93 * 86400})
    left, *after = remembered()
    assert after == [0, 0]
    assert 0 < left <= things
    assert machine.owner.get(machine.path).json()["status"] == "offline"
    machine.rest("boot")


def test_the_page_for_operators_says_how_long_things_are_kept() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "operating.md").read_text()
    kept = dict(re.findall(r"^\| ([^|]+) \| (\d+ \w+)", page.partition("## Logs, and what is kept")[2], re.MULTILINE))
    assert events.WINDOW == logins.WINDOW == queue.KEPT == 90 * DAY
    assert idempotency.KEPT == 24 * HOUR
    assert kept["events, logins"] == kept["operations that have ended"] == "90 days"
    assert kept["answers to an `Idempotency-Key`"] == "24 hours"
