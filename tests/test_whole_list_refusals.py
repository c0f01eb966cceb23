"""Shared refusals of all endpoints, compared with their documentation."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator

import pytest
from httpx2 import Client, Response
from msgspec import inspect

from crofter.config import RATE_LIMITS
from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from tests.cloud import ADMIN, Cloud
from tests.matrix import Matrix, declared
from tests.observed import errors
from tests.test_whole_list_http import url

WRITES = [endpoint for endpoint in ENDPOINTS if endpoint.writes]
POSTS = [endpoint for endpoint in WRITES if endpoint.method == "POST"]
FAR_TOO_MUCH = 10**9


def others_than(status: int, endpoints: Iterable[Endpoint], ask: Callable[[Endpoint], int]) -> dict[str, int]:
    """Return the endpoints with another status than this."""
    answers = {endpoint.name: ask(endpoint) for endpoint in endpoints}
    assert len(answers) > 50
    return {name: answer for name, answer in answers.items() if answer != status}


def asking(client: Client) -> Callable[[Endpoint], int]:
    return lambda endpoint: client.request(endpoint.method, url(endpoint)).status_code


def announced(cloud: Cloud, endpoint: Endpoint) -> int:
    """The status of a request that only says how much is to come."""
    head = f"{endpoint.method} {url(endpoint)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n"
    with socket.create_connection(("127.0.0.1", cloud.runtime.settings.port), timeout=20) as wire:
        wire.sendall(f"{head}Content-Length: {FAR_TOO_MUCH}\r\n\r\n".encode())
        return int(wire.recv(64).split()[1])


@pytest.fixture
def short_of_time() -> Iterator[Cloud]:
    """A cloud in which one request a minute is allowed."""
    cloud = Cloud(rate_limits=dict.fromkeys(RATE_LIMITS, "1 per 1 minute"))
    yield cloud
    cloud.close()


@pytest.fixture
def closed() -> Iterator[Cloud]:
    cloud = Cloud(maintenance="Back at noon")
    yield cloud
    cloud.close()


def test_every_endpoint_has_its_rate_limit(short_of_time: Cloud) -> None:
    client = short_of_time.client(None)
    client.get("/v4/regions")
    assert others_than(429, ENDPOINTS, asking(client)) == {}


def test_every_endpoint_is_closed_for_maintenance(cloud: Cloud, closed: Cloud) -> None:
    assert len(others_than(503, ENDPOINTS, asking(cloud.sandbox))) == len(ENDPOINTS)
    assert others_than(503, ENDPOINTS, asking(closed.sandbox)) == {}


def test_no_write_takes_a_body_without_end(cloud: Cloud) -> None:
    assert others_than(413, WRITES, lambda endpoint: announced(cloud, endpoint)) == {}


@pytest.mark.both
def test_no_post_takes_the_key_of_another_request(cloud: Cloud, alice: Client) -> None:
    alice.headers["Idempotency-Key"] = "once"
    assert alice.post("/v4/tags", json={"label": "first"}).status_code == 200
    assert others_than(409, POSTS, asking(alice)) == {}


def test_no_write_takes_a_body_of_a_kind_that_it_does_not_know(cloud: Cloud) -> None:
    matrix = Matrix(cloud)

    def sent(endpoint: Endpoint) -> Response:
        return matrix.ask("unrestricted", endpoint, content_type="text/csv")

    assert others_than(415, WRITES, lambda endpoint: sent(endpoint).status_code) == {}


def test_no_number_in_a_query_is_taken_that_is_none(cloud: Cloud) -> None:
    matrix = Matrix(cloud)
    listed = [endpoint for endpoint in ENDPOINTS if endpoint.listing]

    def turned(endpoint: Endpoint) -> int:
        return matrix.ask("unrestricted", endpoint, query="?page=none").status_code

    answers = {endpoint.name: turned(endpoint) for endpoint in listed}
    counted = [endpoint for endpoint in ENDPOINTS for parameter in endpoint.query if parameter.type is int]
    assert len(answers) > 20
    assert counted
    for endpoint in counted:
        sent = "&".join(f"{parameter.name}=none" for parameter in endpoint.query)
        answers[endpoint.name] = matrix.ask("unrestricted", endpoint, query=f"?{sent}").status_code
    assert {name: answer for name, answer in answers.items() if answer != 400} == {}


STORED = {"create_ssh_key", "create_managed_credential"}
"""Endpoints that store a credential and do not answer it."""
NO_CREDENTIAL = {"upload_image": "an address for one upload", "confirm_two_factor": "a code, and no rights"}


def reveals(endpoint: Endpoint) -> bool:
    """True if the answer has a field that holds a secret."""
    fields = getattr(inspect.type_info(endpoint.answers), "fields", ())
    return any((getattr(field.type, "extra", None) or {}).get("secret") for field in fields)


def test_requests_that_create_credentials_refuse_unknown_fields(cloud: Cloud) -> None:
    matrix = Matrix(cloud)
    posts = [endpoint for endpoint in POSTS if endpoint.body is not None and endpoint.name not in NO_CREDENTIAL]
    asked = [endpoint for endpoint in posts if endpoint.name in STORED or reveals(endpoint)]
    assert {"create_token", "create_oauth_client", "create_longview_client", *STORED} == {
        endpoint.name for endpoint in asked
    }
    for endpoint in asked:
        path = declared(endpoint).path.format(**matrix.parts)
        answer = matrix.alice.post(path, json={"limits": {"requests": 1}, "id": 1})
        assert (answer.status_code, errors(answer)[-1]) == (400, ("limits", "Unknown field")), endpoint.name
        assert "id" not in [field for field, _ in errors(answer)], "a read-only field is ignored"


@pytest.mark.parametrize("path", ["accounts", "tokens"])
def test_the_sandbox_makes_no_token_from_unknown_fields(cloud: Cloud, path: str) -> None:
    answer = cloud.sandbox.post(f"/_sandbox/{path}", json={"username": "admin", "expires": 60})
    assert (answer.status_code, errors(answer)) == (400, [("expires", "Unknown field")])
