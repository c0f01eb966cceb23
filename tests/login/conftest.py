"""People who can sign in, and apps that they can let in."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from crofter.login.token_families import s256
from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor, answer_of, give_password

VERIFIER = "a-verifier-that-is-long-enough-to-be-one-0123456789"
CALLBACK = "https://backupbuddy.example/callback"


@pytest.fixture
def ada(cloud: Cloud) -> Visitor:
    """A person with a password, not signed in yet."""
    cloud.account(username="ada", email="ada@example.com")
    give_password(cloud, "ada")
    return Visitor(cloud)


class App(Struct):
    """An OAuth client, with the ways it talks to the login service."""

    cloud: Cloud
    id: str
    secret: str
    redirect_uri: str = CALLBACK
    public: bool = False

    def asks(self, **changes: Any) -> dict[str, Any]:
        """The parameters of a good authorization request, with changes; None leaves one out."""
        good = {
            "client_id": self.id,
            "response_type": "code",
            "scope": "computes:read_write events:read_only",
            "redirect_uri": self.redirect_uri,
            "state": "a state",
            "code_challenge": s256(VERIFIER),
            "code_challenge_method": "S256",
        }
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def code_from(self, visitor: Visitor, fields: dict[str, Any] | None = None, **changes: Any) -> str:
        """Return the code that a person grants to the app."""
        if not visitor.is_signed_in:
            visitor.signs_in("ada", PASSWORD)
        visitor.page = visitor.http.get("/oauth/authorize", params=self.asks(**changes))
        return answer_of(visitor.sends(decision="allow", **(fields or {})))["code"]

    def redeems(self, code: str, **changes: Any) -> Any:
        good = {
            "grant_type": "authorization_code",
            "client_id": self.id,
            "client_secret": None if self.public else self.secret,
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": VERIFIER,
        }
        return self.posts("/oauth/token", {**good, **changes})

    def renews(self, refresh_token: str, **changes: Any) -> Any:
        good = {
            "grant_type": "refresh_token",
            "client_id": self.id,
            "client_secret": None if self.public else self.secret,
            "refresh_token": refresh_token,
        }
        return self.posts("/oauth/token", {**good, **changes})

    def revokes(self, token: str | None, **changes: Any) -> Any:
        return self.posts("/oauth/revoke", {"client_id": self.id, "token": token, **changes})

    def posts(self, path: str, fields: dict[str, Any]) -> Any:
        return self.cloud.sandbox.post(path, data={name: value for name, value in fields.items() if value is not None})


def make_app(cloud: Cloud, *, public: bool = False, redirect_uri: str = CALLBACK) -> App:
    """An app of another account than the person's."""
    owner = cloud.client(cloud.token("buddy")) if _known(cloud, "buddy") else cloud.person(username="buddy")
    body = {"label": "Backup Buddy", "redirect_uri": redirect_uri, "public": public}
    made = owner.post("/v4/account/oauth-clients", json=body).json()
    secret = owner.post(f"/v4/account/oauth-clients/{made['id']}/reset-secret", json={}).json()["secret"]
    return App(cloud, made["id"], secret, redirect_uri, public)


def _known(cloud: Cloud, username: str) -> bool:
    return bool(cloud.sandbox.post("/_sandbox/tokens", json={"username": username}).status_code == 200)


@pytest.fixture
def app(cloud: Cloud) -> App:
    """An app that can keep a secret."""
    return make_app(cloud)


@pytest.fixture
def public_app(cloud: Cloud) -> App:
    """An app that cannot, since it runs on its user's machine."""
    return make_app(cloud, public=True)
