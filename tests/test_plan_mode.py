"""``Prefer: plan``: what a write would do, without doing it."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.db import Session
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.observed import errors
from tests.planner import NEEDS_MORE, PLAN, Planner
from tests.resources.money import CARD, done, instance, rows, stand_at

MARK = "clock_mark"
"""Stored machine time, which the process updates every few seconds."""
ROOT = "correct-horse-battery"


def contents(cloud: Cloud) -> dict[str, list[Any]]:
    """Return all rows and SQLite's counters, without heartbeats of the process.

    PostgreSQL's sequences are not transactional: a plan leaves a gap, as any refused write does.
    """
    with cloud.runtime.database.read() as db:
        if db.dialect == "sqlite":
            names = db.raw("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        else:
            names = db.raw("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        tables = sorted(name for (name,) in names if name != "worker")
        return {name: _rows(db, name) for name in tables}


def _rows(db: Session, table: str) -> list[str]:
    rows = db.raw(f'SELECT * FROM "{table}"').fetchall()
    return sorted(repr(row) for row in rows if (table, row[0]) != ("meta", MARK))


def plan(answer: Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "plan"
    assert set(answer.json()) == {"plan"}
    planned = dict(answer.json()["plan"])
    assert set(planned) == {"events", "objects", "price", "valid"}
    assert planned["valid"] is True
    return planned


@pytest.mark.both
def test_creating_an_instance_is_planned_and_nothing_is_done(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    before = contents(cloud)
    body = {"region": "us-east", "type": "g6-standard-1", "label": "web-1", "backups_enabled": True, "tags": ["new"]}
    planned = plan(alice.post("/v4/compute/instances", json=body, headers=PLAN))
    assert planned["events"] == ["tag_create", "compute_create"]
    assert [(item["type"], item["label"]) for item in planned["objects"]] == [("tag", "new"), ("compute", "web-1")]
    assert planned["price"] == {"hourly": 0.019, "monthly": 12.5}
    assert contents(cloud) == before
    assert alice.get("/v4/compute/instances").json()["results"] == 0
    made = done(alice.post("/v4/compute/instances", json=body))
    assert (made["label"], alice.get("/v4/account/events").json()["results"]) == ("web-1", 2)


def test_a_plan_is_refused_like_the_request_itself(alice: Client, mallory: Client) -> None:
    body = {"region": "nowhere", "type": "none"}
    planned = alice.post("/v4/compute/instances", json=body, headers=PLAN)
    real = alice.post("/v4/compute/instances", json=body)
    assert (planned.status_code, planned.content) == (real.status_code, real.content) == (400, real.content)
    number = instance(alice)
    url = f"/v4/compute/instances/{number}"
    assert mallory.delete(url, headers=PLAN).status_code == 404
    assert errors(alice.post(f"{url}/resize", json={"type": "g6-nanode-1"}, headers=PLAN))[0][1].startswith("Compute")


def test_what_happens_later_is_in_the_price_too(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice, image="compute/debian12", root_pass=ROOT, backups_enabled=True)
    cloud.settle()
    url = f"/v4/compute/instances/{number}"
    resize = plan(alice.post(f"{url}/resize", json={"type": "g6-standard-1"}, headers=PLAN))
    assert resize["events"] == ["compute_resize_create", "compute_resize"]
    assert resize["price"] == {"hourly": 0.0085, "monthly": 5.5}
    assert plan(alice.delete(url, headers=PLAN))["price"] == {"hourly": -0.0105, "monthly": -7}
    assert plan(alice.post(f"{url}/backups/cancel", headers=PLAN))["price"] == {"hourly": -0.003, "monthly": -2}
    assert plan(alice.post(f"{url}/reboot", headers=PLAN))["price"] == {"hourly": 0, "monthly": 0}
    managed = plan(alice.post("/v4/account/settings/managed-enable", headers=PLAN))
    assert managed["price"] == {"hourly": 0.15, "monthly": 100}
    assert done(alice.get(url))["status"] == "running"


def test_a_transfer_tells_the_receiver_what_it_will_cost(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    token = done(alice.post("/v4/account/service-transfers", json={"entities": {"computes": [number]}}))["token"]
    bob = cloud.person(username="bob-receives")
    planned = plan(bob.post(f"/v4/account/service-transfers/{token}/accept", headers=PLAN))
    assert planned["price"] == {"hourly": 0.0075, "monthly": 5}
    assert done(bob.get(f"/v4/account/service-transfers/{token}"))["status"] == "pending"


def test_no_money_moves_in_a_plan(cloud: Cloud, alice: Client) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    instance(alice)
    cloud.advance(3600)
    before = contents(cloud)
    assert plan(alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=PLAN))["events"] == [
        "payment_submitted"
    ]
    assert plan(alice.post("/v4/account/credit-card", json=CARD, headers=PLAN))["events"] == ["credit_card_updated"]
    assert plan(alice.post("/v4/account/cancel", headers=PLAN))["price"] == {"hourly": -0.0075, "monthly": -5}
    assert contents(cloud) == before
    assert rows(cloud, "SELECT 1 FROM simulated_charge") == []


def test_a_key_that_cannot_be_one_is_refused_in_a_plan_too(alice: Client) -> None:
    refused = alice.post("/v4/tags", json={"label": "web"}, headers={**PLAN, "Idempotency-Key": "k" * 256})
    assert errors(refused) == [("Idempotency-Key", "Must be 1-255 printable ASCII characters")]


def test_a_plan_does_not_use_up_an_idempotency_key(alice: Client) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"label": "web"}
    plan(alice.post("/v4/tags", json=body, headers={**PLAN, **headers}))
    assert alice.post("/v4/tags", json=body, headers=headers).json() == {"label": "web"}
    replayed = alice.post("/v4/tags", json=body, headers=headers)
    assert replayed.headers["idempotent-replayed"] == "true"


def test_the_preference_may_stand_among_others_and_reads_do_not_heed_it(alice: Client) -> None:
    for value in ("plan", "PLAN", "respond-async, plan", "plan; x=1, wait=5"):
        plan(alice.post("/v4/tags", json={"label": "web"}, headers={"Prefer": value}))
    done(alice.post("/v4/tags", json={"label": "web"}, headers={"Prefer": "planning"}))
    read = alice.get("/v4/tags", headers=PLAN)
    assert read.json()["results"] == 1
    assert "preference-applied" not in read.headers


# ---- every write of the server ---------------------------------------------------------------------------------------


def test_no_write_of_the_service_leaves_a_trace_when_it_is_only_planned(cloud: Cloud) -> None:
    planner = Planner(cloud)
    cloud.freeze()
    before = contents(cloud)
    writes = [endpoint for endpoint in ENDPOINTS if endpoint.writes and not endpoint.public]
    answers = {endpoint.name: planner.plan(endpoint) for endpoint in writes}
    refused = {name: answer.text for name, answer in answers.items() if answer.status_code != 200}
    assert set(refused) == NEEDS_MORE, refused
    assert all(plan(answer)["valid"] for name, answer in answers.items() if name not in NEEDS_MORE)
    assert len(writes) > 80
    assert contents(cloud) == before
