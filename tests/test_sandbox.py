"""The sandbox door: what a real cloud does not let you do, for whoever sits at this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, Response

from tests.cloud import ADMIN, Cloud
from tests.edge.answers import errors, request, send

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
    "/settle": ("POST",),
    "/transitions": ("GET", "PUT"),
    "/faults": ("GET", "POST", "DELETE"),
    "/outbox": ("GET",),
}


def call(cloud: Cloud, method: str, path: str, body: Any = None) -> Response:
    return cloud.door.request(method, f"/_sandbox{path}", json=body)


def done(cloud: Cloud, method: str, path: str, body: Any = None) -> Any:
    answer = call(cloud, method, path, body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def refused(cloud: Cloud, method: str, path: str, body: Any = None) -> list[tuple[str | None, str]]:
    answer = call(cloud, method, path, body)
    assert answer.status_code == 400, answer.text
    return errors(answer)


def test_the_door_tells_the_state_of_the_house(cloud: Cloud, alice: Client) -> None:
    state = done(cloud, "GET", "")
    assert {"version", "mode", "driver", "clock", "counts"} <= set(state)
    assert (state["mode"], state["driver"], state["clock"]["mode"]) == ("sandbox", "simulated", "real")
    assert state["counts"]["accounts"] == 2
    assert done(cloud, "GET", "/") == {**state, "clock": done(cloud, "GET", "")["clock"]}


def test_what_is_not_behind_the_door_is_refused_in_the_error_form(cloud: Cloud) -> None:
    assert call(cloud, "GET", "/nothing").json() == {"errors": [{"reason": "Not found"}]}
    for path, methods in CALLS.items():
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
            if method not in methods:
                assert call(cloud, method, path).status_code == 405, (method, path)


# ---- people ---------------------------------------------------------------------------------------------------------


def test_an_account_is_made_with_one_call(cloud: Cloud) -> None:
    made = done(cloud, "POST", "/accounts")
    assert set(made) == {"euuid", "username", "token"}
    client = cloud.client(made["token"])
    assert client.get("/v4/account").json()["euuid"] == made["euuid"]
    assert client.get("/v4/tags").headers["x-oauth-scopes"] == "*"


def test_an_account_is_made_as_asked(cloud: Cloud) -> None:
    made = done(cloud, "POST", "/accounts", {"username": "carol", "email": "carol@example.org", "managed": True})
    assert made["username"] == "carol"
    client = cloud.client(made["token"])
    assert client.get("/v4/account").json()["email"] == "carol@example.org"
    assert client.get("/v4/account/settings").json()["managed"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"username": "x"}, "username"),
        ({"username": "a b c"}, "username"),
        ({"username": "admin"}, "username"),
        ({"card": "stolen"}, "card"),
        ({"managed": "yes"}, "managed"),
        ({"public_ips": 0}, "public_ips"),
    ],
)
def test_an_account_that_cannot_be_is_not_made(cloud: Cloud, body: dict[str, Any], field: str) -> None:
    assert [told for told, _ in refused(cloud, "POST", "/accounts", body)] == [field]
    assert done(cloud, "GET", "")["counts"]["accounts"] == 1


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


def test_a_reset_leads_back_to_a_first_start(cloud: Cloud, alice: Client) -> None:
    cloud.admin.post("/v4/tags", json={"label": "gone"})
    cloud.freeze()
    cloud.advance(1000)
    done(cloud, "PUT", "/transitions", {"*": {"seconds": 77}})
    done(cloud, "POST", "/faults", {"kind": "http", "status": 500, "times": 5})
    assert done(cloud, "POST", "/reset") == {}
    assert cloud.admin.get("/v4/tags").json()["results"] == 0  # the bootstrap token is good still
    assert alice.get("/v4/tags").status_code == 401
    state = done(cloud, "GET", "")
    assert (state["clock"]["mode"], state["counts"]["accounts"], state["counts"]["events"]) == ("real", 1, 0)
    assert done(cloud, "GET", "/faults") == []
    assert done(cloud, "GET", "/transitions")["*"] != {"seconds": 77}
    cloud.admin.post("/v4/tags", json={"label": "first"})
    assert cloud.admin.get("/v4/account/events").json()["data"][0]["id"] == 1  # ids start over


def test_the_first_user_is_the_same_after_every_reset(cloud: Cloud) -> None:
    for _ in range(3):
        done(cloud, "POST", "/reset")
        assert cloud.client(ADMIN).get("/v4/profile").json()["username"] == "admin"


# ---- the clock ------------------------------------------------------------------------------------------------------


def test_a_frozen_clock_moves_only_when_it_is_moved(cloud: Cloud) -> None:
    frozen = done(cloud, "POST", "/clock/freeze")
    assert (set(frozen), frozen["mode"]) == ({"now", "mode"}, "frozen")
    assert MOMENT.fullmatch(frozen["now"])
    assert done(cloud, "GET", "/clock") == frozen
    moved = done(cloud, "POST", "/clock/advance", {"seconds": 86400})
    assert set(moved) == {"now", "operations"}
    assert moved["now"][11:] == frozen["now"][11:]
    assert moved["now"][:10] > frozen["now"][:10]
    assert done(cloud, "GET", "/clock") == {"now": moved["now"], "mode": "frozen"}


def test_a_thawed_clock_runs_on_from_where_it_stood(cloud: Cloud) -> None:
    done(cloud, "POST", "/clock/freeze")
    ahead = done(cloud, "POST", "/clock/advance", {"seconds": 10 * 86400})["now"]
    thawed = done(cloud, "POST", "/clock/thaw")
    assert thawed["mode"] == "real"
    assert ahead <= thawed["now"] < ahead[:10] + "T99"


def test_a_running_clock_can_be_moved_too(cloud: Cloud) -> None:
    before = done(cloud, "GET", "/clock")["now"]
    done(cloud, "POST", "/clock/advance", {"seconds": 2 * 86400})
    after = done(cloud, "GET", "/clock")
    assert after["mode"] == "real"
    assert after["now"][:10] > before[:10]


@pytest.mark.parametrize("seconds", [0, -1, "5", None, True, 1e30])
def test_time_moves_forward_by_a_number(cloud: Cloud, seconds: Any) -> None:
    assert [field for field, _ in refused(cloud, "POST", "/clock/advance", {"seconds": seconds})] == ["seconds"]


def test_settling_ends_when_nothing_is_under_way(cloud: Cloud) -> None:
    done(cloud, "POST", "/clock/freeze")
    settled = done(cloud, "POST", "/settle")
    assert (set(settled), settled["operations"]) == ({"now", "operations"}, 0)
    assert refused(cloud, "POST", "/settle", {"limit": 0}) == [("limit", "Must be a positive number")]


# ---- transitions, faults, outbox ------------------------------------------------------------------------------------


def test_the_table_of_transitions_is_replaced_and_shown_whole(cloud: Cloud) -> None:
    table = {"*": {"seconds": 2}, "compute_reboot": {"seconds": 12}, "disk_resize": {"fail": "out of luck"}}
    answer = done(cloud, "PUT", "/transitions", table)
    assert answer == done(cloud, "GET", "/transitions")
    assert answer["compute_reboot"]["seconds"] == 12
    assert answer["disk_resize"]["fail"] == "out of luck"
    answer = done(cloud, "PUT", "/transitions", {"compute_boot": {"seconds": 0.5}})
    assert "disk_resize" not in answer or "fail" not in answer["disk_resize"]


@pytest.mark.parametrize("rule", [{}, 5, {"seconds": "x"}, {"seconds": -1}, {"fail": 3}, {"later": 1}, None])
def test_a_transition_that_cannot_be_is_refused(cloud: Cloud, rule: Any) -> None:
    before = done(cloud, "GET", "/transitions")
    assert refused(cloud, "PUT", "/transitions", {"compute_boot": rule})[0][0] is not None
    assert done(cloud, "GET", "/transitions") == before


def test_the_next_calls_can_be_made_to_fail(cloud: Cloud) -> None:
    fault = {"kind": "http", "method": "GET", "path": "/v4/tags", "status": 502, "times": 2}
    made = done(cloud, "POST", "/faults", fault)
    assert done(cloud, "GET", "/faults") == [{"id": made["id"], **fault, "left": 2}]
    statuses = [cloud.admin.get(path).status_code for path in ("/v4/tags", "/v4/regions", "/v4/tags/", "/v4/tags")]
    assert statuses == [502, 200, 502, 200]
    assert done(cloud, "GET", "/faults") == []


def test_a_fault_of_http_has_the_error_form_and_does_nothing(cloud: Cloud) -> None:
    done(cloud, "POST", "/faults", {"kind": "http", "status": 500})
    answer = cloud.admin.post("/v4/tags", json={"label": "never"})
    assert (answer.status_code, errors(answer)) == (500, [(None, "Internal Server Error")])
    assert cloud.admin.get("/v4/tags").json()["results"] == 0


def test_faults_can_be_called_off(cloud: Cloud) -> None:
    done(cloud, "POST", "/faults", {"kind": "http", "status": 500, "times": 1000})
    assert done(cloud, "DELETE", "/faults") == {}
    assert done(cloud, "GET", "/faults") == []
    assert cloud.admin.get("/v4/tags").status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kind"),
        ({"kind": "meteor"}, "kind"),
        ({"kind": 5}, "kind"),
        ({"kind": "http"}, "status"),
        ({"kind": "http", "status": 99}, "status"),
        ({"kind": "http", "status": 500, "times": 0}, "times"),
        ({"kind": "region_outage", "region": "nowhere"}, "region"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(cloud: Cloud, body: dict[str, Any], field: str) -> None:
    assert [told for told, _ in refused(cloud, "POST", "/faults", body)] == [field]
    assert done(cloud, "GET", "/faults") == []


def test_the_outbox_holds_what_was_sent_out(cloud: Cloud) -> None:
    assert set(done(cloud, "GET", "/outbox")) == {"mails", "webhooks"}


# ---- who may use the door -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        b"Origin: https://evil.example",
        b"Origin: http://127.0.0.1.evil.example",
        b"Origin: null",
        b"Origin: http://[::2]",
        b"Origin: nonsense//",
    ],
)
def test_a_web_page_of_somebody_elses_cannot_use_the_door(cloud: Cloud, header: bytes) -> None:
    answer = send(cloud.url, request("POST", "/_sandbox/reset", headers=(header,), length=0))
    assert (answer.status, answer.json()) == (403, {"errors": [{"reason": "Unauthorized"}]})


@pytest.mark.parametrize("host", [b"evil.example", b"evil.example:8420", b"169.254.169.254", b"0.0.0.0", b"[::2]:80"])
def test_a_name_that_was_bent_to_this_machine_cannot_use_the_door(cloud: Cloud, host: bytes) -> None:
    answer = send(cloud.url, b"GET /_sandbox HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
    assert answer.status == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8420", "http://localhost:3000", "http://[::1]:8420"])
def test_pages_of_this_machine_may(cloud: Cloud, origin: str) -> None:
    assert cloud.door.get("/_sandbox", headers={"Origin": origin}).status_code == 200


@pytest.fixture(scope="module")
def production() -> Iterator[Cloud]:
    cloud = Cloud(mode="production", secret_key="5" * 64)
    yield cloud
    cloud.close()


def test_production_has_no_such_door(production: Cloud) -> None:
    for path, methods in CALLS.items():
        for method in methods:
            answer = production.door.request(method, f"/_sandbox{path}", json={})
            assert answer.status_code == 404, (method, path)
    assert production.admin.get("/v4/tags").status_code == 200


def test_a_seeded_house_that_starts_again_draws_nothing_twice(tmp_path: Path) -> None:
    drawn = []
    for _ in range(3):
        cloud = Cloud(data=str(tmp_path), seed=7, secret_key="5a" * 32)
        try:
            drawn.append(cloud.account()["token"])
        finally:
            cloud.close()
    assert len(set(drawn)) == 3
