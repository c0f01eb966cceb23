"""The console's sign-in: no consent, no list of apps, one family for a session, which ends with it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from crofter.db import query
from crofter.db.sql import func, select
from crofter.login.clients import CONSOLE
from crofter.resources.oauth.store import authorization
from tests.cloud import Cloud
from tests.login.conftest import App
from tests.login.visitor import PASSWORD, Visitor, leap


@pytest.fixture
def console(cloud: Cloud) -> App:
    return App(cloud, CONSOLE, "", f"{cloud.url}/console/signed-in", public=True)


def arrives(visitor: Visitor, app: App, **changes: Any) -> dict[str, str]:
    """Return the response of the authorization endpoint to the console, without pages."""
    answer = visitor.http.get("/oauth/authorize", params=app.asks(scope="*", prompt="none", **changes))
    assert answer.status_code == 302, answer.text
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


def loads(visitor: Visitor, app: App) -> dict[str, Any]:
    tokens: dict[str, Any] = app.redeems(arrives(visitor, app)["code"]).json()
    return tokens


def works(cloud: Cloud, tokens: dict[str, Any]) -> bool:
    return cloud.client(tokens["access_token"]).get("/v4/profile").status_code == 200


@pytest.mark.both
def test_every_page_load_belongs_to_the_one_family_of_the_session(cloud: Cloud, ada: Visitor, console: App) -> None:
    assert arrives(ada, console)["error"] == "login_required"
    ada.signs_in("ada", PASSWORD)
    pages = [loads(ada, console) for _ in range(3)]
    renewed = console.renews(pages[0]["refresh_token"]).json()
    assert all(works(cloud, tokens) for tokens in (*pages, renewed))
    assert cloud.client(renewed["access_token"]).get("/v4/profile/apps").json()["data"] == []
    with cloud.runtime.database.read() as db:
        assert db.value(query(select(func.count()).select_from(authorization))) == 1


@pytest.mark.both
def test_signing_out_in_either_place_ends_both(cloud: Cloud, ada: Visitor, console: App) -> None:
    ada.signs_in("ada", PASSWORD)
    first, second = loads(ada, console), loads(ada, console)
    assert console.revokes(first["refresh_token"]).status_code == 200
    assert not works(cloud, first)
    assert not works(cloud, second)
    assert not ada.is_signed_in

    ada.signs_in("ada", PASSWORD)
    third = loads(ada, console)
    ada.goes_to("/login/logout")
    ada.sends()
    assert not works(cloud, third)
    assert console.renews(third["refresh_token"]).status_code == 400


def test_renewals_keep_a_session_and_idleness_ends_it(cloud: Cloud, ada: Visitor, console: App) -> None:
    cloud.freeze()
    ada.signs_in("ada", PASSWORD)
    tokens = loads(ada, console)
    assert tokens["expires_in"] == 15 * 60
    for _ in range(4):
        leap(cloud, 14 * 60)
        assert works(cloud, tokens)
        tokens = console.renews(tokens["refresh_token"]).json()
    assert arrives(ada, console)["code"]
    leap(cloud, 31 * 60)
    assert not works(cloud, tokens)
    assert console.renews(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert arrives(ada, console)["error"] == "login_required"


@pytest.mark.both
def test_a_sandbox_whose_clock_is_moved_keeps_the_console_signed_in(cloud: Cloud, ada: Visitor, console: App) -> None:
    cloud.freeze()
    ada.signs_in("ada", PASSWORD)
    tokens = loads(ada, console)
    other = cloud.token("ada", expires_in=3600)
    cloud.advance(3 * 24 * 3600)
    assert works(cloud, tokens)
    assert works(cloud, console.renews(tokens["refresh_token"]).json())
    assert arrives(ada, console)["code"]
    assert cloud.client(other).get("/v4/profile").status_code == 401  # of whoever is no console, time is up
    leap(cloud, 31 * 60)  # time that passes by itself
    assert arrives(ada, console)["error"] == "login_required"


def test_the_console_is_answered_at_the_servers_own_address_only(cloud: Cloud, ada: Visitor, console: App) -> None:
    ada.signs_in("ada", PASSWORD)
    for uri in ("https://evil.example/console/signed-in", "/console/signed-in", f"{cloud.url}/console/", None):
        answer = ada.http.get("/oauth/authorize", params=console.asks(scope="*", redirect_uri=uri))
        assert answer.status_code == 400, uri


def test_no_other_app_gets_a_code_without_a_page(ada: Visitor, app: App) -> None:
    ada.signs_in("ada", PASSWORD)
    assert arrives(ada, app)["error"] == "consent_required"
