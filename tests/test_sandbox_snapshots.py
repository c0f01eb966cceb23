"""Snapshots: the whole sandbox put back to what it was, by name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from httpx2 import Client, Response

from crofter.db import snapshots
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.observed import errors
from tests.served import serving

SNAPSHOTS = "/_sandbox/snapshots"
SEEN = (
    "/v4/tags",
    "/v4/account",
    "/v4/account/settings",
    "/v4/account/events",
    "/v4/account/users",
    "/v4/account/logins",
    "/v4/account/invoices",
    "/v4/account/payments",
    "/v4/account/notifications",
    "/v4/compute/instances",
    "/v4/profile",
    "/v4/profile/tokens",
    "/v4/support/tickets",
)
NEW = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": "Vq7!mmpx-Tolp"}


def take(cloud: Cloud, name: str = "before") -> dict[str, Any]:
    answer = cloud.sandbox.post(SNAPSHOTS, json={"name": name})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def restore(cloud: Cloud, name: str = "before") -> dict[str, Any]:
    answer = cloud.sandbox.post(f"{SNAPSHOTS}/{name}/restore")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def everything(cloud: Cloud, client: Client) -> dict[str, str]:
    """Return all responses byte for byte."""
    seen = {path: client.get(path).text for path in SEEN}
    for path in ("/_sandbox/transitions", "/_sandbox/faults", "/_sandbox/outbox", "/_sandbox/clock", "/_sandbox"):
        seen[path] = cloud.sandbox.get(path).text
    return seen


def live(cloud: Cloud, client: Client, label: str = "later") -> list[Response]:
    """Something of everything that can change."""
    done = [
        client.post("/v4/tags", json={"label": label}),
        client.post("/v4/compute/instances", json=NEW),
        client.post("/v4/profile/tokens", json={"label": "later"}),
        client.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."}),
        client.put("/v4/account", json={"company": "Croft"}),
        cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 1}}),
        cloud.sandbox.post(
            "/_sandbox/faults", json={"kind": "http", "status": 502, "path": "/v4/longview/plan", "times": 3}
        ),
        cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 40 * 86400}),
    ]
    assert [answer.status_code for answer in done] == [200] * len(done), [answer.text for answer in done]
    return done


@pytest.fixture(autouse=True)
def swept(cloud: Cloud) -> None:
    """Snapshots outlive the reset between two tests."""
    for kept in cloud.sandbox.get(SNAPSHOTS).json()["snapshots"]:
        assert cloud.sandbox.delete(f"{SNAPSHOTS}/{kept['name']}").status_code == 200


@pytest.fixture
def frozen(cloud: Cloud) -> Cloud:
    assert cloud.sandbox.post("/_sandbox/clock/freeze").status_code == 200
    return cloud


@pytest.mark.both
def test_after_a_restore_everything_is_the_same_byte_for_byte(frozen: Cloud, alice: Client) -> None:
    live(frozen, alice, "before")
    before = everything(frozen, alice)
    kept = take(frozen)
    live(frozen, alice)
    assert everything(frozen, alice) != before
    assert restore(frozen) == frozen.sandbox.get("/_sandbox/clock").json()
    assert everything(frozen, alice) == before
    assert frozen.sandbox.get(SNAPSHOTS).json() == {"snapshots": [kept]}


@pytest.fixture
def postgres_cloud(postgres_server: PostgresServer) -> Iterator[Cloud]:
    cloud = Cloud(postgres_server.address(postgres_server.create()))
    yield cloud
    cloud.close()


def test_postgresql_writes_only_what_has_changed(postgres_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand rows take seconds to go and come back. Names that were exchanged are put back all the same."""
    postgres_cloud.freeze()
    alice = postgres_cloud.person(username="alice")
    ids = [alice.post("/v4/compute/instances", json={**NEW, "label": label}).json()["id"] for label in ("one", "two")]
    alice.post("/v4/tags", json={"label": "same"})
    before = everything(postgres_cloud, alice)
    take(postgres_cloud)

    def rows(sql: str) -> Any:
        address = postgres_cloud.runtime.settings.database
        assert address is not None
        with psycopg.connect(address) as connection:
            return connection.execute(sql.encode()).fetchall()

    versions = rows("SELECT xmin, label FROM tag")
    alice.post("/v4/tags", json={"label": "later"})
    alice.put(f"/v4/compute/instances/{ids[0]}", json={"label": "three"})
    restore(postgres_cloud)
    assert everything(postgres_cloud, alice) == before
    assert rows("SELECT xmin, label FROM tag") == versions
    for instance, label in ((0, "three"), (1, "one"), (0, "two")):
        answer = alice.put(f"/v4/compute/instances/{ids[instance]}", json={"label": label})
        assert answer.status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(snapshots, "ATTEMPTS", 1)  # too few: the failure must be reported
        assert postgres_cloud.sandbox.post(f"{SNAPSHOTS}/before/restore").status_code == 503
    restore(postgres_cloud)
    assert everything(postgres_cloud, alice) == before
    assert rows("SELECT xmin, label FROM tag") != versions
    assert rows("SELECT conname FROM pg_constraint WHERE condeferrable") == []


def test_what_is_done_again_after_a_restore_gets_the_same_numbers(frozen: Cloud, alice: Client) -> None:
    take(frozen)
    first = [answer.json().get("id") for answer in live(frozen, alice)]
    for _ in range(2):
        restore(frozen)
        assert [answer.json().get("id") for answer in live(frozen, alice)] == first


@pytest.mark.both
def test_work_that_was_under_way_goes_on_from_where_it_was(frozen: Cloud, alice: Client) -> None:
    made = alice.post("/v4/compute/instances", json=NEW).json()
    take(frozen)
    for _ in range(2):
        frozen.settle()
        assert alice.get(f"/v4/compute/instances/{made['id']}").json()["status"] == "running"
        restore(frozen)
        assert alice.get(f"/v4/compute/instances/{made['id']}").json()["status"] == "provisioning"


