"""Clients that do not read responses: they are disconnected, and other clients are served."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crofter.edge import protocol, sending, unread
from crofter.edge.protocol import BoundedProtocol
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import connect, receive, request
from tests.observed import errors
from tests.resources.followers import eventually

PEERS = ("127.0.0.81", "127.0.0.82", "127.0.0.83")
EACH = 40
SIZE = 2_500_000


@pytest.fixture
def own_cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.close()


def attached(cloud: Cloud) -> bytes:
    """A request for a large file."""
    cloud.admin.post("/v4/support/tickets", json={"summary": "Large", "description": "A file."})
    text = b"x" * SIZE
    answer = cloud.admin.post("/v4/support/tickets/1/attachments", files={"file": ("large.txt", text, "text/plain")})
    assert answer.status_code == 200, answer.text
    return request("GET", "/v4/support/tickets/1/attachments/large.txt", token=ADMIN)


def resident() -> int:
    """Bytes of memory that this process, and so the server in it, has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def unsent(cloud: Cloud) -> list[int]:
    """Bytes that wait in our own memory, of each connection that has any."""
    connections = [protocol.transport for protocol in tuple(cloud._server.server_state.connections)]
    return [size for transport in connections if (size := transport.get_write_buffer_size())]


def stands_still(cloud: Cloud) -> bool:
    before = unsent(cloud)
    time.sleep(0.3)
    return sorted(unsent(cloud)) == sorted(before)


def test_whoever_does_not_read_takes_no_place_and_little_memory(own_cloud: Cloud) -> None:
    own_cloud.application.app.parts.max_requests = 20
    wanted = attached(own_cloud)
    before = resident()
    held = [connect(own_cloud.url, peer=peer) for peer in PEERS for _ in range(EACH)]
    for connection in held:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(3 * wanted)
    for _ in range(20):
        assert own_cloud.admin.get("/v4/tags").status_code == 200
        assert own_cloud.admin.post("/v4/tags", json={"label": "ab"}).status_code == 400
    eventually(lambda: len(unsent(own_cloud)) >= len(held) and stands_still(own_cloud))
    assert max(unsent(own_cloud)) <= 2 * sending.PIECE
    assert resident() - before < len(held) * 0.5 * 1024 * 1024  # each of three whole answers would be five times that
    for connection in held:
        connection.close()


