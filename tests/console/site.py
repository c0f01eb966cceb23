"""The console for a signed-in user: pages of a browser, with an API client of the same account."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx2
from msgspec import Struct, field
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from tests.cloud import Cloud
from tests.console.looking import Looking, contrast
from tests.login.visitor import PASSWORD

PICTURES = Path(os.environ.get("CROFTER_PICTURES") or Path(__file__).parents[2] / "build" / "pictures" / "console")
USER = "ada"
WIDE = ViewportSize(width=1360, height=900)
PHONE = ViewportSize(width=390, height=844)
NARROWEST = ViewportSize(width=320, height=640)
WIDEST = ViewportSize(width=3840, height=2160)
_STICKS_OUT = """[...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map((element) => element.outerHTML.slice(0, 120)).slice(0, 8)"""
LOOKING = Looking()
expect.set_options(timeout=20_000)


class Tab(Struct):
    """A tab that stays open: the next test continues in it without a reload."""

    page: Page
    complaints: list[str]


class Site(Struct):
    cloud: Cloud
    context: BrowserContext
    api: httpx2.Client
    """API client of the signed-in user."""
    idle: list[Tab] = field(default_factory=list)

    @contextmanager
    def page(self, path: str, *, fresh: bool = False) -> Iterator[Page]:
        """Open a page of its own; ``fresh``: reloaded. Browser errors fail the test."""
        tab = self._idle() if not fresh else None
        if tab is None:
            tab = self._opened()
            self.visit(tab.page, path)
        else:
            go(tab.page, path)
        try:
            yield tab.page
        except BaseException:
            tab.page.close()  # open dialogs must not leak into the next test
            raise
        unexpected = [text for text in tab.complaints if "status of 4" not in text]  # a refusal is shown on the page
        tab.complaints.clear()
        if tab.page.is_closed() or fresh:
            tab.page.close()
        else:
            self.idle.append(tab)
        assert not unexpected, unexpected

    def without(self, path: str, **wanted: object) -> None:
        """Remove what other tests have left of some kind, for one that begins with an empty list."""
        left = self.api.get(path, headers={"X-Filter": json.dumps(wanted)} if wanted else {})
        for each in left.json()["data"]:
            if each.get("compute_id"):  # a volume
                self.api.post(f"{path}/{each['id']}/detach")
                self.cloud.settle()
            assert self.api.delete(f"{path}/{each['id']}").status_code == 200
        self.cloud.settle()

    def close_idle(self) -> None:
        """For a test that counts streams, or breaks them: the first tab holds the one of all."""
        while self.idle:
            self.idle.pop().page.close()

    def _idle(self) -> Tab | None:
        """Return a tab that is still signed in; a test may have ended the session or moved the time."""
        while self.idle:
            tab = self.idle.pop()
            if tab.page.locator("[data-signed-in]").count() and not tab.page.get_by_role("dialog").count():
                return tab
            tab.page.close()
        return None

    def _opened(self) -> Tab:
        tab = Tab(self.context.new_page(), [])
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.page.on("console", lambda message: tab.complaints.append(message.text) if message.type == "error" else None)
        return tab

    def visit(self, page: Page, path: str) -> None:
        """Load a page of the console, by the login page if the session has ended since."""
        page.goto(f"{self.cloud.url}/console{path}")
        expect(page.locator("[data-signed-in], input[name=username]").first).to_be_attached()
        if page.locator("input[name=username]").count():
            sign_in(page)


def go(page: Page, path: str) -> None:
    """Navigate like a link: the router follows the browser's history. The former page is gone at the return."""
    page.evaluate("path => history.pushState({}, '', path)", f"/console{path}")
    expect(page).to_have_url(re.compile(re.escape(f"/console{path}") + "$"))
    expect(page.locator("main")).to_have_attribute("data-page", path.partition("?")[0])


@contextmanager
def another_browser(site: Site) -> Iterator[BrowserContext]:
    browser = site.context.browser
    assert browser is not None
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce", locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(20_000)
    try:
        yield context
    finally:
        context.close()


def sign_in(page: Page, username: str = USER, password: str = PASSWORD) -> None:
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("[data-signed-in]")).to_be_attached()


def accessible(page: Page, *, menu: bool = False) -> None:
    """Check that axe finds no problems."""
    LOOKING.accessible(page, menu=menu)


def look(page: Page, name: str, *, menu: bool = False, phone: bool = True) -> None:
    """Light, dark and narrow: accessible, and nothing sticks out. Where pictures are kept, in other widths too."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    LOOKING.accessible(page, menu=menu)
    _keep(page, f"{name}-light")
    _paint(page, "dark")
    if LOOKING.thorough:
        LOOKING.accessible(page, menu=menu)
    contrast(page)
    _keep(page, f"{name}-dark")
    _paint(page, "light")
    if phone:
        for size in (NARROWEST, WIDEST, PHONE) if _keeps() else (NARROWEST,):
            page.set_viewport_size(size)
            fits(page)
        if LOOKING.thorough:
            LOOKING.accessible(page, menu=menu)
        _keep(page, f"{name}-phone")
        page.set_viewport_size(WIDE)


def _paint(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)


def _keep(page: Page, name: str) -> None:
    if _keeps():
        page.screenshot(path=PICTURES / f"{name}.png")


def _keeps() -> bool:
    """True if pictures are kept: in a soak, or on request. Drawing them is slow and no test compares them."""
    return LOOKING.thorough or "CROFTER_PICTURES" in os.environ


def fits(page: Page) -> None:
    """Check that the page is not wider than its window."""
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window, f"{wide} pixels in a window of {window}: {page.evaluate(_STICKS_OUT)}"


def percent() -> re.Pattern[str]:
    """The value of a progress bar that has begun to move."""
    return re.compile(r"^[1-9]\d?$")
