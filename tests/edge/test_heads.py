"""The head of a request is bounded: its address, each header, their number and sum, and the trailers."""

from __future__ import annotations

from collections.abc import Iterator
from socket import socket

import pytest

from crofter.edge.protocol import MAX_FIELDS, MAX_HEAD
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import CLOSED, Raw, connect, receive, request
from tests.observed import errors

GET = b"GET /v4/regions HTTP/1.1\r\nHost: x\r\n"
CHUNKED = (
    b"POST /v4/tags HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
) % ADMIN.encode()
BODY = b'11\r\n{"label": "abcd"}\r\n0\r\n'
SMALL = b"a:\r\n"
ENDLESS = 8 * MAX_HEAD
"""More than is read at once, too."""
LONG = b"X-A: " + b"b" * ENDLESS

TOO_MUCH = {
    "address": b"GET /v4/regions?" + b"a" * ENDLESS,
    "address that ends": b"GET /v4/regions?" + b"a" * ENDLESS + b" HTTP/1.1\r\n",
    "header": GET + LONG,
    "header that ends": GET + LONG + b"\r\n\r\n",
    "name of a header": GET + b"b" * ENDLESS,
    "sum of headers": GET + (b"X-A: " + b"b" * 1000 + b"\r\n") * (ENDLESS // 1000),
    "number of headers": GET + SMALL * ENDLESS,
    "empty lines": b"\r\n" * ENDLESS,
}


@pytest.fixture
def connection(cloud: Cloud) -> Iterator[socket]:
    with connect(cloud.url) as made:
        yield made


def drip(connection: socket, content: bytes, size: int) -> Raw:
    """Send in pieces and read the response, even if the connection was closed midway."""
    try:
        for start in range(0, len(content), size):
            connection.sendall(content[start : start + size])
    except ConnectionError:
        pass
    return receive(connection)


@pytest.mark.parametrize("size", [4096, 1024 * 1024], ids=["in pieces", "at once"])
@pytest.mark.parametrize("head", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_head_without_end_is_cut_off(connection: socket, head: bytes, size: int) -> None:
    answer = drip(connection, head, size)
    # Unread data at the close may cost the client the response.
    assert answer.status in (431, CLOSED)
    if answer.status:
        assert errors(answer) == [(None, "Request headers are too large")]
        assert answer.headers["connection"] == "close"


def test_the_refusal_says_why(connection: socket) -> None:
    answer = drip(connection, GET + SMALL * MAX_FIELDS + b"\r\n", 1024 * 1024)
    assert (answer.status, errors(answer)) == (431, [(None, "Request headers are too large")])
    assert answer.headers["connection"] == "close"
    assert connection.recv(1) == b""


def test_a_large_head_within_the_bounds_is_heard_each_time_anew(connection: socket) -> None:
    large = GET + SMALL * (MAX_FIELDS - 2) + LONG[: MAX_HEAD - 1000] + b"\r\n\r\n"
    for size in (4096, 1024 * 1024, 1000):
        assert drip(connection, large, size).status == 200


def test_a_body_is_no_part_of_the_head(connection: socket) -> None:
    body = b'{"label": "abcd"%s}' % (b" " * 3 * MAX_HEAD)
    for _ in range(2):
        sent = request("POST", "/v4/tags", token=ADMIN, body=body)
        assert drip(connection, sent, 1000).status in (200, 400)  # the second is there already


def test_requests_one_behind_the_other_are_each_measured_alone(connection: socket) -> None:
    body = b'{"label": "abcd"%s}' % (b" " * 2 * MAX_HEAD)
    post = request("POST", "/v4/tags", token=ADMIN, body=body)
    large = GET + LONG[: MAX_HEAD // 2] + b"\r\n\r\n"
    connection.sendall((post + large) * 3)
    read = [_next(connection) for _ in range(6)]
    assert read == [200, 200, 400, 200, 400, 200]


def _next(connection: socket) -> int:
    """The status of the next answer, and not a byte more than that answer."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while length:
        length -= len(connection.recv(length))
    return int(head.split()[1])


TRAILERS = {"many": SMALL * (MAX_FIELDS + 1), "long": LONG + b"\r\n"}


@pytest.mark.parametrize("trailers", TRAILERS.values(), ids=TRAILERS)
def test_trailers_are_bounded(cloud: Cloud, connection: socket, trailers: bytes) -> None:
    assert drip(connection, CHUNKED + BODY + trailers + b"\r\n", 4096).status == CLOSED
    assert cloud.admin.get("/v4/tags").json()["results"] == 0


def test_a_trailer_is_no_header(cloud: Cloud, connection: socket) -> None:
    stranger = CHUNKED.replace(b"Authorization: Bearer " + ADMIN.encode(), b"X-A: b")
    trailers = f"Authorization: Bearer {ADMIN}\r\n\r\n".encode()
    assert drip(connection, stranger + BODY + trailers, 1024 * 1024).status == 401
    assert drip(connection, CHUNKED + BODY + b"X-A: b\r\n\r\n", 1024 * 1024).status == 200
    assert [tag["label"] for tag in cloud.admin.get("/v4/tags").json()["data"]] == ["abcd"]
