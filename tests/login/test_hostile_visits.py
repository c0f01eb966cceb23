"""Requests to the login service that are meant to keep it busy."""

from __future__ import annotations

import http.cookies
from typing import Any

import pytest

from crofter.login.visit import Visit
from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor


def visit(cloud: Cloud, cookie: bytes) -> Visit:
    scope = {
        "method": "GET",
        "path": "/login/",
        "query_string": b"",
        "headers": [(b"cookie", cookie)],
        "scheme": "http",
    }
    return Visit(cloud.world, scope, "")


def test_our_cookies_are_found_among_others_and_taken_as_they_are(cloud: Cloud) -> None:
    found = visit(cloud, b'a="b; crofter_session=0f ;crofter_form = "x\\"\\073" ; crofter_device=; other; =; ;')
    assert (found.cookie("session"), found.cookie("form")) == ("0f", '"x\\"\\073"')
    assert found.cookie("device") is None
    assert visit(cloud, b"crofter_session").cookie("session") is None
    assert visit(cloud, b"").cookie("session") is None


def test_no_quoted_cookie_is_unquoted(ada: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes seconds over a long one."""

    def unquote(_text: Any) -> str:
        raise AssertionError

    monkeypatch.setattr(http.cookies, "_unquote", unquote)
    ada.http.cookies.set("a", '"' + r"\"" * 30_000 + '"')
    assert ada.goes_to("/login/").status_code == 200
    assert ada.sends(username="ada", password=PASSWORD).status_code == 303
    assert ada.is_signed_in
