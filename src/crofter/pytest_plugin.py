"""The pytest plugin: a cloud for tests, with accounts, a clock that can be moved, and faults.

Installed with the package. It loads nothing of the server, which runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any, NamedTuple

import pytest

START_SECONDS = 60
"""How long a server may take to say where it serves; it takes about one."""
STOP_SECONDS = 10
SERVE = ("serve", "--port", "0", "--data", ":memory:", "--log", "off", "--print-json", "--stop-with-stdin")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("crofter", "tests against a cloud of their own")
    group.addoption("--crofter-url", metavar="URL", help="use the sandbox that serves there, instead of starting one")


class SandboxRefused(Exception):
    """The sandbox API has said no. The text is its answer."""


class SandboxUnreachable(Exception):
    """No sandbox answers at the address."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """End the run before the first test if ``--crofter-url`` cannot be used."""
    config = session.config
    url = config.getoption("--crofter-url")
    if url is None or config.option.collectonly or hasattr(config, "workerinput"):
        return
    try:
        _served_at(url)
    except (SandboxRefused, SandboxUnreachable) as error:
        raise pytest.UsageError(f"--crofter-url: {error}") from None


def _served_at(url: str) -> Crofter:
    return Crofter(url, os.environ.get("CROFTER_SANDBOX_KEY"))


class Crofter:
    """A sandbox that serves."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url.rstrip("/")
        self.sandbox = f"{self.url}/_sandbox"
        """The address of the sandbox API."""
        self._headers = {"Content-Type": "application/json", **({"X-Sandbox-Key": key} if key else {})}
        # A proxy of this machine's settings would bring the call to another machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._transitions = self.ask("GET", "/transitions")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Call the sandbox API."""
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.sandbox + path, sent, self._headers, method=method)
        try:
            with self._opener.open(request, timeout=600) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            words = refused.read().decode(errors="replace")
            raise SandboxRefused(f"{method} {path}: {refused.code} {words}") from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise SandboxUnreachable(f"{self.url} cannot be reached: {reason}") from None

    def put_back(self) -> None:
        """Reset the shared state: the clock runs, faults are cleared, and work takes its usual time."""
        self.ask("POST", "/clock/thaw")
        self.ask("DELETE", "/faults")
        self.ask("PUT", "/transitions", self._transitions)


class CloudAccount(NamedTuple):
    """An account that nothing else uses, and its only user."""

    url: str
    token: str
    username: str
    password: str
    euuid: str


class CloudClock:
    """Service time."""

    def __init__(self, crofter: Crofter) -> None:
        self._crofter = crofter

    def freeze(self) -> dict[str, Any]:
        """Stop the clock: time moves by ``advance`` only."""
        return dict(self._crofter.ask("POST", "/clock/freeze"))

    def thaw(self) -> dict[str, Any]:
        """Let the clock run on."""
        return dict(self._crofter.ask("POST", "/clock/thaw"))

    def advance(self, seconds: float) -> dict[str, Any]:
        """Move time, doing all that falls due on the way."""
        return dict(self._crofter.ask("POST", "/clock/advance", {"seconds": seconds}))

    def settle(self) -> dict[str, Any]:
        """Let time run until nothing is under way."""
        return dict(self._crofter.ask("POST", "/settle"))


class CloudFaults:
    """Fault injection."""

    def __init__(self, crofter: Crofter) -> None:
        self._crofter = crofter

    def add(self, kind: str, **fields: Any) -> int:
        """Make something go wrong; the number of the fault."""
        return int(self._crofter.ask("POST", "/faults", {"kind": kind, **fields})["id"])

    def clear(self) -> None:
        """Remove all injected faults."""
        self._crofter.ask("DELETE", "/faults")


_SERVING = pytest.StashKey[Crofter]()


@pytest.fixture(scope="session")
def crofter(request: pytest.FixtureRequest) -> Iterator[Crofter]:
    """A cloud in a process of its own, one for each process of tests, in memory; or the one of --crofter-url."""
    stash = request.config.stash
    url = request.config.getoption("--crofter-url")
    if url:
        stash[_SERVING] = _served_at(url)
        yield stash[_SERVING]
        del stash[_SERVING]
        return
    process = _start()
    try:
        stash[_SERVING] = Crofter(_address(process))
        yield stash[_SERVING]
        del stash[_SERVING]
    finally:
        _stop(process)


@pytest.fixture
def cloud_account(crofter: Crofter) -> CloudAccount:
    """A fresh account with a valid card."""
    password = f"{secrets.token_urlsafe(12)}!7Aa"
    made = crofter.ask("POST", "/accounts", {"password": password})
    return CloudAccount(crofter.url, made["token"], made["username"], password, made["euuid"])


@pytest.fixture
def cloud_clock(crofter: Crofter) -> CloudClock:
    """The clock of the cloud, which runs again after the test."""
    return CloudClock(crofter)


@pytest.fixture
def cloud_faults(crofter: Crofter) -> CloudFaults:
    """Return the fault injection, cleared after the test."""
    return CloudFaults(crofter)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """After what a test's own fixtures do at their end, since they may move the clock too."""
    yield
    serving = item.config.stash.get(_SERVING, None)
    if serving is not None and "crofter" in getattr(item, "fixturenames", ()):
        serving.put_back()


def _start() -> subprocess.Popen[bytes]:
    """A server that lives as long as this process: its standard input ends with us, however we end."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("CROFTER_")}
    return subprocess.Popen(
        [sys.executable, "-m", "crofter", *SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=tempfile.TemporaryFile(),
        env=settings,
    )


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if ready else b""
    if not line:
        raise RuntimeError(f"crofter did not start; try: {sys.executable} -m crofter {' '.join(SERVE[:-1])}")
    return str(json.loads(line)["url"])


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
