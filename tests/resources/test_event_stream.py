"""Following events: the long poll and the stream."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from httpx2 import Client

from crofter import events
from crofter.db import Session
from crofter.kinds import Entity
from crofter.resources.users import store as users
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.resources.followers import ByCursor, ByStream, Frame, eventually, stream
from tests.resources.test_events import listed, plant


@pytest.fixture
def waiting(cloud: Cloud) -> Any:
    """Return a function that waits until a request waits on the server."""
    hub = cloud.application.app.parts.hub
    eventually(lambda: hub.waiting == 0)  # requests of earlier tests have ended

    def until(count: int = 1) -> None:
        eventually(lambda: hub.waiting == count)

    return until


# ---- the long poll --------------------------------------------------------------------------------------------------


def test_a_wait_ends_with_the_first_event(cloud: Cloud, alice: Client, waiting: Any) -> None:
    made = plant(cloud, "alice")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(listed, alice, after=made, wait=50)
        waiting()
        new = plant(cloud, "alice")
        assert answer.result(20) == [new]


def test_a_wait_for_what_is_there_already_is_none(cloud: Cloud, alice: Client) -> None:
    made = plant(cloud, "alice")
    assert listed(alice, after=0, wait=50) == [made]
    assert listed(alice, wait=50) == [made]


def test_a_wait_ends_with_its_time(cloud: Cloud, alice: Client) -> None:
    assert listed(alice, after=0, wait=0) == []
    assert listed(alice, after=0, wait=1) == []


def test_a_wait_is_not_ended_by_a_neighbour(cloud: Cloud, alice: Client, mallory: Client, waiting: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(listed, alice, after=0, wait=50)
        waiting()
        plant(cloud, "mallory")
        new = plant(cloud, "alice")
        assert answer.result(20) == [new]


def test_a_wait_with_a_filter_waits_for_what_it_filters(cloud: Cloud, alice: Client, waiting: Any) -> None:
    def wanted() -> list[int]:
        headers = {"X-Filter": '{"action": "compute_reboot"}'}
        answer = alice.get("/v4/account/events", params={"after": 0, "wait": 50}, headers=headers, timeout=60)
        return [item["id"] for item in answer.json()["data"]]

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(wanted)
        waiting()
        plant(cloud, "alice", "compute_boot")
        new = plant(cloud, "alice", "compute_reboot")
        assert answer.result(20) == [new]


@pytest.mark.both
@pytest.mark.parametrize("status", ["started", "finished", "failed"])
def test_a_wait_for_a_status_ends_when_the_event_reaches_it(
    cloud: Cloud, alice: Client, waiting: Any, status: str
) -> None:
    made = plant(cloud, "alice", "compute_reboot", status="scheduled")
    wanted = {"X-Filter": json.dumps({"id": made, "status": status})}

    def shown() -> list[tuple[int, str]]:
        answer = alice.get("/v4/account/events", params={"wait": 50}, headers=wanted, timeout=60)
        return [(item["id"], item["status"]) for item in answer.json()["data"]]

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(shown)
        waiting()
        with cloud.runtime.database.write() as db:
            now, account = cloud.runtime.clock.now(), _author(db, "alice").account_id
            events.started(db, now, account, made)
            if status == "finished":
                events.finished(db, now, account, made)
            elif status == "failed":
                events.failed(db, now, account, made, "no")
        assert answer.result(20) == [(made, status)]


def test_who_hangs_up_is_not_waited_for(cloud: Cloud, alice: Client, waiting: Any) -> None:
    from tests.edge.answers import connect, request

    token = alice.headers["authorization"].split()[1]
    with connect(cloud.url) as connection:
        connection.sendall(request("GET", "/v4/account/events?wait=50", token=token))
        waiting()
    waiting(0)


# ---- the stream -----------------------------------------------------------------------------------------------------


def test_a_stream_brings_each_new_event_once_in_order(cloud: Cloud, alice: Client) -> None:
    plant(cloud, "alice")
    with stream(alice) as frames:
        made = [plant(cloud, "alice") for _ in range(3)]
        got = [next(frames) for _ in made]
    assert [(frame.id, frame.name, frame.data["id"]) for frame in got] == [
        (str(event_id), "event", event_id) for event_id in made
    ]
    assert got[0].data == alice.get(f"/v4/account/events/{made[0]}").json()


def test_a_stream_resumes_after_the_last_event_that_was_received(cloud: Cloud, alice: Client) -> None:
    made = [plant(cloud, "alice") for _ in range(4)]
    with stream(alice, last_event_id=made[1]) as frames:
        assert [next(frames).data["id"] for _ in range(2)] == made[2:]
    with stream(alice, after=made[0]) as frames:
        assert [next(frames).data["id"] for _ in range(3)] == made[1:]
    with stream(alice, last_event_id=made[2], after=0) as frames:
        assert next(frames).data["id"] == made[3]


def test_a_stream_brings_many_at_once(cloud: Cloud, alice: Client) -> None:
    with cloud.runtime.database.write() as db:
        author = _author(db, "alice")
        made = [events.write(db, cloud.runtime.clock.now(), author, "compute_boot", "notification") for _ in range(250)]
    with stream(alice, after=0) as frames:
        assert [next(frames).data["id"] for _ in made] == made


def _author(db: Session, username: str) -> events.Author:
    user = db.one(users.BY_USERNAME, username=username)
    return events.Author(user.account_id, user.id, username)


def test_changes_of_an_event_under_way_are_updates_without_an_id(cloud: Cloud, alice: Client) -> None:
    def change(act: Any) -> Frame:
        with cloud.runtime.database.write() as db:
            act(db, _author(db, "alice").account_id)
        return next(frames)

    now = cloud.runtime.clock.now()
    with stream(alice) as frames:
        made = plant(cloud, "alice", "compute_reboot", status="scheduled")
        assert next(frames).data["status"] == "scheduled"
        started = change(lambda db, account: events.started(db, now, account, made))
        halfway = change(lambda db, account: events.progress(db, account, made, 50))
        finished = change(lambda db, account: events.finished(db, now + 1000, account, made))
        after = plant(cloud, "alice")
        assert next(frames).data["id"] == after
    assert [(frame.id, frame.name) for frame in (started, halfway, finished)] == [(None, "update")] * 3
    assert [frame.data["percent_complete"] for frame in (started, halfway, finished)] == [0, 50, 100]
    assert finished.data["status"] == "finished"


@pytest.mark.both
@pytest.mark.parametrize("ends", ["before the stream is opened", "while it is open"])
@pytest.mark.parametrize("by_header", [True, False])
def test_who_comes_back_is_told_how_an_earlier_event_ended(
    cloud: Cloud, alice: Client, ends: str, *, by_header: bool
) -> None:
    def finish() -> None:
        with cloud.runtime.database.write() as db:
            events.finished(db, cloud.runtime.clock.now(), _author(db, "alice").account_id, made)

    made = plant(cloud, "alice", "compute_reboot", status="started")
    last = plant(cloud, "alice")
    if ends == "before the stream is opened":
        finish()
    with stream(alice, **{"last_event_id" if by_header else "after": last}) as frames:
        if ends == "while it is open":
            assert next_event(cloud, frames).data["status"] == "started"
            assert next(frames).name == "event"
            finish()
        frame = next_event(cloud, frames)
        assert (frame.id, frame.name, frame.data["id"], frame.data["status"]) == (None, "update", made, "finished")
        assert next(frames).name == "event"  # and nothing more of the old ones


@pytest.mark.both
def test_a_stream_from_now_on_tells_the_end_of_what_is_under_way(cloud: Cloud, alice: Client) -> None:
    made = plant(cloud, "alice", "compute_reboot", status="started")
    with stream(alice) as frames:
        assert next_event(cloud, frames).name == "event"
        with cloud.runtime.database.write() as db:
            events.finished(db, cloud.runtime.clock.now(), _author(db, "alice").account_id, made)
        frame = next_event(cloud, frames)
        assert (frame.name, frame.data["id"], frame.data["status"]) == ("update", made, "finished")


def test_what_had_ended_long_before_the_position_is_not_told_again(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    made = plant(cloud, "alice", "compute_reboot", status="started")
    with cloud.runtime.database.write() as db:
        events.finished(db, cloud.runtime.clock.now(), _author(db, "alice").account_id, made)
    cloud.advance(120)
    with stream(alice, after=plant(cloud, "alice")) as frames:
        assert next_event(cloud, frames).name == "event"


def next_event(cloud: Cloud, frames: Any) -> Frame:
    """Write one more, so that something comes next, and see what does."""
    plant(cloud, "alice")
    return next(frames)  # type: ignore[no-any-return]


def test_a_stream_ends_when_its_token_is_revoked(cloud: Cloud, alice: Client) -> None:
    token = cloud.token("alice")
    with stream(cloud.client(token)) as frames:
        made = plant(cloud, "alice")
        assert next(frames).data["id"] == made
        with cloud.runtime.database.write() as db:
            assert db.delete(users.token, digest=cloud.runtime.keyring.digest(token)) == 1
        plant(cloud, "alice")
        assert list(frames) == []


def test_a_stream_ends_when_its_token_runs_out(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    with stream(cloud.client(cloud.token("alice", expires_in=60))) as frames:
        cloud.advance(61)
        plant(cloud, "alice")
        assert list(frames) == []


def test_a_restricted_user_streams_only_what_is_granted(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, "bob-restricted", of="alice", compute={7: "read_only"})
    with stream(bob) as frames:
        plant(cloud, "alice", entity=Entity("compute", 8, "other"))
        plant(cloud, "alice")
        mine = plant(cloud, "alice", entity=Entity("compute", 7, "web"))
        assert next(frames).data["id"] == mine


def test_a_grant_that_is_taken_back_ends_the_updates_too(cloud: Cloud, alice: Client) -> None:
    bob = restricted(cloud, "bob-restricted", of="alice", compute={7: "read_only", 8: "read_only"})
    with stream(bob) as frames:
        made = plant(cloud, "alice", status="scheduled", entity=Entity("compute", 7, "web"))
        assert next(frames).data["id"] == made
        with cloud.runtime.database.write() as db:
            db.delete(users.grant, kind="compute", object_id=7)
            events.started(db, cloud.runtime.clock.now(), _author(db, "alice").account_id, made)
        other = plant(cloud, "alice", entity=Entity("compute", 8, "db"))
        assert next(frames).data["id"] == other


def test_a_stream_that_nobody_reads_any_more_ends(cloud: Cloud, alice: Client, waiting: Any) -> None:
    with stream(alice):
        waiting()
    waiting(0)


@pytest.mark.both
def test_each_event_comes_once_over_reconnects_and_only_updates_repeat(cloud: Cloud, alice: Client) -> None:
    """The promise of the README: `event` frames exactly once and in order, and each earlier state once a connection."""
    cloud.freeze()
    made = [plant(cloud, "alice", "compute_reboot", status="scheduled") for _ in range(12)]
    with cloud.runtime.database.write() as db:
        now, account = cloud.runtime.clock.now(), _author(db, "alice").account_id
        for event_id in made[:8]:
            events.started(db, now, account, event_id)
        for event_id in made[:4]:
            events.finished(db, now, account, event_id)
    received: list[int] = []
    last = 0
    for taken in (3, 5, 4):
        with stream(alice, last_event_id=last) as frames:
            earlier = [next(frames) for event_id in made if event_id <= last]
            new = [next(frames) for _ in range(taken)]
        assert [(frame.name, frame.id, frame.data["id"]) for frame in earlier] == [
            ("update", None, event_id) for event_id in made if event_id <= last
        ]
        assert {frame.name for frame in new} == {"event"}
        for frame in (*earlier, *new):
            assert frame.data == alice.get(f"/v4/account/events/{frame.data['id']}").json()
        received += [frame.data["id"] for frame in new]
        last = received[-1]
    assert received == made


# ---- nothing missed, nothing doubled --------------------------------------------------------------------------------

WRITERS, EACH = 4, 25


def write_all(cloud: Cloud) -> None:
    def write() -> None:
        for _ in range(EACH):
            plant(cloud, "alice")

    at_once(*[write] * WRITERS)


def test_with_many_writers_no_event_is_missed_or_doubled(cloud: Cloud, alice: Client) -> None:
    followers = [ByCursor(alice, WRITERS * EACH), ByStream(alice, WRITERS * EACH)]
    write_all(cloud)
    for follower in followers:
        assert follower.join() == sorted(listed(alice, page_size=500))


def overtaken(cloud: Cloud, alice: Client, patience: float) -> bool:
    """True if a cursor with a later event skips an event that commits late."""
    inserted, may_commit = threading.Event(), threading.Event()

    def slow() -> None:
        with cloud.runtime.database.write() as db:
            author = _author(db, "alice")
            events.write(db, cloud.runtime.clock.now(), author, "slow", "notification")
            inserted.set()
            may_commit.wait(20)

    with ThreadPoolExecutor(2) as pool:
        late = pool.submit(slow)
        assert inserted.wait(10)
        quick = pool.submit(plant, cloud, "alice", "quick")
        wait([quick], timeout=patience)  # commits first if possible
        seen = look(alice, after=0)
        may_commit.set()
        late.result(10)
        quick.result(10)
    rest = look(alice, after=seen[-1] if seen else 0)
    return seen + rest != look(alice, after=0)


def look(client: Client, after: int) -> list[int]:
    """Return the events after an id, counted row by row."""
    answer = client.get("/v4/account/events", params={"after": after}, headers={"X-Filter": '{"id": {"+gt": 0}}'})
    return [item["id"] for item in answer.json()["data"]]


def test_a_writer_that_is_slow_to_commit_is_not_overtaken(cloud: Cloud, alice: Client) -> None:
    assert not overtaken(cloud, alice, 0.5)


def test_an_event_that_was_overtaken_would_be_seen(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cloud.runtime.database.dialect == "sqlite":
        pytest.skip("SQLite's one writer cannot be overtaken")
    monkeypatch.setattr(Session, "lock_account", lambda _self, _account: None)
    monkeypatch.setattr(Session, "before_commit", lambda _self: None)  # the tally's row keeps writers in line too
    assert overtaken(cloud, alice, 20)  # nothing keeps it from committing, however slow it is
