"""Requests to the login service that are meant to keep it busy."""

from __future__ import annotations

import http.cookies
import threading
from typing import Any

import pytest

from crofter.login import app
from crofter.login.browser import BrowserRequest, Fields
from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor


def visit(cloud: Cloud, cookie: bytes) -> BrowserRequest:
    scope = {
        "method": "GET",
        "path": "/login/",
        "query_string": b"",
        "headers": [(b"cookie", cookie)],
        "scheme": "http",
    }
    return BrowserRequest(cloud.runtime, scope, "")


@pytest.mark.both
def test_our_cookies_are_found_among_others_and_taken_as_they_are(cloud: Cloud) -> None:
    visited = visit(cloud, b'a="b; crofter_session=0f ;crofter_form = "x\\"\\073" ; crofter_device=; other; =; ;')
    assert (visited.cookie("session"), visited.cookie("form")) == ("0f", '"x\\"\\073"')
    assert visited.cookie("device") is None
    assert visit(cloud, b"crofter_session").cookie("session") is None
    assert visit(cloud, b"").cookie("session") is None


def test_no_quoted_cookie_is_unquoted(ada: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send long quoted cookies, which Python unquotes in seconds."""

    def unquote(_text: Any) -> str:
        raise AssertionError

    monkeypatch.setattr(http.cookies, "_unquote", unquote)
    ada.http.cookies.set("a", '"' + r"\"" * 30_000 + '"')
    assert ada.goes_to("/login/").status_code == 200
    assert ada.sends(username="ada", password=PASSWORD).status_code == 303
    assert ada.is_signed_in


CROWDED = b"".join(b'--x\r\nContent-Disposition: form-data; name="a"%s\r\n\r\nb\r\n' % (b";" * 3800) for _ in range(16))
FORMS = {
    "crowded": ("multipart/form-data; boundary=x", CROWDED + b"--x--\r\n", 403),
    "cut off": ("multipart/form-data; boundary=x", CROWDED, 403),
    "without a boundary": ("multipart/form-data", CROWDED, 400),
    "empty": ("multipart/form-data; boundary=x", b"", 403),
    "escaped": ("application/x-www-form-urlencoded", b"%41" * 20_000, 403),
}


@pytest.mark.parametrize(("kind", "content", "status"), FORMS.values(), ids=FORMS)
def test_a_form_is_read_where_it_holds_nobody_up(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, kind: str, content: bytes, status: int
) -> None:
    threads = []
    read = app._by_name

    def by_name(pairs: list[tuple[str, str]]) -> Fields:
        threads.append(threading.current_thread().name)
        return read(pairs)

    monkeypatch.setattr(app, "_by_name", by_name)
    answer = cloud.sandbox.post("/login/", content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert threads
    assert all(name.startswith("login") for name in threads), threads
