"""Personal access tokens and authorised applications, through HTTP."""

from __future__ import annotations

import pytest
from httpx2 import Client

from crofter import clock
from crofter.db import query
from crofter.db.sql import select
from crofter.edge.arguments import Deferred, Request
from crofter.edge.perform import Caller
from crofter.errors import Unauthenticated
from crofter.keyring import new_token
from crofter.resources.oauth.store import authorization, client
from crofter.resources.users.access import authenticate
from crofter.resources.users.store import BY_USERNAME, token
from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.tokens import has_checksum


@pytest.mark.both
def test_a_token_is_shown_whole_once_and_works(cloud: Cloud, alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={"label": "deploy", "scopes": "account:read_write"}).json()
    plain = made["token"]
    assert has_checksum(plain)
    assert made["scopes"] == "account:read_write"
    assert made["expiry"] is None
    path = f"/v4/profile/tokens/{made['id']}"
    shown = alice.get(path).json()
    assert shown == made | {"token": plain[:16]}
    assert shown in alice.get("/v4/profile/tokens").json()["data"]
    worker = cloud.client(plain)
    assert worker.get("/v4/account/users").status_code == 200
    assert worker.get("/v4/account/events").status_code == 403
    assert worker.get("/v4/profile").headers["x-oauth-scopes"] == "account:read_write"
    event = alice.get("/v4/account/events").json()["data"][0]
    assert event["action"] == "token_create"
    assert event["entity"] == {"id": made["id"], "label": "deploy", "type": "token", "url": path}


def test_a_token_is_nowhere_in_the_database(cloud: Cloud, alice: Client) -> None:
    plain = alice.post("/v4/profile/tokens", json={}, headers={"Idempotency-Key": "one"}).json()["token"]
    with cloud.runtime.database.read() as db:
        rows = db.all(query(select(token), lambda *values: values))
    assert plain not in repr(rows)
    again = alice.post("/v4/profile/tokens", json={}, headers={"Idempotency-Key": "one"})
    assert again.json()["token"] == plain


def test_a_revoked_token_is_worthless_at_once(cloud: Cloud, alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={}).json()
    worker = cloud.client(made["token"])
    assert worker.delete(f"/v4/profile/tokens/{made['id']}").json() == {}
    refused = worker.get("/v4/profile")
    assert refused.status_code == 401
    assert refused.json() == {"errors": [{"reason": "Invalid Token"}]}
    assert actions(alice)[0] == "token_delete"


