"""Events, through HTTP: listing, viewing, marking, and who sees which."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from crofter import clock, events
from crofter.kinds import Entity
from crofter.resources.users import store as users
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.observed import errors

DAY = 24 * 3600
FIELDS = [
    "action",
    "created",
    "duration",
    "entity",
    "id",
    "message",
    "percent_complete",
    "rate",
    "read",
    "secondary_entity",
    "seen",
    "status",
    "time_remaining",
    "username",
]


def plant(
    cloud: Cloud,
    username: str,
    action: str = "compute_boot",
    *,
    days_ago: float = 0,
    status: str = "notification",
    **more: Any,
) -> int:
    """An event, written as a resource would."""
    with cloud.runtime.database.write() as db:
        user = db.one(users.BY_USERNAME, username=username)
        author = events.Author(user.account_id, user.id, username)
        now = cloud.runtime.clock.now() - int(days_ago * clock.DAY)
        return events.write(db, now, author, action, status, **more)


def listed(client: Client, **asked: Any) -> list[int]:
    answer = client.get("/v4/account/events", params=asked)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["data"]]


@pytest.mark.both
def test_an_event_shows_what_happened(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    alice.post("/v4/tags", json={"label": "web"})
    item = alice.get("/v4/account/events").json()["data"][0]
    assert list(item) == FIELDS
    assert item == {
        "action": "tag_create",
        "created": cloud.sandbox.get("/_sandbox/clock").json()["now"],
        "duration": None,
        "entity": {"id": "web", "label": "web", "type": "tag", "url": "/v4/tags/web"},
        "id": item["id"],
        "message": "",
        "percent_complete": None,
        "rate": None,
        "read": False,
        "secondary_entity": None,
        "seen": False,
        "status": "notification",
        "time_remaining": None,
        "username": "alice",
    }
    assert alice.get(f"/v4/account/events/{item['id']}").json() == item


def test_work_that_is_under_way_shows_how_far_it_is(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    entity = Entity("compute", 7, "web", "/v4/compute/instances/7")
    event_id = plant(cloud, "alice", "compute_migrate", status="scheduled", entity=entity)
    runtime, path = cloud.runtime, f"/v4/account/events/{event_id}"
    with runtime.database.write() as db:
        account_id = db.one(users.BY_USERNAME, username="alice").account_id
        events.started(db, runtime.clock.now(), account_id, event_id)
        events.progress(db, account_id, event_id, 40, "9 MB/s", 3725)
    cloud.advance(90)
    shown = alice.get(path).json()
    assert (shown["status"], shown["percent_complete"], shown["duration"]) == ("started", 40, 90.0)
    assert (shown["rate"], shown["time_remaining"]) == ("9 MB/s", "01:02:05")
    with runtime.database.write() as db:
        events.progress(db, account_id, event_id, 30)  # a repeated step takes nothing back
        events.finished(db, runtime.clock.now(), account_id, event_id)
        events.failed(db, runtime.clock.now(), account_id, event_id, "too late")
    cloud.advance(90)
    shown = alice.get(path).json()
    assert (shown["status"], shown["percent_complete"], shown["duration"]) == ("finished", 100, 90.0)
    assert (shown["rate"], shown["time_remaining"], shown["message"]) == (None, None, "")


def test_the_newest_comes_first(cloud: Cloud, alice: Client) -> None:
    made = [plant(cloud, "alice") for _ in range(5)]
    assert listed(alice) == made[::-1]
    assert listed(alice, page_size=2, page=2) == made[::-1][2:4]


def test_events_can_be_seen_for_ninety_days(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    old, edge, new = (plant(cloud, "alice", days_ago=days) for days in (90.0001, 90, 1))
    assert listed(alice) == [new, edge]
    assert alice.get("/v4/account/events").json()["results"] == 2
    assert alice.get(f"/v4/account/events/{old}").status_code == 404
    assert alice.get(f"/v4/account/events/{edge}").status_code == 200
    assert listed(alice, after=0) == [edge, new]
    cloud.advance(1)
    assert listed(alice) == [new]


def test_when_all_are_old_there_are_none(cloud: Cloud, alice: Client) -> None:
    plant(cloud, "alice", days_ago=91)
    for asked in ({}, {"after": 0}):
        assert alice.get("/v4/account/events", params=asked).json() == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_what_cannot_be_seen_any_more_is_removed(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    plant(cloud, "alice", days_ago=90.1)
    kept = plant(cloud, "alice", days_ago=88)
    cloud.advance(DAY)
    with cloud.runtime.database.read() as db:
        assert [row[0] for row in db.raw("SELECT id FROM event").fetchall()] == [kept]


def deep(cloud: Cloud, alice: Client, count: int) -> list[int]:
    with cloud.runtime.database.write() as db:
        user = db.one(users.BY_USERNAME, username="alice")
        author = events.Author(user.account_id, user.id, "alice")
        now = cloud.runtime.clock.now()
        old = [events.write(db, now - 91 * clock.DAY, author, "compute_boot", "notification") for _ in range(70)]
        made = [events.write(db, now, author, "compute_boot", "notification") for _ in range(count)]
    assert old[-1] < made[0]
    return made


@pytest.mark.both
def test_deep_pages_are_what_counting_finds_in_both_directions(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    made = deep(cloud, alice, 1300)
    for page in (1, 2, 6, 7, 12, 13, 14):
        place = slice((page - 1) * 100, page * 100)
        assert listed(alice, page=page) == made[::-1][place]
        assert listed(alice, page=page, after=0) == made[place]
        assert listed(alice, page=page, after=made[29]) == made[30:][place]
    answer = alice.get("/v4/account/events", params={"after": made[29], "page_size": 500}).json()
    assert (answer["results"], answer["pages"]) == (1270, 3)


# ---- the cursor -----------------------------------------------------------------------------------------------------


def test_a_cursor_leads_from_one_event_to_the_next(cloud: Cloud, alice: Client) -> None:
    made = [plant(cloud, "alice") for _ in range(5)]
    assert listed(alice, after=made[1]) == made[2:]
    assert listed(alice, after=made[1], page_size=2) == made[2:4]
    assert listed(alice, after=made[-1]) == []
    assert alice.get("/v4/account/events?after=-7").status_code == 400
    answer = alice.get("/v4/account/events", params={"after": made[1], "page_size": 2}).json()
    assert (answer["results"], answer["pages"]) == (3, 2)


@pytest.mark.both
def test_disk_events_of_an_instance_are_found_by_their_type(cloud: Cloud, alice: Client) -> None:
    web, db = Entity("compute", 7, "web"), Entity("compute", 8, "db")
    made = [plant(cloud, "alice", action, entity=web) for action in ("disk_create", "compute_boot", "disk_imagize")]
    other = plant(cloud, "alice", "disk_delete", entity=db)
    plant(cloud, "alice", "tag_create")

    def matching(**wanted: Any) -> list[int]:
        answer = alice.get("/v4/account/events", headers={"X-Filter": json.dumps(wanted)})
        assert answer.status_code == 200, answer.text
        assert {item["entity"]["type"] for item in answer.json()["data"] if item["entity"]} <= {"compute"}
        return sorted(item["id"] for item in answer.json()["data"])

    assert matching(**{"entity.type": "disks", "entity.id": 7}) == [made[0], made[2]]
    assert matching(**{"entity.type": "Disks"}) == [made[0], made[2], other]
    assert matching(**{"entity.type": "disks", "entity.id": 7, "action": "disk_imagize"}) == [made[2]]
    assert matching(**{"entity.type": "compute", "entity.id": 7}) == made
    assert matching(**{"+or": [{"entity.type": "disks", "entity.id": 8}, {"id": made[1]}]}) == [made[1], other]
    assert matching(**{"entity.type": {"+neq": "disks"}, "entity.id": 7}) == [made[1]]


def test_a_cursor_and_a_filter_go_together(cloud: Cloud, alice: Client) -> None:
    boot, reboot, again = (
        plant(cloud, "alice", action) for action in ("compute_boot", "compute_reboot", "compute_boot")
    )
    headers = {"X-Filter": '{"action": "compute_boot"}'}
    answer = alice.get("/v4/account/events", params={"after": boot}, headers=headers).json()
    assert ([item["id"] for item in answer["data"]], answer["results"]) == ([again], 1)
    assert reboot not in listed(alice, after=reboot)


@pytest.mark.parametrize("asked", [{"after": "x"}, {"wait": "1.5"}, {"after": "9" * 30}])
def test_a_cursor_is_a_number(alice: Client, asked: dict[str, str]) -> None:
    answer = alice.get("/v4/account/events", params=asked)
    assert (answer.status_code, errors(answer)) == (400, [(next(iter(asked)), "Must be of type Integer")])


# ---- marks ----------------------------------------------------------------------------------------------------------


def marks(client: Client, mark: str) -> list[int]:
    return [item["id"] for item in client.get("/v4/account/events").json()["data"] if item[mark]]


def test_reading_marks_one_event(cloud: Cloud, alice: Client) -> None:
    made = [plant(cloud, "alice") for _ in range(3)]
    for _ in range(2):
        assert alice.post(f"/v4/account/events/{made[1]}/read").json() == {}
    assert marks(alice, "read") == [made[1]]
    assert marks(alice, "seen") == []
    assert alice.get(f"/v4/account/events/{made[1]}").json()["read"] is True


def test_seeing_marks_all_up_to_one_and_takes_nothing_back(cloud: Cloud, alice: Client) -> None:
    made = [plant(cloud, "alice") for _ in range(4)]
    assert alice.post(f"/v4/account/events/{made[2]}/seen").json() == {}
    assert marks(alice, "seen") == made[2::-1]
    assert alice.post(f"/v4/account/events/{made[0]}/seen").json() == {}
    assert marks(alice, "seen") == made[2::-1]
    assert marks(alice, "read") == []


def test_marks_are_each_users_own(cloud: Cloud, alice: Client) -> None:
    made = plant(cloud, "alice", entity=Entity("compute", 7, "web"))
    bob = restricted(cloud, "bob-restricted", of="alice", compute={7: "read_only"})
    alice.post(f"/v4/account/events/{made}/read")
    alice.post(f"/v4/account/events/{made}/seen")
    assert (marks(bob, "read"), marks(bob, "seen")) == ([], [])
    bob.post(f"/v4/account/events/{made}/read")
    assert marks(bob, "read") == [made]


def test_marking_leaves_no_event(cloud: Cloud, alice: Client) -> None:
    made = plant(cloud, "alice")
    alice.post(f"/v4/account/events/{made}/read")
    alice.post(f"/v4/account/events/{made}/seen")
    assert listed(alice) == [made]


# visibility


def test_a_neighbours_events_are_not_there(cloud: Cloud, alice: Client, mallory: Client) -> None:
    made = plant(cloud, "alice")
    assert listed(mallory) == []
    assert mallory.get("/v4/account/events").json()["results"] == 0
    for answer in (
        mallory.get(f"/v4/account/events/{made}"),
        mallory.post(f"/v4/account/events/{made}/read"),
        mallory.post(f"/v4/account/events/{made}/seen"),
    ):
        assert (answer.status_code, answer.json()) == (404, {"errors": [{"reason": "Not found"}]})
    assert (marks(alice, "read"), marks(alice, "seen")) == ([], [])


def test_a_restricted_user_sees_the_events_of_what_is_granted_and_of_itself(cloud: Cloud, alice: Client) -> None:
    viewed = {7: "read_only"}
    granted: dict[str, Any] = {"compute": {**viewed, 8: "read_write"}, "volume": viewed, "image": viewed}
    bob = restricted(cloud, "bob-restricted", of="alice", **granted)
    seen = [
        plant(cloud, "alice", entity=Entity("compute", 7, "web")),
        plant(cloud, "alice", entity=Entity("compute", 8, "db")),
        plant(cloud, "alice", entity=Entity("volume", 7, "disk")),
        plant(cloud, "alice", "image_update", entity=Entity("image", "private/7", "golden")),
        plant(cloud, "bob-restricted", "profile_update", entity=Entity("profile", "bob-restricted", None)),
    ]
    unseen = [
        plant(cloud, "alice", entity=Entity("compute", 9, "other")),
        plant(cloud, "alice", entity=Entity("domain", 7, "example.com")),
        plant(cloud, "alice", "image_update", entity=Entity("image", "private/77", "other")),
        plant(cloud, "alice", entity=Entity("tag", "7", "7")),
        plant(cloud, "alice", "account_update"),
        plant(cloud, "alice", "profile_update", entity=Entity("profile", "alice", None)),
    ]
    answer = bob.get("/v4/account/events").json()
    assert ([item["id"] for item in answer["data"]], answer["results"]) == (seen[::-1], 5)
    assert listed(bob, after=0) == seen
    assert bob.get("/v4/account/events", params={"page_size": 3}).json()["pages"] == 2
    for event_id in unseen:
        assert bob.get(f"/v4/account/events/{event_id}").status_code == 404
        assert bob.post(f"/v4/account/events/{event_id}/read").status_code == 404
    for event_id in seen:
        assert bob.get(f"/v4/account/events/{event_id}").status_code == 200
    assert len(listed(alice)) == 11


def test_reading_events_needs_the_scope_for_it(cloud: Cloud, alice: Client) -> None:
    made = plant(cloud, "alice")
    reader = cloud.client(cloud.token("alice", "events:read_only"))
    assert listed(reader) == [made]
    assert reader.post(f"/v4/account/events/{made}/seen").status_code == 200
    other = cloud.client(cloud.token("alice", "account:read_write"))
    for answer in (other.get("/v4/account/events"), other.get("/v4/account/events/stream")):
        assert answer.status_code == 403