def test_a_token_that_was_revoked_since_is_good_again(frozen: Cloud, alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={"label": "mine"}).json()
    take(frozen)
    assert alice.delete(f"/v4/profile/tokens/{made['id']}").status_code == 200
    later = frozen.sandbox.post("/_sandbox/accounts", json={"username": "later"}).json()["token"]
    restore(frozen)
    assert frozen.client(made["token"]).get("/v4/profile").status_code == 200
    assert frozen.client(later).get("/v4/profile").status_code == 401


def test_a_clock_that_ran_runs_on_from_then(cloud: Cloud) -> None:
    then = take(cloud)["created"]
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 90 * 86400})
    cloud.sandbox.post("/_sandbox/clock/freeze")
    back = restore(cloud)
    assert back["mode"] == "real"
    assert then <= back["now"] < then[:8] + "99"  # the same month: not ninety days later


def test_the_audit_log_is_whole_after_a_restore(frozen: Cloud, alice: Client) -> None:
    from crofter.audit import verifying

    live(frozen, alice, "before")
    take(frozen)
    live(frozen, alice)
    restore(frozen)
    live(frozen, alice, "again")
    with frozen.runtime.database.read() as db:
        assert verifying.verify(frozen.runtime.keyring, db) == []


def test_rows_are_counted_out_after_a_restore_as_before(frozen: Cloud, alice: Client) -> None:
    """Putting rows back goes past the triggers that count; they must be in force again."""
    for label in ("garden", "shed"):
        assert alice.post("/v4/tags", json={"label": label}).status_code == 200
    take(frozen)
    assert alice.delete("/v4/tags/shed").status_code == 200
    restore(frozen)
    assert alice.get("/v4/tags").json()["results"] == 2
    assert alice.delete("/v4/tags/shed").status_code == 200
    assert alice.get("/v4/tags").json()["results"] == 1


def test_a_snapshot_is_replaced_listed_and_deleted_by_name(frozen: Cloud, alice: Client) -> None:
    take(frozen, "b")
    take(frozen, "a_-1")
    alice.post("/v4/tags", json={"label": "garden"})
    again = take(frozen, "b")
    assert [kept["name"] for kept in frozen.sandbox.get(SNAPSHOTS).json()["snapshots"]] == ["a_-1", "b"]
    assert set(again) == {"name", "created", "bytes"}
    assert again["bytes"] > 0
    restore(frozen, "b")
    assert alice.get("/v4/tags").json()["results"] == 1
    restore(frozen, "a_-1")
    assert alice.get("/v4/tags").json()["results"] == 0
    assert frozen.sandbox.delete(f"{SNAPSHOTS}/b").json() == {}
    assert [kept["name"] for kept in frozen.sandbox.get(SNAPSHOTS).json()["snapshots"]] == ["a_-1"]


def test_snapshots_outlive_a_reset(frozen: Cloud) -> None:
    token = frozen.sandbox.post("/_sandbox/accounts", json={"username": "kept"}).json()["token"]
    take(frozen)
    assert frozen.sandbox.post("/_sandbox/reset").status_code == 200
    assert frozen.client(token).get("/v4/profile").status_code == 401
    restore(frozen)
    assert frozen.client(token).get("/v4/profile").status_code == 200


def test_names_that_cannot_be_and_names_that_are_not(cloud: Cloud) -> None:
    for name in ("", "x" * 65, "../evil", "a b", ".seeded", "a\n"):
        refused = cloud.sandbox.post(SNAPSHOTS, json={"name": name})
        assert (refused.status_code, [field for field, _ in errors(refused)]) == (400, ["name"]), name
    assert cloud.sandbox.post(SNAPSHOTS, json={}).status_code == 400
    assert cloud.sandbox.post(f"{SNAPSHOTS}/.seeded/restore").status_code == 400
    assert cloud.sandbox.post(f"{SNAPSHOTS}/nothing/restore").status_code == 404
    assert cloud.sandbox.delete(f"{SNAPSHOTS}/nothing").status_code == 404
    assert cloud.sandbox.get(f"{SNAPSHOTS}/nothing").status_code == 405


def test_requests_that_come_meanwhile_are_answered(frozen: Cloud, alice: Client) -> None:
    """No failure of ours, and either the old state or the new one."""
    take(frozen)
    seen: list[int] = []
    stop = threading.Event()

    def call() -> None:
        number = 0
        with frozen.client(alice.headers["Authorization"].removeprefix("Bearer ")) as client:
            while not stop.is_set():
                number += 1
                label = f"tag-{threading.get_ident()}-{number}"[-50:]
                seen.append(client.post("/v4/tags", json={"label": label}).status_code)
                seen.append(client.get("/v4/tags").status_code)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for _ in range(5):
        restore(frozen)
    stop.set()
    for caller in callers:
        caller.join()
    assert set(seen) <= {200, 503}
    restore(frozen)
    assert alice.get("/v4/tags").json()["results"] == 0


def test_snapshots_outlive_a_restart(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path)) as process, process.client() as client:
        client.post("/v4/tags", json={"label": "garden"})
        assert client.post(SNAPSHOTS, json={"name": "kept"}).status_code == 200
        client.post("/v4/tags", json={"label": "orchard"})
        process.kill()
    with serving("--data", str(tmp_path)) as process, process.client() as client:
        assert client.get("/v4/tags").json()["results"] == 2
        assert client.post(f"{SNAPSHOTS}/kept/restore").status_code == 200
        assert client.get("/v4/tags").json()["results"] == 1
