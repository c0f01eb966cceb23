"""A request to the login service, with the data that its pages need."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any, TypeVar

from crofter.context import Context, Runtime
from crofter.db.database import TransactionConflict
from crofter.errors import Forbidden, Unavailable
from crofter.login import sessions
from crofter.login.store import SignedIn

T = TypeVar("T")
TRIES = 5
Fields = dict[str, list[str]]


class Forged(Forbidden):
    """A form that did not come from our own page."""

    default = "This form has expired. Go back, reload the page and try again."


class BrowserRequest:
    def __init__(self, runtime: Runtime, scope: Any, request_id: str) -> None:
        self.runtime = runtime
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: str = scope["query_string"].decode("latin-1")
        self.request_id = request_id
        self.query: Fields = {}
        self.form: Fields = {}
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.address = str(scope["client"][0]) if scope.get("client") else ""
        # A browser keeps __Host- cookies only when they come encrypted; a sandbox on this machine need not be.
        self.secure = not (runtime.settings.sandbox and scope.get("scheme") == "http")
        self.origin = (
            runtime.settings.base_url or f"{scope.get('scheme', 'http')}://{self.headers.get('host', '')}"
        ).rstrip("/")
        self._sent = _cookies(self.headers.get("cookie", ""))
        self.cookies: dict[str, tuple[str, int]] = {}
        """Cookies to set, by their plain name: value, and seconds to live (0: until the browser closes)."""
        self._session: SignedIn | None = None
        self._looked = False

    # ---- the database -----------------------------------------------------------------------------------------------

    def read(self, look: Callable[[Context], T]) -> T:
        with self.runtime.database.read() as db:
            return look(Context(self.runtime, db, address=self.address, request_id=self.request_id))

    def write(self, change: Callable[[Context], T]) -> T:
        for _ in range(TRIES):
            try:
                with self.runtime.database.write() as db:
                    return change(Context(self.runtime, db, address=self.address, request_id=self.request_id))
            except TransactionConflict:
                continue
        raise Unavailable

    # ---- cookies ----------------------------------------------------------------------------------------------------

    def cookie_name(self, name: str) -> str:
        return f"__Host-crofter_{name}" if self.secure else f"crofter_{name}"

    def cookie(self, name: str) -> str | None:
        return self._sent.get(self.cookie_name(name)) or None

    def set_cookie(self, name: str, value: str, seconds: int = 0) -> None:
        self.cookies[name] = (value, seconds)
        self._sent[self.cookie_name(name)] = value

    @property
    def session(self) -> SignedIn | None:
        """Return the signed-in user, or None."""
        if not self._looked:
            self._looked = True
            secret = self.cookie("session")
            if secret is not None:
                self._session = self._find(secret)
        return self._session

    def _find(self, secret: str) -> SignedIn | None:
        def look(ctx: Context) -> tuple[SignedIn | None, bool]:
            session = sessions.find(ctx, secret)
            return session, session is not None and sessions.needs_touch(ctx, session)

        session, stale = self.read(look)
        if session is not None and stale:
            self.write(lambda ctx: sessions.touch(ctx, session))
        return session

    # ---- forms ------------------------------------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """A field of a page's own form; absent is empty."""
        values = self.form.get(name, [])
        return values[0] if len(values) == 1 else ""

    def form_token(self) -> str:
        """Return the token of our forms: bound to this browser and its signed-in user."""
        browser = self.cookie("form")
        if browser is None:
            browser = self.runtime.rng.hex(32)
            self.set_cookie("form", browser)
        return self.runtime.keyring.digest(f"form {browser} {self.cookie('session') or ''}").hex()

    def check_form(self) -> None:
        """A form comes from our page in this browser, or it is Forged."""
        site, origin = self.headers.get("sec-fetch-site"), self.headers.get("origin", "null")
        if site is not None and site != "same-origin":
            raise Forged
        # A page that sends no referrer names no origin either; then the browser's word above counts.
        if origin == "null" and "origin" in self.headers and site is None:
            raise Forged
        if origin != "null" and _host(origin) not in (self.headers.get("host"), _host(self.origin)):
            raise Forged
        if self.cookie("form") is None or not hmac.compare_digest(
            self.form_token().encode(), self.field("form_token").encode()
        ):
            raise Forged


def _cookies(header: str) -> dict[str, str]:
    """Parse cookies without unquoting: ours are never quoted, and unquoting hostile ones can take seconds."""
    pairs = (cookie.partition("=") for cookie in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _host(origin: str) -> str:
    return origin.partition("//")[2]
