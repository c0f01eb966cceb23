"""Slow, silent and too many clients: the patient are served, the others do not hold us up."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from httpx2 import Client

from crofter.edge import hub as hubs
from crofter.edge import protocol
from crofter.edge.protocol import BoundedProtocol
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import CLOSED, connect, receive, request
from tests.observed import errors
from tests.resources.followers import eventually

SHORT = 1.0
"""Long enough for honest clients on a busy machine."""
EACH = 20


@pytest.fixture
def own_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud with little patience."""
    monkeypatch.setattr(BoundedProtocol, "receive_seconds", SHORT)
    monkeypatch.setattr(protocol, "UPLOAD_SECONDS", 2 * SHORT)
    cloud = Cloud()
    yield cloud
    cloud.close()


POST = request("POST", "/v4/tags", token=ADMIN, body=b'{"label": "slow"}')
UPLOAD = request(
    "PUT", "/v4/account/oauth-clients/x/thumbnail", body=b"x", length=9, content_type="image/png", token=ADMIN
)
SLOW = {
    "idle": (b"", 408),
    "slow start": (b"GE", 408),
    "slow header": (b"GET /v4/tags HTTP/1.1\r\nHost: x\r\nX-A: b", 408),
    # The reader of the body sees the disconnect, so there is no response.
    "slow body": (POST[:-3], CLOSED),
    "no body": (POST[: POST.index(b"{")], CLOSED),
    "slow upload": (UPLOAD, CLOSED),
}
"""Slow input, and how its connection ends."""
DRIPS = 200
"""More than are let in before the deadline; without one, there would be no end of them."""
OTHER_PEER = "127.0.0.77"
"""This machine too, but no other cloud of this process counts its connections."""


def test_a_request_that_does_not_arrive_is_not_waited_for(own_cloud: Cloud) -> None:
    held: dict[str, list[socket.socket]] = {what: [] for what in SLOW}  # all wait at the same time
    for what, (sent, _) in SLOW.items():
        for _ in range(EACH):
            connection = connect(own_cloud.url)
            connection.sendall(sent)
            held[what].append(connection)
    assert own_cloud.admin.get("/v4/tags").status_code == 200  # the honest are served meanwhile
    for what, (_, ends) in SLOW.items():
        for connection in held[what]:
            answer = receive(connection)
            assert answer.status == ends, what
            if ends == 408:
                assert errors(answer) == [(None, "Request took too long to arrive")], what
            assert connection.recv(1) == b"", what
            connection.close()
    assert own_cloud.admin.get("/v4/tags").json()["results"] == 0


def test_dripping_is_cut_off_by_the_deadline_and_no_sooner(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "receive_seconds", 2 * SHORT)
    began = time.monotonic()
    with connect(own_cloud.url) as connection:
        connection.sendall(b"GET /v4/tags HTTP/1.1\r\n")
        connection.settimeout(SHORT / 10)
        drips = 0
        while drips < DRIPS:
            connection.sendall(b"X-A: b\r\n")
            drips += 1
            try:
                connection.recv(1, socket.MSG_PEEK)
                break
            except TimeoutError:
                continue
        assert time.monotonic() - began > 1.5 * SHORT  # a slow machine makes it longer, and none shorter
        assert drips < DRIPS
        connection.settimeout(20)
        assert receive(connection).status == 408


def test_a_connection_between_two_requests_may_rest(own_cloud: Cloud) -> None:
    with connect(own_cloud.url) as connection:
        connection.sendall(request("GET", "/v4/regions"))
        assert receive(connection).status == 200
        connection.settimeout(2 * SHORT)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(20)
        connection.sendall(request("GET", "/v4/regions"))
        assert receive(connection).status == 200
        connection.sendall(b"GET /v4/reg")
        assert receive(connection).status == 408


def test_a_long_wait_for_an_answer_is_no_slowness(own_cloud: Cloud) -> None:
    answer = own_cloud.admin.get("/v4/account/events", params={"wait": 3})
    assert answer.status_code == 200