def test_whoever_reads_nothing_for_a_while_is_cut_off(
    own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also with requests that wait behind the one that is answered, and without a word about it in the log."""
    monkeypatch.setattr(BoundedProtocol, "write_seconds", 1.0)
    wanted = attached(own_cloud)
    connections = BoundedProtocol.per_peer
    held = [connect(own_cloud.url, peer=PEERS[0]) for _ in range(5)]
    eventually(lambda: connections[PEERS[0]] == len(held))  # before they are cut off
    for connection in held:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(3 * wanted)  # the kernel may take a whole one
    eventually(lambda: connections[PEERS[0]] == 0)
    eventually(lambda: not own_cloud.application.app._unread.full(PEERS[0]))
    assert own_cloud.admin.get("/v4/tags").status_code == 200
    for connection in held:
        connection.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def in_the_kernel(cloud: Cloud, state: str) -> list[int]:
    """Bytes that the kernel holds for the server's connections in a state, of each that has any."""
    port = f":{int(cloud.url.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sizes = [int(row[4].partition(":")[0], 16) for row in rows if row[1].endswith(port) and row[3] == state]
    return [size for size in sizes if size]


ESTABLISHED, FIN_WAIT_1 = "01", "04"


def test_the_kernel_holds_little_of_what_is_not_read_and_nothing_afterwards(
    own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = attached(own_cloud)
    connections = BoundedProtocol.per_peer
    held = [connect(own_cloud.url, peer=PEERS[2]) for _ in range(20)]
    for connection in held:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(3 * wanted)
    eventually(lambda: len(unsent(own_cloud)) >= len(held) and stands_still(own_cloud))
    waiting = in_the_kernel(own_cloud, ESTABLISHED)
    assert len(waiting) >= len(held)
    assert max(waiting) <= 2 * unread.KERNEL_BUFFER
    monkeypatch.setattr(BoundedProtocol, "write_seconds", 0.5)
    eventually(lambda: connections[PEERS[2]] == 0)
    assert in_the_kernel(own_cloud, FIN_WAIT_1) == []
    for connection in held:
        connection.close()


def test_an_answer_that_the_kernel_holds_does_not_outlive_a_silent_peer(own_cloud: Cloud) -> None:
    """Nothing of it waits in our memory, so the kernel has to give it up by itself."""
    with connect(own_cloud.url):
        eventually(lambda: bool(own_cloud._server.server_state.connections))
        transports = [protocol.transport for protocol in tuple(own_cloud._server.server_state.connections)]
        option = (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        seconds = {transport.get_extra_info("socket").getsockopt(*option) / 1000 for transport in transports}
        assert seconds == {unread.UNACKNOWLEDGED_SECONDS}


def test_whoever_reads_slowly_gets_all_of_it(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "write_seconds", 1.0)
    wanted = attached(own_cloud)
    received = 0
    with connect(own_cloud.url, peer=PEERS[0]) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(wanted)
        for _ in range(8):  # twice as long as a silent one is waited for
            time.sleep(0.25)
            received += len(connection.recv(64 * 1024))
        while chunk := connection.recv(1024 * 1024):
            received += len(chunk)
            if received > SIZE:
                break
    assert received > SIZE


def test_a_peer_has_only_so_much_unread(own_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PER_PEER", 5 * 2 * sending.PIECE)
    wanted = attached(own_cloud)
    held_back = own_cloud.application.app._unread
    held = [connect(own_cloud.url, peer=PEERS[1]) for _ in range(5)]
    for connection in held:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(3 * wanted)  # the kernel may take a whole one
    eventually(lambda: held_back.full(PEERS[1]))
    with connect(own_cloud.url, peer=PEERS[1]) as connection:
        connection.sendall(wanted)
        answer = receive(connection)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        connection.sendall(request("GET", "/v4/tags", token=ADMIN))
        assert receive(connection).status == 200  # short responses are not limited
    assert own_cloud.admin.get("/v4/tags").status_code == 200
    for connection in held:
        connection.close()
    eventually(lambda: not held_back.full(PEERS[1]))


def answers(connection: socket.socket, most: int) -> int:
    """How many answers come, until there are so many or the connection ends."""
    received = b""
    try:
        while received.count(b"HTTP/1.1 200") < most and (chunk := connection.recv(1024 * 1024)):
            received += chunk
    except ConnectionResetError:
        pass
    return received.count(b"HTTP/1.1 200")


def test_only_a_few_requests_wait_on_a_connection(own_cloud: Cloud) -> None:
    sent, few = request("GET", "/v4/regions"), protocol.MAX_PIPELINED // 2
    with connect(own_cloud.url) as connection:
        connection.sendall(sent * few)
        assert answers(connection, few) == few
    with connect(own_cloud.url) as connection:
        connection.sendall(sent * 10 * protocol.MAX_PIPELINED)
        assert answers(connection, 10 * protocol.MAX_PIPELINED) <= protocol.MAX_PIPELINED
    assert own_cloud.admin.get("/v4/tags").status_code == 200


def test_a_body_that_is_too_large_is_refused_and_its_sender_hears_of_it(own_cloud: Cloud) -> None:
    for size in (2_000_000, 20_000_000):
        with connect(own_cloud.url) as connection:
            head = request("POST", "/v4/tags", token=ADMIN, body=b"x", length=size)[:-1]
            sender = threading.Thread(target=lambda: connection.sendall(head + b" " * size))  # noqa: B023
            sender.start()
            answer = receive(connection)
            assert answer.status == 413
            assert errors(answer) == [(None, "Request body is too large")]
            sender.join()
