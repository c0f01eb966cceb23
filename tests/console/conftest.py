"""A server and a signed-in browser for all console tests of a process."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tools import console

from tests.cloud import Cloud
from tests.console import site as site_module
from tests.console.site import USER, WIDE, Site, sign_in
from tests.login.browser import browser
from tests.login.visitor import give_password


@pytest.fixture(scope="session")
def built() -> None:
    """The console as its sources are now; several processes wait for the one that builds it."""
    console.CONSOLE.joinpath("node_modules").mkdir(exist_ok=True)
    with (console.CONSOLE / "node_modules" / ".building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        problem = console.build()
    if problem:
        pytest.skip(f"the console is not built: {problem}")


# Of package scope: Playwright keeps an event loop running, which would block other tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def console_cloud(built: None) -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.close()


@pytest.fixture(scope="package")
def site(console_cloud: Cloud, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Tests share the account: each makes what it needs, with names of its own."""
    site_module.LOOKING.thorough = request.config.getoption("--scope") == "soak"
    token = console_cloud.account(username=USER, email="ada@example.com")["token"]
    give_password(console_cloud, USER)
    context = chromium.new_context(
        viewport=WIDE, color_scheme="light", reduced_motion="reduce", locale="en-GB", timezone_id="UTC"
    )
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(f"{console_cloud.url}/console/")
    sign_in(page)
    page.close()
    yield Site(console_cloud, context, console_cloud.client(token))
    context.close()
