"""Rules for every endpoint when called: permissions and headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

import pytest
from httpx2 import Client, Response

from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from crofter.scopes import covers
from tests.cloud import Cloud
from tests.document import DOCUMENT
from tests.edge.answers import FIXED

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
PRESENT = (
    "content-type",
    "x-oauth-scopes",
    "x-accepted-oauth-scopes",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "retry-after",
    "cache-control",
)
READERS = ("account:read_only", "events:read_only")
"""Scopes of which at least one does not satisfy any endpoint that requires a scope."""


def url(endpoint: Endpoint) -> str:
    """A path of the endpoint, with ids that name nothing."""
    path = endpoint.path.replace(":path}", "}")
    for name, kind in endpoint.parts.items():
        path = path.replace(f"{{{name}}}", "4711" if kind is int else quote("no-such", safe=""))
    return f"/{'v4beta' if endpoint.beta else 'v4'}/{path}"


def protected() -> list[Endpoint]:
    endpoints = [endpoint for endpoint in ENDPOINTS if not endpoint.public]
    assert endpoints
    return endpoints


def let_in(client: Client, endpoints: Iterable[Endpoint]) -> list[str]:
    """Return the endpoints that do not refuse an unknown token in the interface's words."""
    wrong = []
    for endpoint in endpoints:
        answer = client.request(endpoint.method, url(endpoint))
        seen = (answer.status_code, answer.headers.get("www-authenticate"), answer.json())
        if seen != (401, "Bearer", {"errors": [{"reason": "Invalid Token"}]}):
            wrong.append(endpoint.name)
    return wrong


@pytest.mark.both
def test_a_stranger_is_let_in_nowhere(cloud: Cloud) -> None:
    public = [endpoint for endpoint in ENDPOINTS if endpoint.public and not endpoint.writes]
    assert let_in(cloud.sandbox, public[:1]) == [public[0].name]
    assert let_in(cloud.sandbox, protected()) == []
    assert let_in(cloud.client("no-such-token"), protected()) == []


def let_in_without_scope(client_for: Callable[[Endpoint], Client], endpoints: Iterable[Endpoint]) -> list[str]:
    """Endpoints that let a token in which does not carry their scope."""
    wrong = []
    for endpoint in endpoints:
        answer = client_for(endpoint).request(endpoint.method, url(endpoint))
        challenge = f'Bearer error="insufficient_scope", scope="{endpoint.scope}"'
        reason = "Your OAuth token is not authorized to use this endpoint."
        seen = (answer.status_code, answer.headers.get("www-authenticate"), answer.json())
        if seen != (403, challenge, {"errors": [{"reason": reason}]}):
            wrong.append(endpoint.name)
    return wrong


def test_a_token_without_the_scope_is_let_in_nowhere(cloud: Cloud) -> None:
    clients = {scope: cloud.client(cloud.token("admin", scope)) for scope in READERS}

    def too_little(endpoint: Endpoint) -> Client:
        return next(client for scope, client in clients.items() if not covers(frozenset({scope}), endpoint.scope))

    asking = [endpoint for endpoint in protected() if endpoint.scopes]
    assert let_in_without_scope(lambda _: cloud.admin, _named("list_tags")) == ["list_tags"]
    assert let_in_without_scope(too_little, asking) == []


def _named(*names: str) -> list[Endpoint]:
    return [endpoint for endpoint in ENDPOINTS if endpoint.name in names]


def test_an_object_that_is_not_there_is_not_found_before_anything_else_is_looked_at(cloud: Cloud) -> None:
    owner = cloud.person(username="alice", managed=True)
    looked_up = [endpoint for endpoint in protected() if endpoint.lookups and endpoint.parts]
    answers = {endpoint.name: owner.request(endpoint.method, url(endpoint), content=b"{") for endpoint in looked_up}
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 404} == {}
    assert answers


def test_anybody_may_ask_what_is_allowed(cloud: Cloud) -> None:
    answers = [cloud.sandbox.request("OPTIONS", path) for path in sorted({url(endpoint) for endpoint in ENDPOINTS})]
    assert {answer.status_code for answer in answers} == {200}
    assert without_headers(answers) == []


