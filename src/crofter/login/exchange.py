"""The endpoints that programs use: codes and refresh tokens for tokens, revocation, and the metadata of it all."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import unquote_plus

from starlette.responses import Response

from crofter.login import clients, pages, scopes, token_families
from crofter.login.browser import BrowserRequest
from crofter.login.store import Client
from crofter.login.token_families import Issued, Refusal
from crofter.scopes import READ, RESOURCES, WRITE


class Refused(Exception):
    def __init__(self, error: str, description: str, status: int = 400, **headers: str) -> None:
        super().__init__(description)
        self.refusal = Refusal(error, description, status)
        self.headers = headers


def refuse(request: BrowserRequest, refusal: Refusal, **headers: str) -> Response:
    """A refusal in the words of RFC 6749 and in those of the interface: clients look for either."""
    body = {
        "error": refusal.error,
        "error_description": refusal.description,
        "errors": [{"reason": refusal.description}],
    }
    return pages.json(request, body, refusal.status, **headers)


def token(request: BrowserRequest) -> Response:
    try:
        outcome = _exchange(request)
    except Refused as refused:
        return refuse(request, refused.refusal, **refused.headers)
    if isinstance(outcome, Refusal):
        return refuse(request, outcome)
    return pages.json(
        request,
        {
            "access_token": outcome.access,
            "refresh_token": outcome.refresh,
            "token_type": "bearer",
            "expires_in": outcome.seconds,
            "scope": outcome.scopes,
            "scopes": outcome.scopes,
        },
    )


def _exchange(request: BrowserRequest) -> Issued | Refusal:
    sent = _fields(request)
    kind = sent.get("grant_type") or ("authorization_code" if "code" in sent else None)
    if kind is None:
        raise Refused("invalid_request", "grant_type is required")
    if kind not in ("authorization_code", "refresh_token"):
        raise Refused("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
    client = _client(request, sent, proven=True)
    if kind == "authorization_code":
        code = _required(sent, "code")
        redirect_uri, verifier = sent.get("redirect_uri"), sent.get("code_verifier")
        return request.write(lambda ctx: token_families.redeem(ctx, client, code, redirect_uri, verifier))
    plain, narrower = _required(sent, "refresh_token"), _narrower(sent)
    return request.write(lambda ctx: token_families.renew(ctx, client, plain, narrower))


def revoke(request: BrowserRequest) -> Response:
    """Revoke a token. The token suffices; a client secret is optional, but a wrong one is refused."""
    try:
        sent = _fields(request)
        client = _client(request, sent, proven=False)
        plain = _required(sent, "token")
    except Refused as refused:
        return refuse(request, refused.refusal, **refused.headers)
    request.write(lambda ctx: token_families.revoke(ctx, client, plain))
    return pages.json(request, {})


def metadata(request: BrowserRequest) -> Response:
    here = request.origin
    ways = ["client_secret_post", "client_secret_basic", "none"]
    return pages.json(
        request,
        {
            "issuer": here,
            "authorization_endpoint": f"{here}/oauth/authorize",
            "token_endpoint": f"{here}/oauth/token",
            "revocation_endpoint": f"{here}/oauth/revoke",
            "scopes_supported": [
                "*",
                *(f"{name}:{level}" for name in RESOURCES for level in (READ, WRITE)),
            ],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ways,
            "revocation_endpoint_auth_methods_supported": ways,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "service_documentation": f"{here}/docs",
        },
    )


def preflight(request: BrowserRequest) -> Response:
    return pages.json(request, {})


def _fields(request: BrowserRequest) -> dict[str, str]:
    """The fields of the body; an empty one counts as absent, a doubled one is refused."""
    for name, values in request.form.items():
        if len(values) > 1:
            raise Refused("invalid_request", f"{name} must not be there twice")
    return {name: values[0] for name, values in request.form.items() if values[0]}


def _required(sent: dict[str, str], name: str) -> str:
    if name not in sent:
        raise Refused("invalid_request", f"{name} is required")
    return sent[name]


def _narrower(sent: dict[str, str]) -> list[str] | None:
    asked = sent.get("scope") or sent.get("scopes")
    if asked is None:
        return None
    try:
        return scopes.wanted(asked)
    except ValueError as strange:
        raise Refused("invalid_scope", f"{strange} is not a scope") from None


def _client(request: BrowserRequest, sent: dict[str, str], *, proven: bool) -> Client:
    """Return the requesting client. ``proven``: a confidential client must show its secret."""
    header = request.headers.get("authorization", "")
    by_header = header[:6].lower() == "basic "
    if by_header:
        name, secret = _basic(header[6:])
        if "client_secret" in sent or sent.get("client_id", name) != name:
            raise Refused("invalid_request", "the client is named in two ways")
    else:
        name, secret = _required(sent, "client_id"), sent.get("client_secret", "")
    # A browser would ask a person for a password if it saw this, so it is said only to who used the header.
    challenge = {"www-authenticate": 'Basic realm="crofter"'} if by_header else {}
    clients.ensure_built_in(request.runtime, name)
    client = request.read(lambda ctx: clients.find(ctx, name))
    if client is None:
        raise Refused("invalid_client", "The client is not known.", 401, **challenge)
    if secret and not clients.knows_secret(request.runtime, client, secret):
        raise Refused("invalid_client", "The client secret is wrong.", 401, **challenge)
    if proven and not secret and not client.public:
        raise Refused("invalid_client", "client_secret is required", 401, **challenge)
    return client


def _basic(credentials: str) -> tuple[str, str]:
    try:
        name, colon, secret = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise Refused("invalid_client", "The Authorization header cannot be read.", 401)
    return unquote_plus(name), unquote_plus(secret)
