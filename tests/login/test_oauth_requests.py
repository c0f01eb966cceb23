"""Every parameter of every OAuth request: missing, doubled, altered."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

import pytest

from crofter.login.clients import may_answer_at
from crofter.login.store import Client
from tests.cloud import Cloud
from tests.login.conftest import CALLBACK, VERIFIER, App, make_app
from tests.login.visitor import Visitor, answer_of

TWICE = object()
"""Sent a second time, with the same value."""
LEFT_OUT = None

# Changes to a valid request, with the error for the app.
SENT_BACK: list[tuple[str, dict[str, Any], str]] = [
    ("response_type missing", {"response_type": LEFT_OUT}, "invalid_request"),
    ("response_type empty", {"response_type": ""}, "invalid_request"),
    ("response_type twice", {"response_type": TWICE}, "invalid_request"),
    ("response_type token", {"response_type": "token"}, "unsupported_response_type"),
    ("response_type id_token", {"response_type": "code id_token"}, "unsupported_response_type"),
    ("response_type in capitals", {"response_type": "CODE"}, "unsupported_response_type"),
    ("scope twice", {"scope": TWICE}, "invalid_request"),
    ("scope unknown", {"scope": "computes:read_write moon:read_only"}, "invalid_scope"),
    ("scope without a level", {"scope": "computes"}, "invalid_scope"),
    ("scope of an unknown level", {"scope": "computes:delete"}, "invalid_scope"),
    ("scope in capitals", {"scope": "COMPUTES:READ_ONLY"}, "invalid_scope"),
    ("scope against scopes", {"scopes": "*"}, "invalid_request"),
    ("scopes unknown", {"scope": LEFT_OUT, "scopes": "moon:read_only"}, "invalid_scope"),
    ("state twice", {"state": TWICE}, "invalid_request"),
    ("state too long", {"state": "x" * 5000}, "invalid_request"),
    ("code_challenge missing", {"code_challenge": LEFT_OUT}, "invalid_request"),
    ("code_challenge empty", {"code_challenge": ""}, "invalid_request"),
    ("code_challenge twice", {"code_challenge": TWICE}, "invalid_request"),
    ("code_challenge too short", {"code_challenge": "abc"}, "invalid_request"),
    ("code_challenge with padding", {"code_challenge": "A" * 43 + "="}, "invalid_request"),
    ("code_challenge of other letters", {"code_challenge": "+" * 43}, "invalid_request"),
    ("code_challenge_method missing", {"code_challenge_method": LEFT_OUT}, "invalid_request"),
    ("code_challenge_method plain", {"code_challenge_method": "plain"}, "invalid_request"),
    ("code_challenge_method in small letters", {"code_challenge_method": "s256"}, "invalid_request"),
    ("code_challenge_method twice", {"code_challenge_method": TWICE}, "invalid_request"),
]

# Changes that only the user may see, because the named app may be forged.
TOLD_THE_PERSON: list[tuple[str, dict[str, Any]]] = [
    ("client_id missing", {"client_id": LEFT_OUT}),
    ("client_id empty", {"client_id": ""}),
    ("client_id twice", {"client_id": TWICE}),
    ("client_id unknown", {"client_id": "0123456789abcdef0123"}),
    ("redirect_uri twice", {"redirect_uri": TWICE}),
    ("redirect_uri of another host", {"redirect_uri": "https://evil.example/callback"}),
    ("redirect_uri with a longer path", {"redirect_uri": CALLBACK + "/more"}),
    ("redirect_uri with a query", {"redirect_uri": CALLBACK + "?x=1"}),
    ("redirect_uri with a fragment", {"redirect_uri": CALLBACK + "#x"}),
    ("redirect_uri without encryption", {"redirect_uri": CALLBACK.replace("https", "http")}),
    ("redirect_uri with another port", {"redirect_uri": "https://backupbuddy.example:8443/callback"}),
    ("redirect_uri with the usual port", {"redirect_uri": "https://backupbuddy.example:443/callback"}),
    ("redirect_uri with a user", {"redirect_uri": "https://x@backupbuddy.example/callback"}),
    ("redirect_uri in capitals", {"redirect_uri": CALLBACK.upper()}),
    ("redirect_uri with dots", {"redirect_uri": "https://backupbuddy.example/x/../callback"}),
    ("redirect_uri with a trailing slash", {"redirect_uri": CALLBACK + "/"}),
]

# Changes to a valid code exchange, with status and error.
CODE_REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("code missing", {"code": LEFT_OUT}, 400, "invalid_request"),
    ("code twice", {"code": TWICE}, 400, "invalid_request"),
    ("code unknown", {"code": "0" * 64}, 400, "invalid_grant"),
    ("code not even ASCII", {"code": "ü"}, 400, "invalid_grant"),
    ("client_id missing", {"client_id": LEFT_OUT}, 400, "invalid_request"),
    ("client_id twice", {"client_id": TWICE}, 400, "invalid_request"),
    ("client_id unknown", {"client_id": "0123456789abcdef0123"}, 401, "invalid_client"),
    ("client_secret missing", {"client_secret": LEFT_OUT}, 401, "invalid_client"),
    ("client_secret wrong", {"client_secret": "wrong"}, 401, "invalid_client"),
    ("client_secret twice", {"client_secret": TWICE}, 400, "invalid_request"),
    ("grant_type twice", {"grant_type": TWICE}, 400, "invalid_request"),
    ("grant_type password", {"grant_type": "password"}, 400, "unsupported_grant_type"),
    ("grant_type client_credentials", {"grant_type": "client_credentials"}, 400, "unsupported_grant_type"),
    ("grant_type refresh_token", {"grant_type": "refresh_token"}, 400, "invalid_request"),
    ("redirect_uri another", {"redirect_uri": "https://evil.example/"}, 400, "invalid_grant"),
    ("redirect_uri twice", {"redirect_uri": TWICE}, 400, "invalid_request"),
    ("code_verifier missing", {"code_verifier": LEFT_OUT}, 400, "invalid_request"),
    ("code_verifier wrong", {"code_verifier": VERIFIER + "x"}, 400, "invalid_grant"),
    ("code_verifier the challenge itself", {"code_verifier": "A" * 43}, 400, "invalid_grant"),
    ("code_verifier twice", {"code_verifier": TWICE}, 400, "invalid_request"),
]

REFRESH_REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("refresh_token missing", {"refresh_token": LEFT_OUT}, 400, "invalid_request"),
    ("refresh_token twice", {"refresh_token": TWICE}, 400, "invalid_request"),
    ("refresh_token unknown", {"refresh_token": "ccr_nothing"}, 400, "invalid_grant"),
    ("grant_type missing", {"grant_type": LEFT_OUT}, 400, "invalid_request"),
    ("client_id missing", {"client_id": LEFT_OUT}, 400, "invalid_request"),
    ("client_secret missing", {"client_secret": LEFT_OUT}, 401, "invalid_client"),
    ("client_secret wrong", {"client_secret": "wrong"}, 401, "invalid_client"),
    ("scope beyond the consent", {"scope": "*"}, 400, "invalid_scope"),
    ("scope writing what may be read", {"scope": "events:read_write"}, 400, "invalid_scope"),
    ("scope unknown", {"scope": "moon:read_only"}, 400, "invalid_scope"),
]

REVOKE_REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("token missing", {"token": LEFT_OUT}, 400, "invalid_request"),
    ("token twice", {"token": TWICE}, 400, "invalid_request"),
    ("client_id missing", {"client_id": LEFT_OUT}, 400, "invalid_request"),
    ("client_id unknown", {"client_id": "0123456789abcdef0123"}, 401, "invalid_client"),
    ("client_secret wrong", {"client_secret": "wrong"}, 401, "invalid_client"),
]


def spread(good: dict[str, Any], changes: dict[str, Any]) -> list[tuple[str, str]]:
    """A request as pairs, with what is changed, left out or doubled."""
    pairs = []
    for name, value in {**good, **changes}.items():
        if value is TWICE:
            pairs += [(name, good[name])] * 2
        elif value is not LEFT_OUT:
            pairs.append((name, value))
    return pairs


def posted(cloud: Cloud, path: str, pairs: list[tuple[str, str]]) -> Any:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return cloud.sandbox.post(path, content=urlencode(pairs), headers=headers)


def status_and_error(answer: Any) -> tuple[int, str]:
    body = answer.json()
    assert body["errors"] == [{"reason": body["error_description"]}]
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code, body["error"]


def named(rows: list[Any]) -> Any:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


def test_the_tables_are_as_long_as_they_were() -> None:
    assert len({*_names(SENT_BACK), *_names(TOLD_THE_PERSON)}) >= 40
    assert len(_names(CODE_REFUSED)) >= 20
    assert len(_names(REFRESH_REFUSED)) >= 10
    assert len(_names(REVOKE_REFUSED)) >= 5


def _names(rows: list[Any]) -> set[str]:
    return {row[0] for row in rows}


@pytest.mark.parametrize(("changes", "error"), named(SENT_BACK))
@pytest.mark.both
def test_a_wrong_request_is_sent_back_to_the_app(ada: Visitor, app: App, changes: dict[str, Any], error: str) -> None:
    page = ada.goes_to("/oauth/authorize?" + urlencode(spread(app.asks(), changes)))
    assert page.headers["location"].startswith(CALLBACK + "?")
    answer = answer_of(page)
    assert answer["error"] == error
    assert "code" not in answer
    assert answer["iss"] == ada.cloud.url
    assert answer.get("state") == (None if changes.get("state") is TWICE else changes.get("state", "a state"))


@pytest.mark.parametrize("changes", named(TOLD_THE_PERSON))
def test_a_request_that_may_be_a_forgery_goes_nowhere(ada: Visitor, app: App, changes: dict[str, Any]) -> None:
    url = "/oauth/authorize?" + urlencode(spread(app.asks(), changes))
    page = ada.goes_to(url)
    assert page.status_code == 400
    assert "location" not in page.headers
    assert "This app made a mistake" in page.text
    assert status_and_error(ada.http.get(url, headers={"Accept": "*/*"}))[0] == 400


@pytest.mark.parametrize(("changes", "status", "error"), named(CODE_REFUSED))
def test_a_wrong_exchange_gives_no_token(
    ada: Visitor, app: App, changes: dict[str, Any], status: int, error: str
) -> None:
    code = app.code_from(ada)
    good = {
        "grant_type": "authorization_code",
        "client_id": app.id,
        "client_secret": app.secret,
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }
    assert status_and_error(posted(ada.cloud, "/oauth/token", spread(good, changes))) == (status, error)
    assert app.redeems(code).status_code == 200  # a refusal does not use up the code


@pytest.mark.parametrize(("changes", "status", "error"), named(REFRESH_REFUSED))
def test_a_wrong_refresh_gives_no_token(
    ada: Visitor, app: App, changes: dict[str, Any], status: int, error: str
) -> None:
    plain = app.redeems(app.code_from(ada)).json()["refresh_token"]
    good = {
        "grant_type": "refresh_token",
        "client_id": app.id,
        "client_secret": app.secret,
        "refresh_token": plain,
    }
    assert status_and_error(posted(ada.cloud, "/oauth/token", spread(good, changes))) == (status, error)
    assert app.renews(plain).status_code == 200


@pytest.mark.parametrize(("changes", "status", "error"), named(REVOKE_REFUSED))
def test_a_wrong_revocation_ends_nothing(
    ada: Visitor, app: App, changes: dict[str, Any], status: int, error: str
) -> None:
    access = app.redeems(app.code_from(ada)).json()["access_token"]
    good = {"client_id": app.id, "token": access}
    assert status_and_error(posted(ada.cloud, "/oauth/revoke", spread(good, changes))) == (status, error)
    assert ada.cloud.client(access).get("/v4/profile").status_code == 200


def test_an_app_that_cannot_keep_a_secret_must_show_a_challenge(ada: Visitor, public_app: App) -> None:
    asked = public_app.asks(code_challenge=None, code_challenge_method=None)
    page = ada.goes_to("/oauth/authorize?" + urlencode(asked))
    assert answer_of(page)["error"] == "invalid_request"


def test_an_app_with_a_secret_may_do_without_a_challenge(ada: Visitor, app: App) -> None:
    code = app.code_from(ada, code_challenge=None, code_challenge_method=None)
    # A verifier where there was no challenge: a mix-up.
    assert status_and_error(app.redeems(code)) == (400, "invalid_grant")
    assert app.redeems(code, code_verifier=None).status_code == 200


def test_a_code_of_one_app_is_worth_nothing_to_another(ada: Visitor, app: App) -> None:
    other = make_app(ada.cloud)
    code = app.code_from(ada)
    assert status_and_error(other.redeems(code)) == (400, "invalid_grant")
    tokens = app.redeems(code).json()
    assert status_and_error(other.renews(tokens["refresh_token"])) == (400, "invalid_grant")
    assert other.revokes(tokens["access_token"]).json() == {}
    assert ada.cloud.client(tokens["access_token"]).get("/v4/profile").status_code == 200


@pytest.mark.parametrize("header", ["Basic !", "Basic YWJj", "Basic " + base64.b64encode(b"\xff:x").decode()])
def test_credentials_that_cannot_be_read_are_refused(ada: Visitor, app: App, header: str) -> None:
    fields = {"grant_type": "refresh_token", "refresh_token": "x"}
    answer = ada.cloud.sandbox.post("/oauth/token", data=fields, headers={"Authorization": header})
    assert status_and_error(answer) == (401, "invalid_client")


def test_a_client_is_named_in_one_way_only(ada: Visitor, app: App) -> None:
    fields = {"grant_type": "refresh_token", "refresh_token": "x", "client_secret": app.secret}
    answer = ada.cloud.sandbox.post("/oauth/token", data=fields, auth=(app.id, app.secret))
    assert status_and_error(answer) == (400, "invalid_request")
    wrong = ada.cloud.sandbox.post("/oauth/token", data={"code": "x"}, auth=(app.id, "wrong"))
    assert status_and_error(wrong) == (401, "invalid_client")
    assert wrong.headers["www-authenticate"] == 'Basic realm="crofter"'


def test_a_token_is_not_asked_for_in_other_ways(ada: Visitor, app: App) -> None:
    sandbox = ada.cloud.sandbox
    code = app.code_from(ada)
    fields = {"client_id": app.id, "client_secret": app.secret, "code": code, "code_verifier": VERIFIER}
    assert status_and_error(sandbox.post("/oauth/token", json=fields))[0] == 415
    assert status_and_error(sandbox.post("/oauth/token?" + urlencode(fields))) == (400, "invalid_request")
    assert status_and_error(sandbox.get("/oauth/token?" + urlencode(fields)))[0] == 405
    assert status_and_error(sandbox.get("/oauth/revoke"))[0] == 405


REGISTERED = "http://127.0.0.1:4444/cb?x=1"


@pytest.mark.parametrize(
    ("registered", "asked", "fits"),
    [
        (REGISTERED, "http://127.0.0.1:4444/cb?x=1", True),
        (REGISTERED, "http://127.0.0.1:51004/cb?x=1", True),
        (REGISTERED, "http://127.0.0.1/cb?x=1", True),
        ("http://[::1]/cb", "http://[::1]:1/cb", True),
        ("http://localhost/cb", "http://localhost:8000/cb", True),
        (REGISTERED, "http://127.0.0.1:51004/cb", False),
        (REGISTERED, "http://127.0.0.1:51004/cb?x=1#y", False),
        (REGISTERED, "https://127.0.0.1:51004/cb?x=1", False),
        (REGISTERED, "http://127.0.0.2:51004/cb?x=1", False),
        (REGISTERED, "http://localhost:51004/cb?x=1", False),
        (REGISTERED, "http://127.0.0.1:80@evil.example/cb?x=1", False),
        (REGISTERED, "http://127.0.0.1:x/cb?x=1", False),
        (REGISTERED, "http://127.0.0.1:123456/cb?x=1", False),
        (REGISTERED, "http://127.0.0.1.evil.example:80/cb?x=1", False),
        (REGISTERED, "//127.0.0.1:51004/cb?x=1", False),
        ("https://127.0.0.1/cb", "https://127.0.0.1:8443/cb", False),
        ("http://app.example/cb", "http://app.example:8080/cb", False),
        ("myapp:/cb", "myapp:/cb", True),
        ("myapp:/cb", "myapp:/cb2", False),
    ],
)
def test_only_a_program_on_ones_own_machine_chooses_its_port(registered: str, asked: str, fits: bool) -> None:
    assert (
        may_answer_at(Client(1, "x", "x", registered, True, b"", "active", False), asked, "https://crofter.example")
        is fits
    )
