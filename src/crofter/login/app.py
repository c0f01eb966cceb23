"""The login service as an ASGI application: from a request to the function that answers it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from crofter.context import Runtime
from crofter.edge.limits import RateLimits
from crofter.edge.mounts import by_path
from crofter.edge.observe import Observer
from crofter.edge.perform import Answer
from crofter.edge.problems import Fault, MethodNotAllowed, TooLarge, UnsupportedMediaType, status_of
from crofter.edge.receiving import Gone, read_body
from crofter.edge.redact import words_of
from crofter.errors import Invalid, Problem, TooMany, Unavailable
from crofter.login import consent, exchange, pages, password_change, password_reset, signin
from crofter.login.browser import BrowserRequest, Fields
from crofter.login.token_families import Refusal

log = logging.getLogger("crofter")

MAX_BODY = 64 * 1024
MAX_FIELDS = 100
THREADS = 32
"""More than may wait for a password to be checked, so that a page never waits behind those."""

Handler = Callable[[BrowserRequest], Response]
ROUTES: dict[str, dict[str, Handler]] = {
    "/login": {"GET": signin.show, "POST": signin.submit},
    "/login/logout": {"GET": signin.ask_to_leave, "POST": signin.leave},
    "/login/reset": {"GET": password_reset.ask, "POST": password_reset.mail_link},
    "/login/password": {"GET": password_reset.choose, "POST": password_reset.set_password},
    "/login/change": {"GET": password_change.show, "POST": password_change.submit},
    "/.well-known/change-password": {"GET": password_change.well_known},
    "/login/style.css": {"GET": pages.stylesheet},
    "/oauth/authorize": {"GET": consent.show, "POST": consent.decide},
    "/oauth/token": {"POST": exchange.token, "OPTIONS": exchange.preflight},
    "/oauth/revoke": {"POST": exchange.revoke, "OPTIONS": exchange.preflight},
    "/.well-known/oauth-authorization-server": {"GET": exchange.metadata, "OPTIONS": exchange.preflight},
}
_FOR_PROGRAMS = ("/oauth/token", "/oauth/revoke", "/.well-known/oauth")
_TITLES = {403: "Not allowed", 404: "Not found", 429: "Too many requests", 500: "Something went wrong"}
_TEXTS = {
    404: "There is no page at this address.",
    429: "Wait a little, then try again.",
    500: "The fault is ours, and on record. Try again.",
}
_ERRORS = {429: "temporarily_unavailable", 500: "server_error", 503: "temporarily_unavailable"}


class LoginApp:
    def __init__(self, runtime: Runtime, limits: RateLimits, observer: Observer) -> None:
        self._runtime = runtime
        self._limits = limits
        self._observer = observer
        observer.words |= words_of(ROUTES)
        self._pool = ThreadPoolExecutor(THREADS, "login", initializer=runtime.database.answers_callers)
        self._boot = runtime.rng.hex(8)
        self._serial = itertools.count(1)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        began = time.perf_counter()
        request_id = f"{self._boot}-l{next(self._serial):x}"
        try:
            response = await self._answer(scope, receive, request_id)
        except Gone:
            return
        response.headers["x-request-id"] = request_id
        await response(scope, receive, send)
        self._observer.request(scope, None, Answer(response.status_code, b""), request_id, time.perf_counter() - began)

    async def _answer(self, scope: Any, receive: Any, request_id: str) -> Response:
        request = BrowserRequest(self._runtime, scope, request_id)
        try:
            await self._limits.prepare("general", None, request.address)
            self._limits.hit("general", request.address)
            handler = by_path(ROUTES, scope["method"], scope["path"])
            body = b""
            if scope["method"] == "POST":
                body = await read_body(receive, dict(scope["headers"]), MAX_BODY)
            return await asyncio.get_running_loop().run_in_executor(self._pool, _serve, handler, request, scope, body)
        except Problem as problem:
            return _refused(request, problem)
        except Gone:
            raise
        except Exception:
            log.exception("request %s failed", request_id)
            return _refused(request, Fault())


def _refused(request: BrowserRequest, problem: Problem) -> Response:
    status = status_of(problem)
    reason = problem.reasons[0].reason
    if request.path.startswith(_FOR_PROGRAMS):
        response = exchange.refuse(request, Refusal(_ERRORS.get(status, "invalid_request"), reason, status))
    else:
        title = _TITLES.get(status, "This did not work")
        response = pages.message(request, title, _TEXTS.get(status) or reason.rstrip(".") + ".", status=status)
    if isinstance(problem, MethodNotAllowed):
        response.headers["allow"] = problem.allowed
    if isinstance(problem, (TooMany, Unavailable)):
        rate_status = getattr(problem, "rate_status", None)
        response.headers["retry-after"] = str(rate_status.seconds if rate_status else 1)
    if isinstance(problem, TooLarge):
        response.headers["connection"] = "close"
    return response


def _serve(handler: Handler, request: BrowserRequest, scope: Any, body: bytes) -> Response:
    """On a thread from end to end: how long a form takes to read is up to who sends it."""
    request.query.update(_pairs(scope["query_string"]))
    request.form.update(_form(Headers(scope=scope), body))
    return handler(request)


def _form(headers: Headers, body: bytes) -> Fields:
    """The fields of a form, sent in either of the two ways that forms are sent."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        return {}
    if kind == "multipart/form-data":
        return asyncio.run(_multipart(headers, body))
    if kind == "application/x-www-form-urlencoded":
        return _pairs(body)
    raise UnsupportedMediaType


async def _multipart(headers: Headers, body: bytes) -> Fields:
    async def stream() -> AsyncIterator[bytes]:
        yield body
        yield b""

    try:
        parsed = await MultiPartParser(headers, stream(), max_files=0, max_fields=MAX_FIELDS).parse()  # type: ignore[arg-type]
    except MultiPartException as error:
        raise Invalid("The form cannot be read") from error
    return _by_name([(name, value) for name, value in parsed.multi_items() if isinstance(value, str)])


def _pairs(raw: bytes) -> Fields:
    try:
        text = raw.decode("ascii")
        return _by_name(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS))
    except ValueError as error:
        raise Invalid("The form cannot be read") from error


def _by_name(pairs: list[tuple[str, str]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            raise Invalid("The form cannot be read")
        fields.setdefault(name, []).append(value)
    return fields
