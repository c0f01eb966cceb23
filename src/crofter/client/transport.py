"""Requests and answers, over the standard library's HTTP."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, InvalidURL
from typing import Any
from urllib.parse import urlencode, urlsplit

from crofter import __version__
from crofter.client import profiles
from crofter.client.exits import REFUSED, UNAUTHORISED, UNREACHABLE, USAGE, Stop

SECONDS = 90
"""How long an answer may take; a wait for events is held back by the server for 60."""
TRIES = 4
MAX_PAUSE = 10
LOGIN_CLIENT = "00000000000000000c11"
"""The OAuth client that every server knows as the command line."""


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def good(self) -> bool:
        return self.status < 300

    def json(self) -> Any:
        try:
            return json.loads(self.body) if self.body else {}
        except ValueError as error:
            raise Stop(UNREACHABLE, "the answer is not JSON: is this the address of a crofter?") from error


class Refused(Stop):
    """The server has said no."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(UNAUTHORISED if answer.status in (401, 403) else REFUSED, f"the answer is {answer.status}")
        self.answer = answer

    def rendered(self, *, as_json: bool) -> str:
        return self.answer.body.decode("utf-8", "replace") if as_json else "\n".join(self._lines())

    def _lines(self) -> list[str]:
        """A line for each reason, with the field in front where one is to blame."""
        try:
            errors = json.loads(self.answer.body)["errors"]
            lines = [": ".join(filter(None, (error.get("field"), error["reason"]))) for error in errors]
        except (ValueError, LookupError, TypeError, AttributeError):
            lines = [str(self)]
        if self.answer.status == 401:
            lines.append("sign in with `crofter login`, or put a token into $CROFTER_TOKEN")
        if self.answer.status >= 500:
            lines.append(f"request id: {self.answer.headers.get('X-Request-Id', 'none')}")
        return lines


class Session:
    """Connection to one server, kept open between requests."""

    def __init__(self, place: profiles.Place) -> None:
        self.place = place
        parts = urlsplit(place.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Stop(USAGE, f"{place.url!r} is no address: it begins with http:// or https://")
        self._prefix = parts.path
        if parts.scheme == "http":
            self._connection = HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
        else:
            self._connection = HTTPSConnection(parts.hostname, parts.port, timeout=SECONDS, context=_tls(place.ca))

    def call(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """Send a request and return the response. Retry a read that the server refuses with ``Retry-After``."""
        asked = 1
        while True:
            answer = self._authorised(method, path, headers or {}, body)
            if method != "GET" or answer.status not in (429, 503) or asked == TRIES:
                return answer
            asked += 1
            time.sleep(_pause(answer))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Any:
        answer = self.call("GET", path, headers)
        if not answer.good:
            raise Refused(answer)
        return answer.json()

    @contextmanager
    def lines(self, path: str, headers: Mapping[str, str]) -> Iterator[Iterator[str]]:
        """An answer that comes line by line, for as long as it lasts."""
        response = self._sent("GET", path, self._with_token(headers), None)
        if response.status >= 300:
            raise Refused(Answer(response.status, dict(response.getheaders()), response.read()))
        self._connection.sock.settimeout(None)
        try:
            yield (line.decode("utf-8", "replace").rstrip("\r\n") for line in response)
        except (HTTPException, OSError) as error:
            if isinstance(error, BrokenPipeError):  # broken pipe of our own output
                raise
            raise self._unreachable(error) from error

    def _authorised(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        answer = self._once(method, path, self._with_token(headers), body)
        if answer.status == 401 and self.place.kept and self._renew():
            answer = self._once(method, path, self._with_token(headers), body)
        return answer

    def _with_token(self, headers: Mapping[str, str]) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.place.token}"} if self.place.token else {}
        return {"User-Agent": f"crofter/{__version__}", "X-Dialect": "none", **token, **headers}

    def _once(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        response = self._sent(method, path, headers, body)
        try:
            return Answer(response.status, dict(response.getheaders()), response.read())
        except (HTTPException, OSError) as error:
            raise self._unreachable(error) from error

    def _sent(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> HTTPResponse:
        was_open = self._connection.sock is not None
        try:
            self._connection.request(method, self._prefix + path, body, dict(headers))
            return self._connection.getresponse()
        except (InvalidURL, ValueError) as error:  # a line end in a header, or the like
            self._connection.close()
            raise Stop(USAGE, f"cannot be sent: {error}") from error
        except (HTTPException, OSError) as error:
            self._connection.close()
            if was_open and method == "GET":  # closed by the other side while nothing was said
                return self._sent(method, path, headers, body)
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> Stop:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Stop(UNREACHABLE, f"{self.place.url} cannot be reached: {reason}")

    def _renew(self) -> bool:
        """A token of ``crofter login`` has run out: take the one that another process has got, or ask for one."""
        with _alone():
            kept = profiles.credentials().get(self.place.url, {})
            if kept.get("access_token") not in (None, self.place.token):
                self.place.token = kept["access_token"]
                return True
            if "refresh_token" not in kept:
                return False
            fields = {"grant_type": "refresh_token", "client_id": LOGIN_CLIENT, "refresh_token": kept["refresh_token"]}
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = self._once("POST", "/oauth/token", form, urlencode(fields).encode())
            if not answer.good:
                return False
            token = {**kept, **answer.json()}
            profiles.keep(self.place.url, token)
            self.place.token = token["access_token"]
            return True


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock that serialises token renewals: a refresh token that is used twice ends the whole login."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # not a Unix
        yield
        return
    with open(profiles.folder() / "credentials.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _tls(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise Stop(USAGE, f"{ca}: {error.strerror or error}") from error


def _pause(answer: Answer) -> float:
    retry_after = answer.headers.get("Retry-After", "1")
    return min(float(retry_after), MAX_PAUSE) if retry_after.isdigit() else 1.0
