"""The HTTP surface: what is tolerated, and what every answer looks like."""

from __future__ import annotations

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.edge.answers import FIXED, request, send
from tests.observed import errors

ALWAYS = {
    "content-type": "application/json",
    "cache-control": "private, max-age=0, s-maxage=0, no-cache, no-store",
    **FIXED,
}
NUMBERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after")

WRONG_TYPE = "Unsupported Media Type"


@pytest.mark.parametrize(
    "path",
    [
        "/v4/tags",
        "/v4beta/tags",
        "/v4/tags/",
        "/v4beta/tags/",
        "/v4//tags",
        "/v4//tags/",
        "/v4/tags?page=1",
        "/v4/tags?unknown=1&also=",
        "/v4/%74ags",
    ],
)
def test_a_path_is_recognised_in_all_its_spellings(alice: Client, path: str) -> None:
    alice.post("/v4/tags", json={"label": "production"})
    assert alice.get(path).json()["data"] == [{"label": "production"}]


@pytest.mark.parametrize(
    "path",
    ["/v4", "/v4/", "/v5/tags", "/v4/tag", "/v4/tags//", "/v4///tags", "/v4/Tags", "/v4tags", "/v4/tags/a/b"],
)
def test_other_paths_lead_nowhere(alice: Client, path: str) -> None:
    answer = send(str(alice.base_url), request("GET", path, token=alice.headers["authorization"].split()[1]))
    assert answer.status == 404
    assert answer.json() == {"errors": [{"reason": "Not found"}]}


def test_an_id_may_hold_an_encoded_slash(alice: Client) -> None:
    alice.post("/v4/tags", json={"label": "prod/eu"})
    assert alice.get("/v4/tags/prod%2Feu").status_code == 200
    assert alice.get("/v4/tags/prod%2feu/").status_code == 200
    assert alice.get("/v4/tags/prod/eu").status_code == 404


def test_ids_of_images_may_hold_a_plain_slash_too(cloud: Cloud, alice: Client) -> None:
    image = alice.get("/v4/images").json()["data"][0]["id"]
    assert "/" in image
    for spelling in (image, image.replace("/", "%2F")):
        assert alice.get(f"/v4/images/{spelling}").json()["id"] == image


def test_a_page_number_on_what_is_no_collection_is_ignored(alice: Client) -> None:
    assert alice.get("/v4/regions/us-east?page=1&page_size=x").status_code == 200


def test_head_is_get_without_the_body(alice: Client) -> None:
    alice.post("/v4/tags", json={"label": "production"})
    got, head = alice.get("/v4/tags"), alice.head("/v4/tags")
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == got.headers["content-length"]
    assert alice.head("/v4/account/events/4711").status_code == 404
    assert alice.head("/v4/account/events/stream").status_code == 200


@pytest.mark.parametrize("path", ["/v4/tags", "/v4/tags/some", "/v4/nowhere", "/v4/account/events/1"])
def test_anybody_may_ask_for_options(cloud: Cloud, path: str) -> None:
    answer = cloud.sandbox.options(path, headers={"Origin": "https://console.example", "Authorization": "Bearer bad"})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_wrong_method_is_told_which_are_right(alice: Client) -> None:
    answer = alice.patch("/v4/tags", json={})
    assert answer.status_code == 405
    assert answer.json() == {"errors": [{"reason": "Method Not Allowed"}]}
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert alice.put("/v4/tags/some", json={}).headers["allow"] == "DELETE, GET, HEAD, OPTIONS"


@pytest.mark.parametrize("body", [b"", b"{}", b" \n", b'{"computeId": 1, "event_id": "x"}', b"[]", b"null"])
def test_an_action_takes_any_body_that_is_json_or_none(alice: Client, body: bytes) -> None:
    alice.post("/v4/tags", json={"label": "production"})
    event = alice.get("/v4/account/events").json()["data"][0]["id"]
    path = f"/v4/account/events/{event}/read"
    answer = alice.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()) == (200, {})
    assert alice.post(path).status_code == 200


def test_unknown_and_read_only_fields_and_nulls_are_ignored(alice: Client) -> None:
    body = {"label": "production", "id": 7, "created": "x", "owner": {"a": [1]}, "computes": None, "volumes": []}
    assert alice.post("/v4/tags", json=body).json() == {"label": "production"}


def test_null_in_place_of_a_required_field_is_a_missing_field(alice: Client) -> None:
    answer = alice.post("/v4/tags", json={"label": None})
    assert (answer.status_code, errors(answer)) == (400, [("label", "label is required")])