def test_a_token_ends_when_it_expires(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    expiry = clock.text(cloud.runtime.clock.now() + 60_000)
    made = alice.post("/v4/profile/tokens", json={"expiry": expiry + "Z"}).json()
    assert made["expiry"] == expiry
    worker = cloud.client(made["token"])
    cloud.advance(59)
    assert worker.get("/v4/profile").status_code == 200
    cloud.advance(1)
    assert worker.get("/v4/profile").status_code == 401
    assert made["id"] not in [token["id"] for token in alice.get("/v4/profile/tokens").json()["data"]]
    assert alice.get(f"/v4/profile/tokens/{made['id']}").status_code == 404


def test_an_expiry_must_be_a_date_time_to_come(cloud: Cloud, alice: Client) -> None:
    assert errors(alice.post("/v4/profile/tokens", json={"expiry": "2001-01-01T00:00:00"})) == [
        ("expiry", "Must be in the future")
    ]
    for nonsense in ("tomorrow", "2026-02-30T00:00:00", "2030-01-01"):
        answer = alice.post("/v4/profile/tokens", json={"expiry": nonsense})
        assert [field for field, _ in errors(answer)] == ["expiry"]


ESCALATIONS = [
    ("account:read_write", "*"),
    ("account:read_write", "account:read_write computes:read_only"),
    ("account:read_write", "computes:read_only"),
    ("account:read_write events:read_only", "events:read_write"),
    ("account:read_write computes:read_only", "account:read_only,computes:read_write"),
]


@pytest.mark.parametrize(("held", "asked"), ESCALATIONS)
def test_a_token_makes_none_that_can_do_more(cloud: Cloud, alice: Client, held: str, asked: str) -> None:
    worker = cloud.client(cloud.token("alice", held))
    answer = worker.post("/v4/profile/tokens", json={"scopes": asked})
    assert answer.status_code == 400
    assert errors(answer) == [("scopes", "Must not exceed the scopes of the token in use")]
    assert actions(alice) == []


def test_a_token_with_unknown_fields_is_not_created(alice: Client) -> None:
    before = alice.get("/v4/profile/tokens").json()
    body = {"limits": {"requests": 10}, "label": "", "scope": "account:read_only", "created": "2026-01-01T00:00:00"}
    answer = alice.post("/v4/profile/tokens", json=body)
    assert answer.status_code == 400
    assert errors(answer) == [
        ("label", "Length must be 1-100 characters"),
        ("limits", "Unknown field"),
        ("scope", "Unknown field"),
    ]
    assert alice.get("/v4/profile/tokens").json() == before
    assert alice.post("/v4/profile/tokens", json={"label": "deploy", "id": 1, "created": "then"}).status_code == 200


WITHIN = [
    ("*", "*", "*"),
    ("*", "computes:read_write, events:read_only", "computes:read_write events:read_only"),
    ("account:read_write", "account:read_only", "account:read_only"),
    ("account:read_write", None, "account:read_write"),
    ("*", None, "*"),
]


@pytest.mark.parametrize(("held", "asked", "given"), WITHIN)
def test_a_token_makes_others_that_can_do_as_much_or_less(
    cloud: Cloud, alice: Client, held: str, asked: str | None, given: str
) -> None:
    worker = cloud.client(cloud.token("alice", held))
    assert worker.post("/v4/profile/tokens", json={"scopes": asked}).json()["scopes"] == given


def test_what_is_no_scope_is_refused(alice: Client) -> None:
    for nonsense in ("computes", "computes:write", "linodes:read_only", "account:*", "* nonsense"):
        answer = alice.post("/v4/profile/tokens", json={"scopes": nonsense})
        assert answer.status_code == 400
        assert [field for field, _ in errors(answer)] == ["scopes"]
    assert errors(alice.post("/v4/profile/tokens", json={"scopes": " "})) == [("scopes", "scopes is required")]


def test_a_token_is_renamed_and_nothing_else(alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={"scopes": "account:read_only"}).json()
    path = f"/v4/profile/tokens/{made['id']}"
    renamed = alice.put(path, json={"label": "new", "scopes": "*", "expiry": "2001-01-01T00:00:00"})
    assert renamed.json() == made | {"label": "new", "token": made["token"][:16]}
    assert errors(alice.put(path, json={"label": ""})) == [("label", "Length must be 1-100 characters")]
    assert actions(alice)[0] == "token_update"


def test_tokens_are_filtered_by_label_and_creation(cloud: Cloud, alice: Client) -> None:
    alice.post("/v4/profile/tokens", json={"label": "Deploy"})
    page = alice.get("/v4/profile/tokens", headers={"X-Filter": '{"label": {"+contains": "depl"}}'}).json()
    assert [token["label"] for token in page["data"]] == ["Deploy"]
    since = '{"created": {"+gte": "2001-01-01T00:00:00"}}'
    assert alice.get("/v4/profile/tokens", headers={"X-Filter": since}).json()["results"] == 2
    refused = alice.get("/v4/profile/tokens", headers={"X-Filter": '{"token": "x"}'})
    assert errors(refused) == [("X-Filter", "Cannot filter on token")]


def test_tokens_are_each_users_own(cloud: Cloud, alice: Client, mallory: Client) -> None:
    alice.post("/v4/account/users", json={"username": "bob", "email": "b@example.com"})
    bob = cloud.client(cloud.token("bob"))
    made = bob.post("/v4/profile/tokens", json={"label": "bobs"}).json()
    path = f"/v4/profile/tokens/{made['id']}"
    for other in (alice, mallory):
        assert other.get(path).status_code == 404
        assert other.put(path, json={"label": "x"}).status_code == 404
        assert other.delete(path).status_code == 404
    assert cloud.client(made["token"]).get("/v4/profile").json()["username"] == "bob"
    assert [event["entity"]["label"] for event in bob.get("/v4/account/events").json()["data"]] == ["bobs"]


def test_a_token_of_a_restricted_user_can_do_no_more_than_the_user(cloud: Cloud, alice: Client) -> None:
    alice.post("/v4/account/users", json={"username": "bob", "email": "b@example.com"})
    bob = cloud.client(cloud.token("bob"))
    everything = bob.post("/v4/profile/tokens", json={"scopes": "*"}).json()["token"]
    assert cloud.client(everything).get("/v4/account/users").status_code == 403


# ---- applications ---------------------------------------------------------------------------------------------------


def authorise(cloud: Cloud, owner: Client, username: str, scopes: str) -> tuple[int, str]:
    """Insert a consent and an access token, as the login service does."""
    registered = owner.post(
        "/v4/account/oauth-clients", json={"label": "Planner", "redirect_uri": "https://planner.example/cb"}
    ).json()
    runtime = cloud.runtime
    now = clock.text(runtime.clock.now())
    plain = new_token(runtime.rng, "access")
    with runtime.database.write() as db:
        user = db.one(BY_USERNAME, username=username)
        client_id = db.value(query(select(client.c.id).where(client.c.public_id == registered["id"])))
        whose = {"account_id": user.account_id, "user_id": user.id, "scopes": scopes, "created": now}
        app_id = db.insert(authorization, client_id=client_id, **whose)
        db.insert(
            token,
            authorization_id=app_id,
            digest=runtime.keyring.digest(plain),
            shown=plain[:16],
            label="Planner",
            expiry=clock.text(runtime.clock.now() + 7_200_000),
            **whose,
        )
    return app_id, plain


def test_an_application_is_listed_and_revoked_with_its_tokens(cloud: Cloud, alice: Client) -> None:
    app_id, plain = authorise(cloud, alice, "alice", "account:read_write")
    planner = cloud.client(plain)
    assert planner.get("/v4/profile").status_code == 200
    (listed,) = alice.get("/v4/profile/apps").json()["data"]
    assert listed.pop("created")
    assert listed == {
        "expiry": None,
        "id": app_id,
        "label": "Planner",
        "scopes": "account:read_write",
        "thumbnail_url": None,
        "website": "https://planner.example",
    }
    assert alice.get(f"/v4/profile/apps/{app_id}").json()["label"] == "Planner"
    assert "Planner" not in [token["label"] for token in alice.get("/v4/profile/tokens").json()["data"]]
    assert alice.delete(f"/v4/profile/apps/{app_id}").json() == {}
    assert planner.get("/v4/profile").status_code == 401
    assert alice.get("/v4/profile/apps").json()["results"] == 0
    assert actions(alice)[0] == "token_delete"


def test_applications_are_each_users_own(cloud: Cloud, alice: Client, mallory: Client) -> None:
    app_id, plain = authorise(cloud, alice, "alice", "*")
    assert mallory.get(f"/v4/profile/apps/{app_id}").status_code == 404
    assert mallory.delete(f"/v4/profile/apps/{app_id}").status_code == 404
    assert cloud.client(plain).get("/v4/profile").status_code == 200
    answer = alice.get("/v4/profile/apps", headers={"X-Filter": '{"expiry": null}'})
    assert answer.json()["results"] == 1
    refused = alice.get("/v4/profile/apps", headers={"X-Filter": '{"label": "x"}'})
    assert errors(refused) == [("X-Filter", "Cannot filter on label")]


def test_each_application_has_preferences_of_its_own(cloud: Cloud, alice: Client) -> None:
    _, plain = authorise(cloud, alice, "alice", "account:read_write")
    planner = cloud.client(plain)
    alice.put("/v4/profile/preferences", json={"of": "alice"})
    assert planner.get("/v4/profile/preferences").json() == {}
    planner.put("/v4/profile/preferences", json={"of": "planner"})
    assert planner.get("/v4/profile/preferences").json() == {"of": "planner"}
    assert alice.get("/v4/profile/preferences").json() == {"of": "alice"}


def test_an_application_cannot_make_tokens_beyond_its_scopes(cloud: Cloud, alice: Client) -> None:
    _, plain = authorise(cloud, alice, "alice", "account:read_write")
    answer = cloud.client(plain).post("/v4/profile/tokens", json={"scopes": "*"})
    assert answer.status_code == 400


def test_a_token_revoked_while_its_request_waits_for_its_turn_is_refused(cloud: Cloud, alice: Client) -> None:
    """The request was let in, another one revoked its token, and only then did it get to write."""
    made = alice.post("/v4/profile/tokens", json={}).json()
    parts = cloud.application.app.parts
    headers = {b"authorization": f"Bearer {made['token']}".encode()}
    request = Request("POST", b"/v4/tags", b"", headers, b'{"label": "late"}', "", "")
    match = parts.router.match("POST", b"/v4/tags")
    assert match is not None
    assert match.endpoint is not None
    with cloud.runtime.database.read() as db:
        actor = authenticate(cloud.runtime, db, made["token"])
    alice.delete(f"/v4/profile/tokens/{made['id']}")
    with pytest.raises(Unauthenticated):
        parts.performer._write(match.endpoint, {}, request, Caller(actor), Deferred(match.endpoint, request))
    assert alice.get("/v4/tags").json()["results"] == 0