def test_without_a_deadline_the_slow_would_be_held(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "_arm", lambda _self, _seconds: None)
    with connect(own_cloud.url, timeout=2 * SHORT) as connection:
        connection.sendall(SLOW["slow header"][0])
        with pytest.raises(TimeoutError):
            receive(connection)


def test_one_peer_has_only_so_many_connections(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "CONNECTIONS_PER_PEER", 10)
    monkeypatch.setattr(BoundedProtocol, "receive_seconds", 20)
    held = [connect(own_cloud.url, peer=OTHER_PEER) for _ in range(15)]
    read_after = []
    for connection in held:
        connection.sendall(request("GET", "/v4/regions"))
        read_after.append(receive(connection).status)
    assert read_after == [200] * 10 + [CLOSED] * 5
    for connection in held:
        connection.close()
    eventually(lambda: _answers(own_cloud))


def _answers(cloud: Cloud) -> bool:
    try:
        with connect(cloud.url, peer=OTHER_PEER) as connection:
            connection.sendall(request("GET", "/v4/regions"))
            return receive(connection).status == 200
    except OSError:
        return False


# ---- too many at once -----------------------------------------------------------------------------------------------


@pytest.fixture
def narrow() -> Iterator[Cloud]:
    """A cloud that does two things at a time."""
    cloud = Cloud(max_requests=2)
    yield cloud
    cloud.close()


def test_more_than_it_can_do_at_once_is_refused_with_a_time_to_come_back(narrow: Cloud) -> None:
    app = narrow.application.app
    with narrow.runtime.database.write():  # blocks other writers
        writing = [connect(narrow.url) for _ in range(2)]
        for number, connection in enumerate(writing):
            connection.sendall(request("POST", "/v4/tags", token=ADMIN, body=f'{{"label": "tag {number}"}}'))
        eventually(lambda: app._busy == 2)
        refused = narrow.admin.get("/v4/tags")
        assert (refused.status_code, errors(refused)) == (503, [(None, "The service is busy. Please try again.")])
        assert refused.headers["retry-after"] == "1"
        assert narrow.sandbox.get("/health/live").status_code == 200
    for connection in writing:
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.close()
    eventually(lambda: app._busy == 0)
    assert narrow.admin.get("/v4/tags").json()["results"] == 2


@pytest.mark.parametrize("path", ["/v4/account/events?wait=50", "/v4/account/events/stream"])
def test_who_waits_keeps_nobody_from_being_served(narrow: Cloud, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(hubs, "WAITERS", 5)
    hub = narrow.application.app.parts.hub
    waiting: list[socket.socket] = []
    for _ in range(5):
        waiting.append(connect(narrow.url))
        waiting[-1].sendall(request("GET", path, token=ADMIN))
        eventually(lambda: hub.waiting == len(waiting))
    assert narrow.admin.get("/v4/tags").status_code == 200
    one_too_many = narrow.admin.get(path)
    assert (one_too_many.status_code, errors(one_too_many)) == (429, [(None, hubs.CROWDED)])
    stranger = narrow.person()
    with connect(narrow.url) as other:
        token = stranger.headers["authorization"].removeprefix("Bearer ")
        other.sendall(request("GET", path, token=token))
        eventually(lambda: hub.waiting == 6)  # a neighbour has as many of its own
    for connection in waiting:
        connection.close()
    eventually(lambda: hub.waiting == 0)
    eventually(lambda: narrow.application.app._busy == 0)


def test_maintenance_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud(maintenance="Back at noon")
    try:
        answer = cloud.admin.get("/v4/tags")
        assert (answer.status_code, answer.headers["x-maintenance-mode"]) == (503, "Back at noon")
        assert errors(answer) == [(None, "Back at noon")]
        assert isinstance(cloud.admin, Client)
        assert cloud.sandbox.get("/health/live").status_code == 200
    finally:
        cloud.close()