@pytest.mark.parametrize(
    "content_type", ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8", None]
)
def test_json_is_taken_under_its_own_name_or_none(cloud: Cloud, content_type: str | None) -> None:
    content = request(
        "POST", "/v4/tags", token=cloud.token("admin"), body='{"label": "abc"}', content_type=content_type
    )
    assert send(cloud.url, content).status == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "a/b/c"]
)
def test_json_under_another_name_is_not(alice: Client, content_type: str) -> None:
    answer = alice.post("/v4/tags", content=b'{"label": "abc"}', headers={"Content-Type": content_type})
    remedy = "Send the body as application/json."
    assert (answer.status_code, errors(answer)) == (415, [(None, WRONG_TYPE), (None, remedy)])
    assert alice.get("/v4/tags").json()["results"] == 0


def statuses(cloud: Cloud, alice: Client) -> dict[int, object]:
    """An answer of each status that can be had without breaking anything."""
    alice.post("/v4/tags", json={"label": "taken"})
    key = {"Idempotency-Key": "one"}
    alice.post("/v4/tags", json={"label": "first"}, headers=key)
    reader = cloud.client(cloud.token("alice", "account:read_only"))
    cloud.fault("http", status=503, path="/v4/regions")
    return {
        200: alice.get("/v4/tags"),
        400: alice.post("/v4/tags", json={"label": "taken"}),
        401: cloud.sandbox.get("/v4/tags"),
        403: reader.post("/v4/tags", json={"label": "mine"}),
        404: alice.get("/v4/tags/none"),
        405: alice.patch("/v4/tags"),
        409: alice.post("/v4/tags", json={"label": "second"}, headers=key),
        413: alice.post("/v4/tags", content=b" " * (1024 * 1024 + 1), headers={"Content-Type": "application/json"}),
        415: alice.post("/v4/tags", content=b"x", headers={"Content-Type": "text/plain"}),
        503: alice.get("/v4/regions"),
    }


def test_every_status_has_the_same_headers_and_the_error_form(cloud: Cloud, alice: Client) -> None:
    for status, answer in statuses(cloud, alice).items():
        assert answer.status_code == status  # type: ignore[attr-defined]
        headers = answer.headers  # type: ignore[attr-defined]
        assert {name: headers.get(name) for name in ALWAYS} == ALWAYS, status
        assert all(headers[name].isdigit() for name in NUMBERS), status
        assert headers["x-request-id"]
        assert "strict-transport-security" not in headers
        if status >= 400:
            body = answer.json()  # type: ignore[attr-defined]
            assert list(body) == ["errors"]
            assert all(set(error) <= {"field", "reason"} and error["reason"] for error in body["errors"]), status


def test_the_scopes_of_the_token_and_of_the_endpoint_are_told(cloud: Cloud, alice: Client) -> None:
    some = cloud.client(cloud.token("alice", "events:read_only account:read_only"))
    assert some.get("/v4/tags").headers["x-oauth-scopes"] == "account:read_only events:read_only"
    assert alice.get("/v4/tags").headers["x-oauth-scopes"] == "*"
    assert cloud.sandbox.get("/v4/tags").headers["x-oauth-scopes"] == "unknown"
    assert cloud.sandbox.get("/v4/tags").headers["x-accepted-oauth-scopes"] == "account:read_only"
    assert cloud.sandbox.get("/v4/regions").headers["x-accepted-oauth-scopes"] == "*"


def test_every_answer_has_an_id_of_its_own(alice: Client) -> None:
    assert len({alice.get("/v4/regions").headers["x-request-id"] for _ in range(20)}) == 20


def test_moments_are_utc_to_the_second_without_a_zone(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    now = cloud.sandbox.get("/_sandbox/clock").json()["now"]
    alice.post("/v4/tags", json={"label": "production"})
    assert alice.get("/v4/account/events").json()["data"][0]["created"] == now
    assert len(now) == len("2026-03-01T12:00:00")


def test_a_page_of_another_origin_may_send_and_read_what_the_interface_has(cloud: Cloud) -> None:
    """Check the preflight response: without these names a browser neither sends nor shows the headers."""
    wanted = {"idempotency-key", "prefer", "if-match", "if-none-match", "last-event-id", "authorization", "x-filter"}
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = ", ".join(sorted(wanted))
    preflight = cloud.sandbox.options("/v4/tags", headers=asked)
    assert preflight.status_code == 200
    allowed = {name.strip().lower() for name in preflight.headers["access-control-allow-headers"].split(",")}
    assert wanted <= allowed
    answer = cloud.admin.get("/v4/tags", headers={"Origin": "https://elsewhere.example"})
    exposed = {name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")}
    limits = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "x-request-id"}
    assert limits <= exposed & set(answer.headers)
    assert {"etag", "x-event-id", "idempotent-replayed"} <= exposed
