"""Access to the sandbox API: from this machine, or with a key from anywhere."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cloud import Cloud
from tests.login.visitor import Visitor
from tests.served import CROFTER, Process, environment, run, serving

KEY = "a-key-of-the-sandbox"
BEYOND = {"CROFTER_SANDBOX_KEY": KEY, "CROFTER_SANDBOX_HOSTS": "Sandbox.test, crofter:8420,127.0.0.1"}


@pytest.fixture(scope="module")
def beyond() -> Iterator[Process]:
    """A sandbox that listens on every address."""
    with serving("--mode", "sandbox", "--host", "0.0.0.0", "--data", ":memory:", env=BEYOND) as process:
        yield process


def ask(process: Process, key: str | None = KEY, **headers: str) -> int:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if key is not None:
        sent["X-Sandbox-Key"] = key
    address = process.url.replace("0.0.0.0", "127.0.0.1")
    return httpx2.get(f"{address}/_sandbox/clock", headers=sent, timeout=30).status_code


def test_a_sandbox_beyond_loopback_wants_its_key(beyond: Process) -> None:
    assert ask(beyond) == 200
    assert ask(beyond, key=None) == 401
    assert ask(beyond, key=KEY[:-1]) == 401


def test_a_name_that_is_not_the_servers_is_refused(beyond: Process) -> None:
    for name in ("sandbox.test", "SANDBOX.test:9", "crofter:8420"):
        assert ask(beyond, Host=name) == 200, name
    for name in ("evil.example", "crofter:8421", "localhost", "sandbox.test.evil.example", "@sandbox.test"):
        assert ask(beyond, Host=name) in (400, 403), name


def test_a_page_of_another_site_is_refused_even_with_the_key(beyond: Process) -> None:
    assert ask(beyond, Host="sandbox.test", Origin="https://sandbox.test") == 200
    assert ask(beyond, Host="sandbox.test", Origin="https://evil.example") == 403
    assert ask(beyond, Host="sandbox.test", Origin="null") == 403
    assert ask(beyond, Sec_Fetch_Site="cross-site") == 403


def test_a_proxy_may_bring_callers_who_have_the_key(beyond: Process) -> None:
    assert ask(beyond, Host="sandbox.test", X_Forwarded_For="192.0.2.1") == 200
    assert ask(beyond, key=None, Host="sandbox.test", X_Forwarded_For="192.0.2.1") == 401


def test_a_key_that_is_set_is_needed_on_loopback_too() -> None:
    with serving("--data", ":memory:", env={"CROFTER_SANDBOX_KEY": KEY}) as process:
        assert ask(process) == 200
        assert ask(process, key=None) == 401
        assert ask(process, Host="evil.example") == 403


@pytest.mark.parametrize("left_out", list(BEYOND))
def test_a_sandbox_beyond_loopback_does_not_start_half_guarded(left_out: str) -> None:
    given = {name: value for name, value in BEYOND.items() if name != left_out}
    refused = run("serve", "--mode", "sandbox", "--host", "0.0.0.0", "--port", "0", "--data", ":memory:", env=given)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert left_out in refused.stderr


def test_a_user_signs_in_with_the_password_that_the_account_was_opened_with(cloud: Cloud) -> None:
    opened = cloud.sandbox.post("/_sandbox/accounts", json={"username": "pat", "password": "a-word-of-pats"})
    assert opened.status_code == 200, opened.text
    assert "a-word-of-pats" not in opened.text
    assert Visitor(cloud).signs_in("pat", "a-word-of-pats").status_code == 303
    assert Visitor(cloud).signs_in("pat", "a-word-of-others").status_code != 303


@pytest.mark.both
def test_a_password_is_a_text(cloud: Cloud) -> None:
    for password in ("", "x" * 129, 7):
        refused = cloud.sandbox.post("/_sandbox/accounts", json={"username": "pat", "password": password})
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["field"] == "password"


def test_a_program_is_told_where_the_server_is_in_one_line(tmp_path: Path) -> None:
    made = _announced(tmp_path)
    assert made["url"].startswith("http://127.0.0.1:")
    assert made["mode"] == "sandbox"
    assert made["username"] == "admin"
    assert all(made[name] for name in ("password", "token"))
    again = _announced(tmp_path)
    assert [again[name] for name in ("username", "password", "token")] == [None, None, None]


def _announced(folder: Path) -> dict[str, str]:
    """Return the output of ``--print-json`` of a server that is stopped again."""
    command = [CROFTER, "serve", "--port", "0", "--data", str(folder), "--print-json"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    announcement = json.loads(process.stdout.readline())
    assert httpx2.get(f"{announcement['url']}/health/ready", timeout=30).status_code == 200
    assert announcement["pid"] == process.pid
    os.kill(announcement["pid"], 15)
    assert process.stdout.read() == ""
    assert process.wait(30) == 0
    return dict(announcement)
