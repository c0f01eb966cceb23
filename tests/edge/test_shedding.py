"""More requests than can be answered in time: some are sent away at once, so that the others are not late."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from crofter.edge import group_reads, mounts, turns, write_queue
from crofter.edge.perform import Performer
from crofter.edge.protocol import BoundedProtocol
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import connect, receive, request

BURST = 60
WORK = 0.02
"""Seconds that each request is made to take."""
GATHERING = 1.0
"""Duration of the first request: the others arrive meanwhile and are handled in a single turn."""


@pytest.fixture
def slow_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud in which every request takes a while."""
    perform, first = Performer.perform, [GATHERING]

    def slowly(self: Performer, *request: Any) -> Any:
        time.sleep(first.pop() if first else WORK)
        return perform(self, *request)

    monkeypatch.setattr(Performer, "perform", slowly)
    cloud = Cloud()
    yield cloud
    cloud.close()


def burst(cloud: Cloud, content: bytes) -> Counter[tuple[int, str]]:
    """Return statuses and ``Retry-After`` values of many simultaneous clients."""
    held: list[socket.socket] = [connect(cloud.url) for _ in range(BURST)]
    for connection in held:
        connection.sendall(content)
    answers: Counter[tuple[int, str]] = Counter()
    for connection in held:
        answer = receive(connection)
        answers[answer.status, answer.headers["retry-after"] if answer.status == 503 else ""] += 1
        connection.close()
    return answers


def test_a_health_check_does_not_wait_for_all_who_came_before_it(
    slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn of the event loop takes on a part of them; the others are answered in later ones."""
    done, perform, live = list[str](), Performer.perform, mounts._live
    monkeypatch.setattr(Performer, "perform", lambda *request: (done.append("request"), perform(*request))[1])
    monkeypatch.setattr(mounts, "_live", lambda: (done.append("live"), live())[1])
    held = [connect(slow_cloud.url) for _ in range(BURST)]
    for connection in held:
        connection.sendall(request("GET", "/v4/tags", token=ADMIN))
    with connect(slow_cloud.url) as checking:
        checking.sendall(request("GET", "/health/live"))
        assert receive(checking).status == 200
    assert {receive(connection).status for connection in held} == {200}
    assert done.index("live") < BURST / 2
    for connection in held:
        connection.close()


def test_whoever_waits_for_a_turn_for_too_long_is_sent_away(slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_WAIT_SECONDS", 5 * WORK)
    answers = burst(slow_cloud, request("GET", "/v4/tags", token=ADMIN))
    assert set(answers) == {(200, ""), (503, "1")}
    assert slow_cloud.admin.get("/v4/tags").status_code == 200  # later clients are served


def test_many_connections_are_accepted_in_one_turn(slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one for each turn, and turns that are long, the last of many would wait for all others."""
    turn, accepted_in = [0], list[int]()
    made, perform, all_have_come = BoundedProtocol.connection_made, Performer.perform, threading.Event()
    monkeypatch.setattr(Performer, "perform", lambda *request: (all_have_come.wait(60), perform(*request))[1])

    def noted(self: BoundedProtocol, transport: Any) -> None:
        accepted_in.append(turn[0])
        made(self, transport)

    def count() -> None:
        turn[0] += 1
        if turn[0] < 100_000:
            loop.call_soon(count)

    with connect(slow_cloud.url) as first:
        first.sendall(request("GET", "/v4/tags", token=ADMIN))  # keeps the event loop while the others connect
        for _ in range(1000):
            if slow_cloud.application.app._turns._began is not None:
                break
            time.sleep(0.005)
        loop = slow_cloud.application.app._turns._loop
        monkeypatch.setattr(BoundedProtocol, "connection_made", noted)
        loop.call_soon_threadsafe(count)
        held = [connect(slow_cloud.url) for _ in range(BURST)]
        assert not accepted_in
        all_have_come.set()
        assert receive(first).status == 200
        for connection in held:
            connection.sendall(request("GET", "/health/live"))
            assert receive(connection).status == 200
            connection.close()
    turn[0] = 100_000
    assert len(accepted_in) == BURST
    assert accepted_in[-1] - accepted_in[0] < BURST / 4


def test_a_queue_of_writes_that_is_late_lets_nobody_in(slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as impatient:
        impatient.setattr(write_queue, "CROWDED_SECONDS", 3 * WORK)
        impatient.setattr(write_queue, "MAX_QUEUE_SECONDS", 10 * WORK)
        answers = burst(slow_cloud, request("POST", "/v4/tags", token=ADMIN, body=b'{"label": "once"}'))
    assert answers[503, "1"]
    assert answers[200, ""] <= 1 <= answers[200, ""] + answers[400, ""]
    assert slow_cloud.admin.post("/v4/tags", json={"label": "afterwards"}).status_code == 200


def test_whoever_waits_for_a_thread_for_too_long_is_sent_away(
    slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_reads, "MAX_QUEUE_SECONDS", 2 * WORK)
    answers = burst(slow_cloud, request("GET", "/v4/account", token=ADMIN))
    assert answers[200, ""]
    assert answers[503, "1"]


AMBIGUOUS = {
    "no host": b"GET /v4/regions HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /v4/regions HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "two tokens": b"GET /v4/tags HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer %s\r\n\r\n"
    % ADMIN.encode(),
    "an encoding besides chunked": b"POST /v4/tags HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
}


@pytest.mark.parametrize("content", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_request_that_a_proxy_may_read_otherwise_is_refused(cloud: Cloud, content: bytes) -> None:
    with connect(cloud.url) as connection:
        connection.sendall(content)
        assert receive(connection).status == 400
    assert cloud.admin.get("/v4/regions").status_code == 200


def test_an_old_client_need_not_name_a_host(cloud: Cloud) -> None:
    with connect(cloud.url) as connection:
        connection.sendall(b"GET /v4/regions HTTP/1.0\r\n\r\n")
        assert receive(connection).status == 200


def test_only_where_files_are_taken_a_body_may_take_longer(cloud: Cloud) -> None:
    taken = cloud.application.app.takes_upload
    assert taken("PUT", b"/v4/account/oauth-clients/x/thumbnail")
    assert taken("POST", b"/v4/support/tickets/1/attachments")
    assert not taken("POST", b"/v4/tags")
    assert not taken("POST", b"/nowhere")
