"""Mounts are built on first use, exactly once."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest

from crofter.edge import mounts
from crofter.login.app import LoginApp
from tests.at_once import at_once
from tests.cloud import Cloud


def test_however_many_ask_first_it_is_made_once() -> None:
    made: list[object] = []

    @mounts.once
    def make() -> object:
        made.append(object())
        time.sleep(0.05)  # long enough for the others to ask, too
        return made[-1]

    assert made == []
    assert at_once(*[make] * 8) == made * 8
    assert [make()] == made


def test_the_login_service_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[LoginApp] = []
    begin = LoginApp.__init__

    def count(self: LoginApp, *parts: Any) -> None:
        made.append(self)
        time.sleep(0.05)
        begin(self, *parts)

    monkeypatch.setattr(LoginApp, "__init__", count)
    cloud = Cloud()
    try:
        answers = at_once(*[partial(cloud.sandbox.get, "/login/style.css")] * 6)
        assert [answer.status_code for answer in answers] == [200] * 6
        assert len(made) == 1
    finally:
        cloud.close()


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/health/live", "GET, HEAD"),
        ("/version", "GET, HEAD"),
        ("/login", "GET, HEAD, POST"),
        ("/oauth/token/", "OPTIONS, POST"),
        ("/_sandbox/faults", "DELETE, GET, HEAD, POST"),
        ("/_sandbox/clock/freeze/", "POST"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(cloud: Cloud, path: str, allowed: str) -> None:
    answer = cloud.sandbox.patch(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    "path", ["/health/other", "/login/other", "/oauth/other", "/_sandbox/other", "/_sandbox/clock/x"]
)
def test_an_unknown_path_beside_the_interface_is_not_found(cloud: Cloud, path: str) -> None:
    assert cloud.sandbox.get(path).status_code == 404
