"""Instances through HTTP: list, filter, view, update; who may, and who may not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from crofter.db import collections
from crofter.db.collections import FEW
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.observed import errors
from tests.resources.compute import (
    NOT_FOUND,
    UNAUTHORIZED,
    create,
    deploy,
    entity,
    events,
    last,
    listed,
    refused,
    status,
    view,
)

URL = "/v4/compute/instances"


def ids(client: Client, **wanted: Any) -> list[int]:
    return [instance["id"] for instance in listed(client, URL, **wanted)]


@pytest.mark.both
def test_instances_are_listed_in_the_order_of_their_ids(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = [create(alice)["id"] for _ in range(3)]
    create(mallory)
    answer = alice.get(URL).json()
    assert ([instance["id"] for instance in answer["data"]], answer["results"]) == (own, 3)
    assert answer["data"][0] == view(alice, own[0])
    page = alice.get(URL, params={"page": 2, "page_size": 2}).json()
    assert ([instance["id"] for instance in page["data"]], page["pages"]) == (own[2:], 2)


def test_instances_are_filtered(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    first = deploy(cloud, alice, label="web-1", group="Web", tags=["blue", "prod"], private_ip=True)
    second = create(alice, label="web-2", region="us-west", tags=["blue"])["id"]
    third = create(alice, label="database")["id"]
    public, private = view(alice, first)["ipv4"]
    for wanted, expected in (
        ({"label": "WEB-1"}, [first]),
        ({"label": {"+contains": "web"}}, [first, second]),
        ({"region": "us-west"}, [second]),
        ({"image": "compute/debian11"}, [first]),
        ({"image": None}, [second, third]),
        ({"ipv4": public}, [first]),
        ({"ipv4": private}, [first]),
        ({"ipv4": {"+contains": "192.168."}}, [first]),
        ({"tags": "blue"}, [first, second]),
        ({"+and": [{"tags": "blue"}, {"tags": "prod"}]}, [first]),
        ({"group": "web"}, [first]),
        ({"id": third}, [third]),
        ({"id": {"+gt": first}}, [second, third]),
        ({"+or": [{"id": first}, {"label": "database"}]}, [first, third]),
        ({"label": {"+neq": "web-1"}, "region": "us-east"}, [third]),
        ({"+order_by": "label", "+order": "desc"}, [second, first, third]),
        ({"tags": "none"}, []),
        ({"tags": {"+neq": "blue"}}, [third]),
        ({"+or": [{"region": "us-west"}, {"label": "database"}], "+order_by": "label"}, [third, second]),
    ):
        assert ids(alice, **wanted) == expected, wanted
    alice.put(f"{URL}/{second}", json={"label": "Eb-2"})  # upper case comes in between
    for few in (FEW, 0):
        monkeypatch.setattr(collections, "FEW", few)
        assert ids(alice, **{"+order_by": "label"}) == [third, second, first]
        assert ids(alice, tags="blue", **{"+order_by": "label"}) == [second, first]
        assert ids(alice, **{"+or": [{"id": third}, {"id": first}]}) == [first, third]


@pytest.mark.parametrize("field", ["watchdog_enabled", "hypervisor", "ipv6", "specs"])
def test_other_fields_cannot_be_filtered_on(cloud: Cloud, alice: Client, field: str) -> None:
    refused(alice.get(URL, headers={"X-Filter": json.dumps({field: "x"})}), f"Cannot filter on {field}", "X-Filter")


def test_a_list_of_tags_is_no_filter(cloud: Cloud, alice: Client) -> None:
    answer = alice.get(URL, headers={"X-Filter": json.dumps({"tags": ["blue"]})})
    refused(answer, "Tags filter must be a string or dict", "X-Filter")


def test_everything_that_may_be_changed_is_changed(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    before = create(alice, backups_enabled=True)
    cloud.advance(10)
    answer = alice.put(
        f"{URL}/{before['id']}",
        json={
            "label": "renamed",
            "group": "servers",
            "tags": ["blue"],
            "watchdog_enabled": False,
            "alerts": {"cpu": 50, "io": 0},
            "backups": {"enabled": False, "schedule": {"day": "Saturday", "window": "W22"}},
        },
    )
    assert answer.status_code == 200, answer.text
    after = answer.json()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"label", "group", "tags", "watchdog_enabled", "alerts", "backups", "updated"}
    assert after["alerts"] == {"cpu": 50, "io": 0, "network_in": 10, "network_out": 10, "transfer_quota": 80}
    assert after["backups"]["schedule"] == {"day": "Saturday", "window": "W22"}
    assert after["backups"]["enabled"] is True
    assert view(alice, before["id"]) == after
    event = last(alice, "compute_update")
    assert (event["status"], event["percent_complete"], event["duration"]) == ("notification", None, None)
    assert entity(event["entity"]) == ("compute", before["id"], "renamed", f"{URL}/{before['id']}")


def test_what_was_read_can_be_sent_back(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, tags=["blue"], label="web")
    before = view(alice, own)
    answer = alice.put(f"{URL}/{own}", json={**before, "id": 4711, "status": "offline", "type": "g6-nanode-1"})
    assert answer.status_code == 200, answer.text
    assert {**answer.json(), "updated": None} == {**before, "updated": None}
    assert len(events(alice, "tag_create")) == 1


def test_nulls_change_nothing_however_deep_they_are(cloud: Cloud, alice: Client) -> None:
    before = create(alice, label="web", group="servers", tags=["blue"])
    nothing: dict[str, Any] = dict.fromkeys(("label", "group", "tags", "alerts", "backups", "watchdog_enabled"))
    deeper = {"alerts": {"cpu": None, "io": None}, "backups": {"schedule": {"day": None, "window": None}}}
    for body in (nothing, {}, deeper, {"backups": {"schedule": None}}, {"backups": {"enabled": None}}):
        answer = alice.put(f"{URL}/{before['id']}", json=body)
        assert answer.status_code == 200, (body, answer.text)
        assert {**answer.json(), "updated": None} == {**before, "updated": None}, body


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({"alerts": {"cpu": "high"}}, "Must be of type Integer", "alerts.cpu"),
        ({"alerts": {"io": -1}}, "Must be 0-1000000", "alerts.io"),
        ({"alerts": 7}, "Must be of type Object", "alerts"),
        (
            {"backups": {"schedule": {"day": "Sunday"}}},
            "Backups must be enabled to set a schedule",
            "backups.schedule.day",
        ),
        ({"label": "a--b"}, "Must not have two dashes, underscores or periods in a row", "label"),
        ({"label": "taken"}, "Label must be unique among your Computes", "label"),
        ({"watchdog_enabled": 1}, "Must be of type Boolean", "watchdog_enabled"),
        ({"tags": ["x"]}, "Length must be 3-50 characters", "tags[0]"),
    ],
)
def test_what_makes_no_sense_is_not_changed(
    cloud: Cloud, alice: Client, body: dict[str, Any], reason: str, field: str
) -> None:
    create(alice, label="taken")
    before = create(alice)
    refused(alice.put(f"{URL}/{before['id']}", json=body), reason, field)
    assert view(alice, before["id"]) == before
    assert events(alice, "compute_update") == []


def test_all_that_makes_no_sense_is_told(cloud: Cloud, alice: Client) -> None:
    create(alice, label="taken")
    own = create(alice, label="mine")["id"]
    schedule = [
        ("backups.schedule.day", "Backups must be enabled to set a schedule"),
        ("backups.schedule.window", "Backups must be enabled to set a schedule"),
    ]
    sent = {"backups": {"schedule": {"day": "Monday", "window": "W2"}}}
    for label, label_problems in (("taken", [("label", "Label must be unique among your Computes")]), ("mine", [])):
        answer = alice.put(f"{URL}/{own}", json={"label": label, **sent})
        assert (answer.status_code, errors(answer)) == (400, schedule + label_problems)


def test_days_and_windows_are_those_of_the_interface(cloud: Cloud, alice: Client) -> None:
    own = create(alice, backups_enabled=True)["id"]
    for name, sent in (("day", "Caturday"), ("window", "W1")):
        answer = alice.put(f"{URL}/{own}", json={"backups": {"schedule": {name: sent}}})
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["field"]) == (400, f"backups.schedule.{name}")
        assert error["reason"].startswith("Must be one of ")
    for name, sent in (("day", "Sunday"), ("window", "W0"), ("window", "W22"), ("window", "Scheduling")):
        answer = alice.put(f"{URL}/{own}", json={"backups": {"schedule": {name: sent}}})
        assert answer.json()["backups"]["schedule"][name] == sent


def test_a_restricted_user_sees_and_changes_what_was_granted(cloud: Cloud, alice: Client) -> None:
    readable, writable, hidden = (create(alice, tags=["blue"])["id"] for _ in range(3))
    bob = restricted(cloud, "bob", of="alice", compute={readable: "read_only", writable: "read_write"})
    assert ids(bob) == [readable, writable]
    assert ids(bob, tags="blue") == [readable, writable]
    assert [bob.get(f"{URL}/{number}").status_code for number in (readable, writable, hidden)] == [200, 200, 403]
    body = {"label": "by-bob"}
    assert [bob.put(f"{URL}/{number}", json=body).status_code for number in (readable, writable, hidden)] == [
        403,
        200,
        403,
    ]
    # Tags may be sent back as they are, and not changed.
    assert bob.put(f"{URL}/{writable}", json={"tags": ["blue"]}).status_code == 200
    answer = bob.put(f"{URL}/{writable}", json={"tags": ["red"]})
    assert (answer.status_code, answer.json()) == (403, UNAUTHORIZED)
    assert view(alice, writable)["tags"] == ["blue"]


READS = ["", "backups", "configs", "disks", "firewalls", "ips", "nodebalancers", "volumes", "stats", "transfer"]
READS += ("stats/2026/1", "transfer/2026/1", "backups/{backup}", "configs/{config}", "disks/{disk}", "ips/{ip}")
POSTS = ["boot", "shutdown", "reboot", "rebuild", "resize", "mutate", "migrate", "rescue", "password", "clone"]
POSTS += ("backups", "backups/enable", "backups/cancel", "backups/{backup}/restore", "configs", "disks", "ips")
POSTS += ("disks/{disk}/clone", "disks/{disk}/resize", "disks/{disk}/password")
PUTS = ("", "configs/{config}", "disks/{disk}", "ips/{ip}")
DELETES = ("", "configs/{config}", "disks/{disk}", "ips/{ip}")
CALLS = [(method, path) for method, paths in (("GET", READS), ("POST", POSTS), ("PUT", PUTS)) for path in paths]
CALLS += [("DELETE", path) for path in DELETES]


def parts(cloud: Cloud, client: Client) -> dict[str, Any]:
    """Return an instance with an object of every kind."""
    own = deploy(cloud, client, backups_enabled=True)
    backup = client.post(f"{URL}/{own}/backups", json={"label": "mine"}).json()["id"]
    cloud.settle()
    return {
        "own": own,
        "backup": backup,
        "config": client.get(f"{URL}/{own}/configs").json()["data"][0]["id"],
        "disk": client.get(f"{URL}/{own}/disks").json()["data"][0]["id"],
        "ip": view(client, own)["ipv4"][0],
    }


def test_the_neighbour_finds_nothing_of_it(cloud: Cloud, alice: Client, mallory: Client) -> None:
    """Neither under the instance's own address, nor a part of it under an instance of the neighbour's own."""
    hers = parts(cloud, alice)
    his = deploy(cloud, mallory)
    before = view(alice, hers["own"]), len(events(alice))
    for method, path in CALLS:
        address = f"{URL}/{hers['own']}/{path}".rstrip("/").format(**hers)
        answer = mallory.request(method, address, json=None if method in ("GET", "DELETE") else {})
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND), (method, path)
        if "{" in path:
            answer = mallory.request(method, f"{URL}/{his}/{path}".format(**hers), json=None)
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND), (method, path)
    cloud.settle()
    assert (view(alice, hers["own"]), len(events(alice))) == before
    assert status(mallory, his) == "running"


def test_the_neighbours_things_cannot_be_named_in_a_body(cloud: Cloud, alice: Client, mallory: Client) -> None:
    hers = parts(cloud, alice)
    his = deploy(cloud, mallory, booted=False)
    backup = parts(cloud, mallory)
    before = len(events(alice))
    device = {"devices": {"sda": {"disk_id": hers["disk"]}}}
    denied = "You do not have permission to access this Compute"
    for path, body, reason, field, code in (
        ("boot", {"config_id": hers["config"]}, "config_id is not valid", "config_id", 400),
        ("reboot", {"config_id": hers["config"]}, "config_id is not valid", "config_id", 400),
        ("configs", {"label": "x", **device}, "disk_id is not valid", "devices.sda.disk_id", 400),
        ("rescue", device, "disk_id is not valid", "devices.sda.disk_id", 400),
        ("clone", {"compute_id": hers["own"]}, denied, "compute_id", 403),
        ("clone", {"compute_id": 4711}, denied, "compute_id", 403),
    ):
        refused(mallory.post(f"{URL}/{his}/{path}", json=body), reason, field, code)
    restore = f"{URL}/{backup['own']}/backups/{backup['backup']}/restore"
    refused(mallory.post(restore, json={"compute_id": hers["own"]}), denied, "compute_id", 403)
    body = {"type": "g6-standard-1", "region": "us-east", "backup_id": hers["backup"]}
    refused(mallory.post(URL, json=body), "backup_id is not valid", "backup_id")
    cloud.settle()
    assert len(events(alice)) == before


def test_a_restricted_user_may_read_or_write_as_was_granted(cloud: Cloud, alice: Client) -> None:
    hers = parts(cloud, alice)
    bob = restricted(cloud, "bob", of="alice", compute={hers["own"]: "read_only"})
    nobody = restricted(cloud, "nobody", of="alice")
    for method, path in CALLS:
        address = f"{URL}/{hers['own']}/{path}".rstrip("/").format(**hers)
        body: dict[str, Any] | None = None if method in ("GET", "DELETE") else {}
        answer = nobody.request(method, address, json=body)
        assert (answer.status_code, answer.json()) == (403, UNAUTHORIZED), (method, path)
        answer = bob.request(method, address, json=body)
        allowed = (200, 400) if method == "GET" else (403,)
        assert answer.status_code in allowed, (method, path, answer.text)
    assert status(alice, hers["own"]) == "running"


def test_scopes_are_asked_for(cloud: Cloud, alice: Client) -> None:
    hers = parts(cloud, alice)
    reader = cloud.client(cloud.token("alice", "computes:read_only"))
    stranger = cloud.client(cloud.token("alice", "account:read_write"))
    for method, path in CALLS:
        address = f"{URL}/{hers['own']}/{path}".rstrip("/").format(**hers)
        body: dict[str, Any] | None = None if method in ("GET", "DELETE") else {}
        assert stranger.request(method, address, json=body).status_code == 403, (method, path)
        if method != "GET":
            assert reader.request(method, address, json=body).status_code == 403, (method, path)


def test_any_tag_is_shown_as_it_was_written(cloud: Cloud, alice: Client) -> None:
    labels = sorted(['a "quoted" one', "back\\slash", "naïve ☂", "tab\there"])
    made = create(alice, tags=labels)
    assert sorted(made["tags"]) == labels
    assert sorted(view(alice, made["id"])["tags"]) == labels
    (shown,) = alice.get(URL).json()["data"]
    assert sorted(shown["tags"]) == labels
