"""More requests than can be answered in time: some are sent away at once, so that the others are not late."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from crofter.edge import app, write_queue
from crofter.edge.perform import Performer
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import connect, receive, request

BURST = 60
WORK = 0.02
"""Seconds that each request is made to take."""
GATHERING = 1.0
"""What the first one takes: the others have all arrived by then, and are handled in one turn."""


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
    """What so many clients hear who ask at the same moment: the status, and when to come back."""
    held: list[socket.socket] = [connect(cloud.url) for _ in range(BURST)]
    for connection in held:
        connection.sendall(content)
    heard: Counter[tuple[int, str]] = Counter()
    for connection in held:
        answer = receive(connection)
        heard[answer.status, answer.headers["retry-after"] if answer.status == 503 else ""] += 1
        connection.close()
    return heard


def test_a_turn_of_the_event_loop_takes_on_only_so_much(slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_TURN", WORK / 2)
    heard = burst(slow_cloud, request("GET", "/v4/tags", token=ADMIN))
    assert set(heard) == {(200, ""), (503, "1")}
    assert slow_cloud.admin.get("/v4/tags").status_code == 200  # and whoever comes afterwards is served


def test_without_that_bound_everybody_would_wait_for_everybody(slow_cloud: Cloud) -> None:
    assert burst(slow_cloud, request("GET", "/v4/tags", token=ADMIN)) == {(200, ""): BURST}


def test_a_queue_of_writes_that_is_late_lets_nobody_in(slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "CROWDED_SECONDS", 3 * WORK)
    monkeypatch.setattr(write_queue, "MAX_QUEUE_SECONDS", 10 * WORK)
    heard = burst(slow_cloud, request("POST", "/v4/tags", token=ADMIN, body=b'{"label": "once"}'))
    assert heard[503, "1"]
    assert heard[200, ""] <= 1 <= heard[200, ""] + heard[400, ""]
    assert slow_cloud.admin.post("/v4/tags", json={"label": "afterwards"}).status_code == 200


def test_whoever_waits_for_a_thread_for_too_long_is_sent_away(
    slow_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_QUEUED", 2 * WORK)
    heard = burst(slow_cloud, request("GET", "/v4/account", token=ADMIN))
    assert heard[200, ""]
    assert heard[503, "1"]


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
