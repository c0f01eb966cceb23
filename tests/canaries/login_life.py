"""Use of the login service by people and apps."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pyotp

from crofter.login.token_families import s256
from tests.canaries.application import Application
from tests.login.visitor import Visitor

CALLBACK = "https://app.example/callback"


def live(application: Application, owner: httpx2.Client, token_of: Any) -> httpx2.Client:
    """A user is invited, signs in with two factors, forgets and changes the password, and lets an app in.

    Her own client is returned.
    """
    assert _invited(owner, "grace").status_code == 200
    application.again.append(lambda: _invited(owner, application.name("guest")))
    grace = Visitor(application)  # type: ignore[arg-type]  # all that it needs is a client
    password = _by_link(application, grace, "invitation")
    _signs_in_clumsily(application, grace, password)
    _secrets_of_a_browser(application, grace, "first")
    second = application.client(token_of("grace"))
    _with_two_factors(application, second, password)
    grace.goes_to("/login/reset")
    grace.sends(username="grace")
    password = _by_link(application, grace, "reset")
    grace.signs_in("grace", password)
    _secrets_of_a_browser(application, grace, "second")
    _changes(application, grace, password)
    _lets_an_app_in(application, owner, grace)
    return second


def _invited(owner: httpx2.Client, name: str) -> httpx2.Response:
    body = {"username": name, "email": f"{name}@example.com", "restricted": False}
    return owner.post("/v4/account/users", json=body)


def _by_link(application: Application, person: Visitor, purpose: str) -> str:
    with httpx2.Client(
        base_url=application.url
    ) as sandbox:  # mails are shown on purpose, and sealed where they are kept
        [mail, *_] = sandbox.get("/_sandbox/outbox").json()["mails"]
    match = re.search(r"http\S+", mail["text"])
    assert match
    link = match[0]
    person.goes_to(link)  # the page carries it on
    secret = application.learn(f"{purpose} link", parse_qs(urlsplit(link).query)["token"][0])
    password = application.canary(f"{purpose} password")
    person.sends(password="short", again=password)
    application.excuse(f"{purpose} link")
    person.sends(password=password, again="another")
    application.excuse(f"{purpose} link")
    assert person.sends(password=password, again=password).status_code == 303
    person.goes_to(link)
    application.spoil(person.http, "/login/password", {"token": secret, "password": password}, secret, password)
    return password


def _signs_in_clumsily(application: Application, person: Visitor, password: str) -> None:
    person.signs_in("grace", application.canary("mistyped password"))
    person.signs_in(application.canary("password in the field of the name"), "x")
    application.excuse("password in the field of the name")  # visible to the person who typed it
    person.http.get("/login/", params={"username": "grace", "password": password})
    assert person.signs_in("grace", password, remember_me="yes").status_code == 303


def _secrets_of_a_browser(application: Application, person: Visitor, when: str) -> None:
    kept = dict(person.http.cookies)
    for name in ("session", "device", "form", "known"):
        if (value := kept.get(f"crofter_{name}")) and value not in {canary.value for canary in application.canaries}:
            application.known(f"{when} {name} cookie", value)


def _with_two_factors(application: Application, client: httpx2.Client, password: str) -> None:
    secret = client.post("/v4/profile/tfa-enable", json={}).json()["secret"]
    application.learn("secret of the second factor", secret)
    codes = pyotp.TOTP(secret)
    scratch = client.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": codes.now()}).json()["scratch"]
    application.learn("scratch code", scratch)
    other = Visitor(application)  # type: ignore[arg-type]
    assert "Enter your code" in other.signs_in("grace", password).text
    other.sends(tfa_code=application.known("wrong code", "739146"))
    assert other.sends(tfa_code=scratch).status_code == 303
    _secrets_of_a_browser(application, other, "with two factors")
    assert client.post("/v4/profile/tfa-disable", json={}).status_code == 200


def _changes(application: Application, person: Visitor, password: str) -> None:
    wrong, new = application.canary("wrong present password"), application.canary("changed password")
    for fields in ({"present": wrong}, {"present": password, "again": "another"}, {"present": password}):
        person.goes_to("/login/change")
        sent: dict[str, Any] = {"password": new, "again": new, **fields}
        page = person.sends(**sent)
    assert page.status_code == 303
    _secrets_of_a_browser(application, person, "third")
    application.again.append(lambda: Visitor(application).signs_in("grace", new, remember_me="yes"))  # type: ignore[arg-type]


def _lets_an_app_in(application: Application, owner: httpx2.Client, person: Visitor) -> None:
    path = "/v4/account/oauth-clients"
    made = owner.post(path, json={"label": "App", "redirect_uri": CALLBACK}).json()
    secret = owner.post(f"{path}/{made['id']}/reset-secret", json={}).json()["secret"]
    application.learn("OAuthClientView.secret", secret, shown=4)
    verifier = application.plain_canary("verifier") * 3
    asks = {"client_id": made["id"], "response_type": "code", "scope": "events:read_only", "redirect_uri": CALLBACK}
    asks |= {"code_challenge": s256(verifier), "code_challenge_method": "S256"}

    def allows() -> httpx2.Response:
        person.page = person.http.get("/oauth/authorize", params=asks)
        return person.sends(decision="allow")

    code = application.learn("code", _code(allows()))
    app = application.client(None)
    exchange = {"client_id": made["id"], "client_secret": secret, "code": code, "code_verifier": verifier}
    exchange["redirect_uri"] = CALLBACK
    for spoiled in ({"client_secret": application.plain_canary("wrong secret of an app")}, {"code_verifier": "x" * 43}):
        app.post("/oauth/token", data={**exchange, **spoiled})
    app.get("/oauth/token", params=exchange)
    app.post("/oauth/token", params=exchange)
    app.post("/oauth/token", json=exchange)
    first = _pair(application, app.post("/oauth/token", data=exchange), "first")
    renewal = {"grant_type": "refresh_token", "client_id": made["id"], "client_secret": secret}
    _pair(application, app.post("/oauth/token", data={**renewal, "refresh_token": first}), "second")
    app.post("/oauth/token", data=exchange)  # a code that was used: its family ends
    app.post("/oauth/token", data={**renewal, "refresh_token": first})
    app.post("/oauth/revoke", data={"client_id": made["id"], "token": first})

    def lets_in_again() -> httpx2.Response:
        answer = allows()
        return app.post("/oauth/token", data={**exchange, "code": _code(answer)}) if answer.is_redirect else answer

    application.again += [lambda: app.post("/oauth/token", data=exchange), lets_in_again]


def _code(answer: httpx2.Response) -> str:
    return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]


def _pair(application: Application, answer: httpx2.Response, which: str) -> str:
    assert answer.status_code == 200, answer.text
    tokens = answer.json()
    application.learn(f"{which} access token", tokens["access_token"], shown=16)
    application.learn(f"{which} refresh token", tokens["refresh_token"], shown=4)
    assert application.client(tokens["access_token"]).get("/v4/account/events").status_code == 200
    return str(tokens["refresh_token"])
