"""Sandbox API, for callers on this machine."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter import __version__, clock
from crofter.sandbox import faults
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import request, send
from tests.observed import errors

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
CALLS = {
    "": ("GET",),
    "/reset": ("POST",),
    "/accounts": ("POST",),
    "/tokens": ("POST",),
    "/clock": ("GET",),
    "/clock/freeze": ("POST",),
    "/clock/thaw": ("POST",),
    "/clock/advance": ("POST",),
    "/clock/tick": ("POST",),
    "/settle": ("POST",),
    "/transitions": ("GET", "PUT"),
    "/faults": ("GET", "POST", "DELETE"),
    "/outbox": ("GET",),
    "/snapshots": ("GET", "POST"),
}
FIRST = {"accounts": 1, "users": 1, "tokens": 1, "tags": 0, "events": 0, "operations": 0}
"""Objects at a first start."""
KINDS = (
    "Must be one of http, card_declined, power_off, host_maintenance, host_back, region_outage, region_back,"
    " migration_pending, maintenance, probe"
)


def call(cloud: Cloud, method: str, path: str, body: Any = None) -> Response:
    return cloud.sandbox.request(method, f"/_sandbox{path}", json=body)


def done(cloud: Cloud, method: str, path: str, body: Any = None) -> Any:
    answer = call(cloud, method, path, body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def refused(cloud: Cloud, method: str, path: str, body: Any = None) -> list[tuple[str | None, str]]:
    answer = call(cloud, method, path, body)
    assert answer.status_code == 400, answer.text
    return errors(answer)


def later(moment: str, seconds: float) -> str:
    return clock.text(clock.parse(moment) + int(seconds * 1000))


@pytest.mark.both
def test_the_sandbox_api_tells_the_state_of_the_service(cloud: Cloud, alice: Client) -> None:
    frozen = done(cloud, "POST", "/clock/freeze")
    assert alice.post("/v4/tags", json={"label": "mine"}).status_code == 200
    state = done(cloud, "GET", "")
    assert state == {
        "version": __version__,
        "mode": "sandbox",
        "driver": "simulated",
        "database": cloud.runtime.database.dialect,
        "clock": frozen,
        "counts": {"accounts": 2, "users": 2, "tokens": 2, "tags": 1, "events": 1, "operations": 0},
    }
    assert done(cloud, "GET", "/") == state


def test_what_the_sandbox_api_does_not_have_is_refused_in_the_error_form(cloud: Cloud) -> None:
    nothing = call(cloud, "GET", "/nothing")
    assert (nothing.status_code, errors(nothing)) == (404, [(None, "Not found")])
    for path, methods in CALLS.items():
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
            if method not in methods:
                answer = call(cloud, method, path)
                assert answer.status_code == 405, (method, path)
                assert errors(answer) == [(None, "Method Not Allowed")]


# ---- people ---------------------------------------------------------------------------------------------------------


def test_an_account_is_made_with_one_call(cloud: Cloud) -> None:
    made = done(cloud, "POST", "/accounts")
    assert set(made) == {"euuid", "username", "token"}
    client = cloud.client(made["token"])
    assert client.get("/v4/account").json()["euuid"] == made["euuid"]
    assert client.get("/v4/tags").headers["x-oauth-scopes"] == "*"


@pytest.mark.both
def test_an_account_is_made_as_asked(cloud: Cloud) -> None:
    made = done(cloud, "POST", "/accounts", {"username": "carol", "email": "carol@example.org", "managed": True})
    assert made["username"] == "carol"
    client = cloud.client(made["token"])
    assert client.get("/v4/account").json()["email"] == "carol@example.org"
    assert client.get("/v4/account/settings").json()["managed"] is True


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"username": "x"}, "Length must be 3-32 characters"),
        ({"username": "a b c"}, "Must be letters and digits, with single - or _ between them"),
        ({"username": "admin"}, "Username is taken"),
        ({"email": "x"}, "Length must be 3-128 characters"),
        ({"card": "stolen"}, "Must be one of valid, declined, none"),
        ({"managed": "yes"}, "Must be of type Boolean"),
        ({"public_ips": 0}, "Must be 1-100"),
    ],
)
def test_an_account_that_cannot_be_is_not_made(cloud: Cloud, body: dict[str, Any], reason: str) -> None:
    [field] = body
    assert refused(cloud, "POST", "/accounts", body) == [(field, reason)]
    assert done(cloud, "GET", "")["counts"]["accounts"] == 1


@pytest.mark.both
def test_tokens_can_be_had_for_anybody(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    all_powers = cloud.client(done(cloud, "POST", "/tokens", {"username": "alice"})["token"])
    assert all_powers.post("/v4/tags", json={"label": "mine"}).status_code == 200
    reader = cloud.client(done(cloud, "POST", "/tokens", {"username": "alice", "scopes": "account:read_only"})["token"])
    assert reader.get("/v4/tags").json()["results"] == 1
    assert reader.get("/v4/account/events").status_code == 403
    short = cloud.client(done(cloud, "POST", "/tokens", {"username": "alice", "expires_in": 30})["token"])
    assert short.get("/v4/tags").status_code == 200
    cloud.advance(30)
    assert short.get("/v4/tags").status_code == 401


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ("username", "username is required")),
        ({"username": "nobody"}, ("username", "username is not valid")),
        ({"username": "admin", "scopes": "everything"}, ("scopes", "everything is not a scope")),
        ({"username": "admin", "scopes": "account:write"}, ("scopes", "account:write is not a scope")),
        ({"username": "admin", "scopes": ""}, ("scopes", "scopes is required")),
        ({"username": "admin", "expires_in": "x"}, ("expires_in", "Must be of type Number")),
    ],
)
def test_a_token_that_cannot_be_is_not_made(cloud: Cloud, body: dict[str, Any], expected: tuple[str, str]) -> None:
    assert refused(cloud, "POST", "/tokens", body) == [expected]


# ---- reset ----------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_reset_leads_back_to_a_first_start(cloud: Cloud, alice: Client) -> None:
    cloud.admin.post("/v4/tags", json={"label": "gone"})
    cloud.freeze()
    cloud.advance(1000)
    transitions = done(cloud, "GET", "/transitions")
    done(cloud, "PUT", "/transitions", {"*": {"seconds": 77}})
    done(cloud, "POST", "/faults", {"kind": "http", "status": 500, "times": 5})
    assert done(cloud, "POST", "/reset") == {}
    assert cloud.admin.get("/v4/tags").json()["results"] == 0  # the bootstrap token is good still
    assert alice.get("/v4/tags").status_code == 401
    state = done(cloud, "GET", "")
    assert (state["clock"]["mode"], state["counts"]) == ("real", FIRST)
    assert done(cloud, "GET", "/faults") == []
    assert done(cloud, "GET", "/transitions") == transitions
    cloud.admin.post("/v4/tags", json={"label": "first"})
    assert cloud.admin.get("/v4/account/events").json()["data"][0]["id"] == 1  # ids start over


@pytest.mark.both
def test_the_first_user_is_the_same_after_every_reset(cloud: Cloud) -> None:
    for _ in range(3):
        done(cloud, "POST", "/reset")
        assert cloud.client(ADMIN).get("/v4/profile").json()["username"] == "admin"


# ---- the clock ------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_frozen_clock_moves_only_when_it_is_moved(cloud: Cloud) -> None:
    frozen = done(cloud, "POST", "/clock/freeze")
    assert (set(frozen), frozen["mode"]) == ({"now", "mode"}, "frozen")
    assert MOMENT.fullmatch(frozen["now"])
    assert done(cloud, "GET", "/clock") == frozen
    moved = done(cloud, "POST", "/clock/advance", {"seconds": 86400})
    assert moved == {"now": later(frozen["now"], 86400), "operations": 0}
    assert done(cloud, "GET", "/clock") == {"now": moved["now"], "mode": "frozen"}


def test_a_thawed_clock_runs_on_from_where_it_stood(cloud: Cloud) -> None:
    done(cloud, "POST", "/clock/freeze")
    ahead = done(cloud, "POST", "/clock/advance", {"seconds": 10 * 86400})["now"]
    began = time.monotonic()
    thawed = done(cloud, "POST", "/clock/thaw")
    assert thawed["mode"] == "real"
    assert ahead <= thawed["now"] <= later(ahead, 1 + time.monotonic() - began)


@pytest.mark.both
def test_a_running_clock_can_be_moved_too(cloud: Cloud) -> None:
    began, before = time.monotonic(), done(cloud, "GET", "/clock")["now"]
    done(cloud, "POST", "/clock/advance", {"seconds": 2 * 86400})
    after = done(cloud, "GET", "/clock")
    assert after["mode"] == "real"
    expected = later(before, 2 * 86400)
    assert expected <= after["now"] <= later(expected, 1 + time.monotonic() - began)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        (0, "Must be a positive number"),
        (-1, "Must be a positive number"),
        (1e30, "Must be a positive number"),
        ("5", "Must be of type Number"),
        (True, "Must be of type Number"),
        (None, "seconds is required"),
    ],
)
def test_time_moves_forward_by_a_number(cloud: Cloud, seconds: Any, reason: str) -> None:
    frozen = done(cloud, "POST", "/clock/freeze")
    assert refused(cloud, "POST", "/clock/advance", {"seconds": seconds}) == [("seconds", reason)]
    assert done(cloud, "GET", "/clock") == frozen


@pytest.mark.both
def test_settling_ends_when_nothing_is_under_way(cloud: Cloud) -> None:
    frozen = done(cloud, "POST", "/clock/freeze")
    assert done(cloud, "POST", "/settle") == {"now": frozen["now"], "operations": 0}
    assert refused(cloud, "POST", "/settle", {"limit": 0}) == [("limit", "Must be a positive number")]


# ---- transitions, faults, outbox ------------------------------------------------------------------------------------


def test_the_table_of_transitions_is_replaced_and_shown_whole(cloud: Cloud) -> None:
    table = {"*": {"seconds": 2}, "compute_reboot": {"seconds": 12}, "disk_resize": {"fail": "out of luck"}}
    assert done(cloud, "PUT", "/transitions", table) == table
    assert done(cloud, "GET", "/transitions") == table
    shorter = {"*": {"seconds": 1}, "compute_boot": {"seconds": 0.5}}  # the rule for all others is always shown
    assert done(cloud, "PUT", "/transitions", {"compute_boot": {"seconds": 0.5}}) == shorter
    assert done(cloud, "GET", "/transitions") == shorter


@pytest.mark.parametrize("rule", [{}, 5, None, {"later": 1}, {"seconds": 1, "later": 1}])
def test_a_transition_of_another_kind_is_refused(cloud: Cloud, rule: Any) -> None:
    before = done(cloud, "GET", "/transitions")
    expected = [("compute_boot", "Must have seconds or reads, fail, or both; fail_at where it fails on the way")]
    assert refused(cloud, "PUT", "/transitions", {"*": {"seconds": 5}, "compute_boot": rule}) == expected
    assert done(cloud, "GET", "/transitions") == before


@pytest.mark.parametrize("rule", [{"seconds": "x"}, {"seconds": -1}, {"fail": 3}, {"fail": ""}, {"seconds": 31536001}])
def test_a_transition_that_cannot_be_is_refused(cloud: Cloud, rule: Any) -> None:
    before = done(cloud, "GET", "/transitions")
    words = "seconds must be 0-31536000, reads 1-1000000, fail_at 0-100, fail a text of 1-1000 characters"
    expected = [("compute_boot", words)]
    assert refused(cloud, "PUT", "/transitions", {"*": {"seconds": 5}, "compute_boot": rule}) == expected
    assert done(cloud, "GET", "/transitions") == before


def test_the_next_calls_can_be_made_to_fail(cloud: Cloud) -> None:
    fault = {"kind": "http", "method": "GET", "path": "/v4/tags", "status": 502, "times": 2}
    made = done(cloud, "POST", "/faults", fault)
    assert done(cloud, "GET", "/faults") == [{"id": made["id"], **fault, "left": 2}]
    statuses = [cloud.admin.get(path).status_code for path in ("/v4/tags", "/v4/regions", "/v4/tags/", "/v4/tags")]
    assert statuses == [502, 200, 502, 200]
    assert done(cloud, "GET", "/faults") == []


@pytest.mark.parametrize("status", [429, 503])
def test_an_injected_refusal_says_to_come_back_soon(cloud: Cloud, status: int) -> None:
    done(cloud, "POST", "/faults", {"kind": "http", "status": status, "path": "/v4/tags"})
    answer = cloud.admin.get("/v4/tags")
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "1")


@pytest.mark.parametrize("path", ["/v4/tag", "v4/tags", "/v4/tags?page=1", "/v4/*", "/v4/tags/{label}", "/health", ""])
def test_a_fault_that_can_match_nothing_is_refused(cloud: Cloud, path: str) -> None:
    fault = {"kind": "http", "status": 503, "path": path}
    assert refused(cloud, "POST", "/faults", fault) == [("path", faults.NO_PATH)]
    assert done(cloud, "GET", "/faults") == []


def test_a_fault_needs_a_method_that_its_path_has(cloud: Cloud) -> None:
    fault = {"kind": "http", "status": 503, "path": "/v4/regions", "method": "DELETE"}
    assert refused(cloud, "POST", "/faults", fault) == [("method", faults.NO_METHOD)]
    for wrong in ("FETCH", "OPTIONS"):
        assert refused(cloud, "POST", "/faults", fault | {"path": "*", "method": wrong}) == [
            ("method", faults.NO_METHOD)
        ]
    for known in ("get", "HEAD", "*"):
        done(cloud, "POST", "/faults", fault | {"method": known, "path": "/v4beta/regions/us-east/"})


def test_a_fault_of_http_has_the_error_form_and_does_nothing(cloud: Cloud) -> None:
    done(cloud, "POST", "/faults", {"kind": "http", "status": 500})
    answer = cloud.admin.post("/v4/tags", json={"label": "never"})
    assert (answer.status_code, errors(answer)) == (500, [(None, "Internal Server Error")])
    assert cloud.admin.get("/v4/tags").json()["results"] == 0


@pytest.mark.both
def test_faults_can_be_called_off(cloud: Cloud) -> None:
    done(cloud, "POST", "/faults", {"kind": "http", "status": 500, "times": 1000})
    assert done(cloud, "DELETE", "/faults") == {}
    assert done(cloud, "GET", "/faults") == []
    assert cloud.admin.get("/v4/tags").status_code == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ("kind", "kind is required")),
        ({"kind": "meteor"}, ("kind", KINDS)),
        ({"kind": 5}, ("kind", KINDS)),
        ({"kind": "http"}, ("status", "status is required")),
        ({"kind": "http", "status": 99}, ("status", "Must be 200-599")),
        ({"kind": "http", "status": 500, "times": 0}, ("times", "Must be 1-1000000")),
        ({"kind": "region_outage", "region": "nowhere"}, ("region", "region is not valid")),
    ],
)
def test_a_fault_that_cannot_be_is_refused(cloud: Cloud, body: dict[str, Any], expected: tuple[str, str]) -> None:
    assert refused(cloud, "POST", "/faults", body) == [expected]
    assert done(cloud, "GET", "/faults") == []


@pytest.mark.both
def test_the_outbox_holds_what_was_sent_out_newest_first(cloud: Cloud, alice: Client) -> None:
    assert done(cloud, "GET", "/outbox") == {"mails": [], "webhooks": []}
    now = done(cloud, "POST", "/clock/freeze")["now"]
    for name in ("carol", "dave"):
        body = {"username": name, "email": f"{name}@example.org", "restricted": False}
        assert alice.post("/v4/account/users", json=body).status_code == 200
    outbox = done(cloud, "GET", "/outbox")
    assert (set(outbox), outbox["webhooks"]) == ({"mails", "webhooks"}, [])
    for mail, name in zip(outbox["mails"], ("dave", "carol"), strict=True):
        assert set(mail) == {"id", "message_id", "to", "subject", "text", "sent"}
        assert (mail["to"], mail["sent"]) == (f"{name}@example.org", now)
        assert f"Your user name is {name}." in mail["text"]


# access to the sandbox API


@pytest.mark.parametrize(
    "header",
    [
        b"Origin: https://evil.example",
        b"Origin: http://127.0.0.1.evil.example",
        b"Origin: null",
        b"Origin: http://[::2]",
        b"Origin: http://[",
        b"Origin: nonsense//",
        b"Origin: http://127.0.0.1:8420",  # a program on another port of this machine
        b"Origin: http://localhost:3000",
        b"Origin:",
        b"Sec-Fetch-Site: cross-site",
        b"Sec-Fetch-Site: same-site",
    ],
)
def test_a_web_page_of_somebody_elses_cannot_use_the_sandbox_api(cloud: Cloud, header: bytes) -> None:
    answer = send(cloud.url, request("POST", "/_sandbox/reset", headers=(header,), length=0))
    assert (answer.status, answer.json()) == (403, {"errors": [{"reason": "Unauthorized"}]})


@pytest.mark.parametrize("host", [b"evil.example", b"evil.example:8420", b"169.254.169.254", b"0.0.0.0", b"[::2]:80"])
def test_a_name_that_was_bent_to_this_machine_cannot_use_the_sandbox_api(cloud: Cloud, host: bytes) -> None:
    answer = send(cloud.url, b"GET /_sandbox HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
    assert (answer.status, answer.json()) == (403, {"errors": [{"reason": "Unauthorized"}]})


def test_the_same_port_by_another_name_or_scheme_is_another_origin(cloud: Cloud) -> None:
    port = cloud.url.rpartition(":")[2]
    for origin in (f"http://localhost:{port}", f"https://127.0.0.1:{port}", f"http://127.0.0.2:{port}"):
        assert cloud.sandbox.post("/_sandbox/reset", headers={"Origin": origin}).status_code == 403, origin


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via"],
)
def test_a_request_that_came_through_a_proxy_is_refused(cloud: Cloud, header: str) -> None:
    for value in ("127.0.0.1", ""):
        answer = cloud.sandbox.post("/_sandbox/reset", headers={header: value})
        assert (answer.status_code, answer.json()) == (403, {"errors": [{"reason": "Unauthorized"}]})


@pytest.mark.parametrize("named", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_the_pages_of_this_server_may(cloud: Cloud, named: str) -> None:
    host = f"{named}:{cloud.url.rpartition(':')[2]}"
    page = {"Host": host, "Origin": f"http://{host.lower()}", "Sec-Fetch-Site": "same-origin"}
    assert cloud.sandbox.get("/_sandbox", headers=page).status_code == 200
    assert cloud.sandbox.get("/_sandbox", headers={"Sec-Fetch-Site": "none"}).status_code == 200  # typed by a person


@pytest.fixture(scope="module")
def production() -> Iterator[Cloud]:
    cloud = Cloud(mode="production", secret_key="5" * 64, base_url="https://cloud.example")
    yield cloud
    cloud.close()


def test_production_has_no_sandbox_api(production: Cloud) -> None:
    for path, methods in CALLS.items():
        for method in methods:
            answer = production.sandbox.request(method, f"/_sandbox{path}", json={})
            assert answer.status_code == 404, (method, path)
    assert production.admin.get("/v4/tags").status_code == 200


def test_a_seeded_service_that_starts_again_draws_nothing_twice(tmp_path: Path) -> None:
    drawn = []
    for _ in range(3):
        cloud = Cloud(data=str(tmp_path), seed=7, secret_key="5a" * 32)
        try:
            drawn.append(cloud.account()["token"])
        finally:
            cloud.close()
    assert len(set(drawn)) == 3


def test_what_would_forget_machines_that_are_real_is_refused(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.sandbox.post("/_sandbox/snapshots", json={"name": "before"})
    monkeypatch.setattr(type(cloud.runtime.hypervisor), "real_time", True)
    for path in ("reset", "snapshots/before/restore"):
        refused = cloud.sandbox.post(f"/_sandbox/{path}")
        assert refused.status_code == 400
        assert "real ones would be forgotten" in refused.text
