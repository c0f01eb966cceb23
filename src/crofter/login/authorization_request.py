"""Authorization requests of OAuth clients: validation, and the response to the client."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from msgspec import Struct

from crofter.login import clients, scopes
from crofter.login.browser import BrowserRequest
from crofter.login.store import Client

PARAMETERS = (
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "scopes",
    "state",
    "code_challenge",
    "code_challenge_method",
    "prompt",
)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST = 4096


class Unanswerable(Exception):
    """An error that must not be sent to the named client: the user sees it instead."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error
        self.text = text


class SentBack(Exception):
    """An error that is sent back to the client."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class AuthorizationRequest(Struct, frozen=True):
    client: Client
    redirect_uri: str
    state: str | None
    scopes: list[str]
    challenge: str | None
    prompt: str
    """``none``: answer without any page."""
    named: bool
    """True if the request contains the redirect_uri, which the code exchange must then repeat."""


def read(request: BrowserRequest) -> AuthorizationRequest:
    """The request, or Unanswerable, or SentBack."""
    sent = {name: [value for value in request.query.get(name, []) if value] for name in PARAMETERS}
    client = _client(request, sent["client_id"])
    redirect_uri = _redirect_uri(request, client, sent["redirect_uri"])
    state = sent["state"][0] if len(sent["state"]) == 1 else None
    try:
        wanted, challenge = _details(client, sent)
    except _Wrong as wrong:
        raise SentBack(
            answer(request, redirect_uri, state, error=wrong.error, error_description=wrong.description)
        ) from None
    prompt = sent["prompt"][0] if sent["prompt"] else ""
    return AuthorizationRequest(client, redirect_uri, state, wanted, challenge, prompt, bool(sent["redirect_uri"]))


def answer(request: BrowserRequest, redirect_uri: str, state: str | None, **values: str) -> str:
    """Where the browser is sent to, with the answer in the address."""
    if state is not None:
        values["state"] = state
    values["iss"] = request.origin
    return redirect_uri + ("&" if "?" in redirect_uri else "?") + urlencode(values)


def _client(request: BrowserRequest, given: list[str]) -> Client:
    if len(given) != 1:
        raise Unanswerable("invalid_request", "client_id must be there once.")
    clients.ensure_built_in(request.runtime, given[0])
    client = request.read(lambda ctx: clients.find(ctx, given[0]))
    if client is None:
        raise Unanswerable("invalid_client", "There is no app with this client_id.")
    return client


def _redirect_uri(request: BrowserRequest, client: Client, given: list[str]) -> str:
    if len(given) > 1:
        raise Unanswerable("invalid_request", "redirect_uri must be there once.")
    if given and not clients.may_answer_at(client, given[0], request.origin):
        raise Unanswerable("invalid_request", "redirect_uri is not the one that this app has registered.")
    if not given and clients.is_console(client):
        raise Unanswerable("invalid_request", "redirect_uri is required.")
    return given[0] if given else client.redirect_uri


class _Wrong(Exception):
    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error
        self.description = description


def _details(client: Client, sent: dict[str, list[str]]) -> tuple[list[str], str | None]:
    for name, values in sent.items():
        if len(values) > 1:
            raise _Wrong("invalid_request", f"{name} must not be there twice")
        if values and len(values[0]) > _LONGEST:
            raise _Wrong("invalid_request", f"{name} is too long")
    once = {name: values[0] for name, values in sent.items() if values}
    if "response_type" not in once:
        raise _Wrong("invalid_request", "response_type is required")
    if once["response_type"] != "code":
        raise _Wrong("unsupported_response_type", "response_type must be code")
    challenge = _challenge(client, once.get("code_challenge"), once.get("code_challenge_method"))
    if "scope" in once and "scopes" in once and once["scope"] != once["scopes"]:
        raise _Wrong("invalid_request", "scope and scopes contradict each other")
    try:
        return scopes.wanted(once.get("scope") or once.get("scopes") or ""), challenge
    except ValueError as strange:
        raise _Wrong("invalid_scope", f"{strange} is not a scope") from None


def _challenge(client: Client, challenge: str | None, method: str | None) -> str | None:
    if challenge is None and method is None and not client.public:
        return None
    if challenge is None:
        raise _Wrong("invalid_request", "code_challenge is required")
    if method != "S256":
        raise _Wrong("invalid_request", "code_challenge_method must be S256")
    if not _CHALLENGE.fullmatch(challenge):
        raise _Wrong("invalid_request", "code_challenge is not a SHA-256 in base64url")
    return challenge