def wrong_refusals(client: Client, allowed: dict[str, set[str]]) -> list[str]:
    """Methods that a path does not have, and that are not refused as such."""
    wrong = []
    for path, methods in allowed.items():
        expected = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
        for method in METHODS:
            if method in methods:
                continue
            answer = client.request(method, path)
            shown = set(answer.headers.get("allow", "").split(", "))
            if (answer.status_code, shown) != (405, expected) or "errors" not in answer.json():
                wrong.append(f"{method} {path}")
    return wrong


def test_a_method_that_a_path_does_not_have_is_refused(cloud: Cloud) -> None:
    allowed: dict[str, set[str]] = {}
    for endpoint in ENDPOINTS:
        allowed.setdefault(url(endpoint), set()).add(endpoint.method)
    assert wrong_refusals(cloud.sandbox, {"/v4/regions": {"DELETE"}})
    assert wrong_refusals(cloud.sandbox, allowed) == []


def without_headers(answers: Sequence[Response]) -> list[str]:
    """Return the missing or wrong headers."""
    wrong = set()
    for answer in answers:
        where = f"{answer.request.method} {answer.request.url.path}"
        wrong |= {f"{where}: {name}" for name in PRESENT if name not in answer.headers}
        wrong |= {f"{where}: {name}" for name, value in FIXED.items() if answer.headers.get(name) != value}
        if "no-store" not in answer.headers.get("cache-control", ""):
            wrong.add(f"{where}: cache-control")
    return sorted(wrong)


def test_every_answer_carries_the_headers_of_the_interface(cloud: Cloud) -> None:
    bare = cloud.sandbox.get("/version")
    assert len(without_headers([bare])) > len(PRESENT)
    strangers = [cloud.sandbox.request(endpoint.method, url(endpoint)) for endpoint in ENDPOINTS]
    collections = [endpoint for endpoint in ENDPOINTS if endpoint.listing and not endpoint.parts]
    owners = [cloud.admin.get(url(endpoint)) for endpoint in collections]
    others = [cloud.sandbox.get("/v4/no/such/path"), cloud.sandbox.patch("/v4/tags"), cloud.admin.head("/v4/tags")]
    assert without_headers([*strangers, *owners, *others]) == []
    assert {answer.headers["x-oauth-scopes"] for answer in strangers} == {"unknown"}
    assert {answer.headers["x-oauth-scopes"] for answer in owners} == {"*"}
    json = [answer for answer in (*owners, *others) if answer.headers["content-type"] != "application/json"]
    assert json == []


def test_the_accepted_scopes_are_shown_to_everybody(cloud: Cloud) -> None:
    for endpoint in ENDPOINTS:
        answer = cloud.sandbox.request(endpoint.method, url(endpoint))
        assert answer.headers["x-accepted-oauth-scopes"] == (",".join(endpoint.scopes) or "*"), endpoint.name


def test_deprecated_endpoints_say_so(cloud: Cloud) -> None:
    for endpoint in ENDPOINTS:
        answer = cloud.sandbox.request(endpoint.method, url(endpoint))
        assert ("warning" in answer.headers) == bool(endpoint.deprecated), endpoint.name


def test_every_path_is_served_under_both_versions(cloud: Cloud) -> None:
    for endpoint in ENDPOINTS:
        beta = url(endpoint).replace("/v4/", "/v4beta/")
        assert cloud.sandbox.request(endpoint.method, beta).status_code != 405, endpoint.name
        stable = cloud.sandbox.request(endpoint.method, beta.replace("/v4beta/", "/v4/"))
        assert (stable.status_code == 404 and endpoint.beta) or not endpoint.beta, endpoint.name


def test_the_document_says_that_a_star_needs_no_scope(cloud: Cloud) -> None:
    assert cloud.sandbox.get("/v4/regions").headers["x-accepted-oauth-scopes"] == "*"
    for path, item in DOCUMENT["paths"].items():
        for answer in item.get("get", {}).get("responses", {}).values():
            header = answer.get("headers", {}).get("X-Accepted-OAuth-Scopes")
            if header is not None and "$ref" in header:
                header = DOCUMENT["components"]["headers"][header["$ref"].rpartition("/")[2]]
            assert header is None or "no particular scope" in header["description"], path
