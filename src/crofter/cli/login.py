"""``crofter login``: a browser signs in, and hands this program a token of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

from crofter.client import profiles
from crofter.client.exits import Stop
from crofter.client.transport import LOGIN_CLIENT as CLIENT
from crofter.rng import Rng

MAX_SECONDS = 300
"""Seconds that a person has to sign in."""
_PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>{0} · crofter</title>"
    "<style>:root{{color-scheme:light dark}}body{{font:1.1rem/1.5 system-ui,sans-serif;margin:20vh auto;"
    "max-width:30rem;padding:0 1rem;text-align:center}}</style><h1>{0}</h1><p>You can close this window.</p></html>"
)


class Failed(Exception):
    """Failure of a sign-in, with the reason as its text."""


class _Callback(BaseHTTPRequestHandler):
    """The other end of the redirect; takes the first answer that comes to its own address."""

    server: _Waiting

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path != "/callback":
            self.send_error(404)
            return
        self.server.answer = {name: values[0] for name, values in parse_qs(parts.query).items()}
        page = _PAGE.format("Not signed in" if "error" in self.server.answer else "Signed in").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: Any) -> None:
        """The code is in the address, so nothing is logged."""


class _Waiting(HTTPServer):
    answer: dict[str, str] | None = None
    timeout = MAX_SECONDS

    def handle_timeout(self) -> None:
        raise Failed("nobody signed in within five minutes")


def login(url: str | None, scopes: str, no_browser: bool, profile: str | None = None) -> int:
    try:
        server = profiles.place(url, profile).url
        token = _signed_in(server, scopes, open_browser=not no_browser)
        user = _call(f"{server}/v4/profile", token["access_token"])
        profiles.keep(server, {**token, "username": user["username"]})
    except (Failed, Stop) as problem:
        print(f"crofter: {problem}", file=sys.stderr)
        return 1
    print(f"signed in to {server} as {user['username']}")
    return 0


def logout(url: str | None, profile: str | None = None) -> int:
    try:
        server = profiles.place(url, profile).url
    except Stop as problem:
        print(f"crofter: {problem}", file=sys.stderr)
        return 1
    kept = profiles.credentials().pop(server, None)
    if kept is None:
        print(f"crofter: not signed in to {server}", file=sys.stderr)
        return 1
    try:
        _call(f"{server}/oauth/revoke", fields={"client_id": CLIENT, "token": kept["refresh_token"]})
    except Failed as problem:
        print(f"crofter: the token could not be revoked: {problem}", file=sys.stderr)
    profiles.keep(server, None)
    print(f"signed out of {server}")
    return 0


def _signed_in(server: str, scopes: str, *, open_browser: bool) -> dict[str, Any]:
    """The way of RFC 8252: a redirect to this machine, and a challenge, since a program keeps no secrets."""
    rng = Rng()
    state, verifier = rng.hex(32), rng.hex(64)
    metadata = _call(f"{server}/.well-known/oauth-authorization-server")
    with _Waiting(("127.0.0.1", 0), _Callback) as waiting:
        redirect_uri = f"http://127.0.0.1:{waiting.server_address[1]}/callback"
        query = {
            "client_id": CLIENT,
            "response_type": "code",
            "scope": scopes,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
        address = f"{metadata['authorization_endpoint']}?{urlencode(query)}"
        if not (open_browser and webbrowser.open(address)):
            print(f"open this address in a browser on this machine:\n  {address}", flush=True)
        while waiting.answer is None:
            waiting.handle_request()
        answer = waiting.answer
    if answer.get("state") != state or answer.get("iss") != metadata["issuer"]:
        raise Failed("the answer is not to our question")
    if "code" not in answer:
        raise Failed(answer.get("error_description") or answer.get("error") or "there was no code")
    fields = {
        "grant_type": "authorization_code",
        "client_id": CLIENT,
        "code": answer["code"],
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    return _call(metadata["token_endpoint"], fields=fields)


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _call(url: str, token: str | None = None, fields: dict[str, str] | None = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = urlencode(fields).encode() if fields is not None else None
    try:
        with urlopen(Request(url, data, headers), timeout=30) as answer:
            body: dict[str, Any] = json.load(answer)
            return body
    except HTTPError as error:
        raise Failed(_reason(error)) from error
    except (URLError, OSError) as error:
        raise Failed(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from error
    except ValueError as error:
        raise Failed(f"{url} is not a crofter") from error


def _reason(error: HTTPError) -> str:
    try:
        return str(json.load(error)["errors"][0]["reason"])
    except (ValueError, LookupError, TypeError):
        return f"{error.url} answers {error.code}"
