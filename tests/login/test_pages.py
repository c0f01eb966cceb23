"""Pages in a real browser: they work without scripts, in light and dark, and are accessible."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import pyotp
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.cloud import Cloud
from tests.login.browser import browser, window
from tests.login.conftest import App, make_app
from tests.login.test_mail import certificate
from tests.login.visitor import PASSWORD, Visitor
from tests.observed import mails

NEW = "a-harbour-full-of-quiet-boats"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def cloud(_sqlite_cloud: Cloud) -> Cloud:
    """Return a cloud on SQLite: pages do not depend on the database."""
    _sqlite_cloud.reset()
    return _sqlite_cloud


@pytest.fixture
def callback() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The other end of a redirect: its address, and what came there."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/callback":
                seen.append({name: values[0] for name, values in parse_qs(parts.query).items()})
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>back</title>back at the app")

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    # A browser may open idle connections, which would block a single-threaded server.
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/callback", seen
        server.shutdown()


def asks(app: App, **changes: Any) -> str:
    return f"{app.cloud.url}/oauth/authorize?" + urlencode(app.asks(**changes))


def sign_in(page: Page) -> None:
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_lets_an_app_in(
    chromium: Browser, cloud: Cloud, ada: Visitor, callback: tuple[str, list[dict[str, str]]], scripts: bool
) -> None:
    address, seen = callback
    app = make_app(cloud, public=True, redirect_uri="http://127.0.0.1/callback")
    app.redirect_uri = address
    with window(chromium, java_script_enabled=scripts) as page:
        page.goto(asks(app))
        sign_in(page)
        page.get_by_label("read only instead").check()
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{address}*")
    [answer] = seen
    token = app.redeems(answer["code"]).json()
    assert token["scope"] == "computes:read_only events:read_only"


def test_a_person_turns_an_app_away(
    chromium: Browser, cloud: Cloud, ada: Visitor, callback: tuple[str, list[dict[str, str]]]
) -> None:
    address, seen = callback
    app = make_app(cloud, redirect_uri="http://127.0.0.1/callback")
    app.redirect_uri = address
    with window(chromium) as page:
        page.goto(asks(app))
        sign_in(page)
        page.get_by_role("button", name="Cancel").click()
        page.wait_for_url(f"{address}*")
    assert [parameters["error"] for parameters in seen] == ["access_denied"]


def back_from_the_console(page: Page) -> None:
    """Arrive at the console after a direct sign-in; the page about the login is still open."""
    page.wait_for_url("**/console/**")
    page.goto(urljoin(page.url, "/login/"))


def test_a_keyboard_is_enough(chromium: Browser, cloud: Cloud, ada: Visitor) -> None:
    with window(chromium) as page:
        page.goto(f"{cloud.url}/login/")
        page.locator("#username:focus").wait_for()  # the first field has the focus
        page.keyboard.type("ada")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        back_from_the_console(page)
        page.get_by_role("heading", name="Signed in").wait_for()
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Sign out").press("Enter")
        page.get_by_role("heading", name="Signed out").wait_for()


def test_a_person_changes_the_password(chromium: Browser, cloud: Cloud, ada: Visitor) -> None:
    with window(chromium) as page:
        page.goto(f"{cloud.url}/login/")
        sign_in(page)
        back_from_the_console(page)
        page.get_by_role("link", name="Change your password").click()
        page.locator("#present:focus").wait_for()  # the first field has the focus
        for typed in (PASSWORD, NEW, NEW):
            page.keyboard.type(typed)
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_role("status").wait_for()
        assert "Your password is changed." in page.inner_text("main")
    assert Visitor(cloud).signs_in("ada", NEW).status_code == 303


def _wrong(page: Page, cloud: Cloud) -> None:
    page.goto(f"{cloud.url}/login/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()


def _code(page: Page, cloud: Cloud) -> None:
    person = cloud.client(cloud.token("ada"))
    secret = person.post("/v4/profile/tfa-enable", json={}).json()["secret"]
    code = pyotp.TOTP(secret).at(cloud.runtime.clock.now() // 1000)
    person.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": code})
    page.goto(f"{cloud.url}/login/")
    sign_in(page)
    page.get_by_role("heading", name="Enter your code").wait_for()


def _consent(page: Page, cloud: Cloud) -> None:
    page.goto(asks(make_app(cloud)))
    sign_in(page)
    page.get_by_text("Technical details").click()


def _password(page: Page, cloud: Cloud) -> None:
    visitor = Visitor(cloud)
    visitor.goes_to("/login/reset")
    visitor.sends(username="ada")
    match = re.search(r"http\S+", mails(cloud)[0]["text"])
    assert match
    page.goto(match[0])
    page.get_by_label("New password").fill("12345678")
    page.get_by_label("The same again").fill("12345678")
    page.get_by_role("button", name="Set the password").click()
    page.get_by_role("alert").wait_for()


def _signed_in(page: Page, cloud: Cloud) -> None:
    page.goto(f"{cloud.url}/login/")
    sign_in(page)
    back_from_the_console(page)


def _change(page: Page, cloud: Cloud) -> None:
    page.goto(f"{cloud.url}/.well-known/change-password")
    sign_in(page)
    page.get_by_label("Current password").fill("wrong")
    page.get_by_label("New password").fill(NEW)
    page.get_by_label("The same again").fill(NEW)
    page.get_by_role("button", name="Change the password").click()
    page.get_by_role("alert").wait_for()


def _plain(path: str) -> Callable[[Page, Cloud], None]:
    def goes(page: Page, cloud: Cloud) -> None:
        page.goto(cloud.url + path)

    return goes


PAGES: dict[str, Callable[[Page, Cloud], None]] = {
    "sign in": _plain("/login/"),
    "wrong password": _wrong,
    "code": _code,
    "consent": _consent,
    "signed in": _signed_in,
    "sign out": _plain("/login/logout"),
    "forgotten": _plain("/login/reset"),
    "new password": _password,
    "change": _change,
    "dead link": _plain("/login/password?token=x"),
    "unknown app": _plain("/oauth/authorize?client_id=x"),
    "nowhere": _plain("/login/nowhere"),
}


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_a_page(chromium: Browser, cloud: Cloud, ada: Visitor, name: str, scheme: Any) -> None:
    with window(chromium, color_scheme=scheme, viewport={"width": 320, "height": 640}) as page:
        PAGES[name](page, cloud)
        violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320  # no horizontal overflow
        expected = {"light": "rgb(238, 242, 238)", "dark": "rgb(16, 21, 18)"}[scheme]
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == expected


def test_encrypted_the_cookies_belong_to_this_host_alone(chromium: Browser, tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    environment = {
        **os.environ,
        "CROFTER_SECRET_KEY": "0123456789abcdef" * 4,
        "CROFTER_TLS_CERTIFICATE": str(pem),
        "CROFTER_TLS_KEY": str(pem),
        "CROFTER_PASSWORD_MEMORY": "1",
        "CROFTER_BASE_URL": "https://cloud.example",
    }
    data = tmp_path / "data"
    command = [sys.executable, "-m", "crofter", "serve", "--mode", "production", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"https://\S+", server.stdout.readline().decode())
            assert address
            kept = (data / "first-login.txt").read_text().splitlines()
            password = next(line.split()[1] for line in kept if line.strip().startswith("password"))
            with window(chromium, ignore_https_errors=True) as page:
                page.goto(address[0] + "/login/")
                page.get_by_label("Username").fill("admin")
                page.get_by_label("Password").fill(password)
                page.get_by_label("Remember me").check()
                page.get_by_role("button", name="Sign in").click()
                page.wait_for_url("**/console/**")
                cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
        finally:
            server.terminate()
    assert server.returncode == 0
    assert sorted(cookies) == [f"__Host-crofter_{name}" for name in ("device", "form", "known", "session")]
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, True, "Lax", "/")
