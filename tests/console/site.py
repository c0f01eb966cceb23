"""The console as somebody sees it who is signed in: pages of one browser, and the API of the same account beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
from axe_playwright_python.sync_playwright import Axe
from msgspec import Struct
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from tests.cloud import Cloud
from tests.login.visitor import PASSWORD

PICTURES = Path(os.environ.get("CROFTER_PICTURES") or Path(__file__).parents[2] / "build" / "pictures" / "console")
USER = "ada"
WIDE = ViewportSize(width=1360, height=900)
PHONE = ViewportSize(width=390, height=844)
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_STICKS_OUT = """[...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map((element) => element.outerHTML.slice(0, 120)).slice(0, 8)"""
THOROUGH = False
"""Whether axe looks for everything each time, as in a soak, or in the dark for what only colours change."""
expect.set_options(timeout=20_000)


class Site(Struct):
    cloud: Cloud
    context: BrowserContext
    api: httpx2.Client
    """As the user who is signed in."""

    @contextmanager
    def page(self, path: str) -> Iterator[Page]:
        """A page of its own. What the browser complains about fails the test."""
        page = self.context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        try:
            self.visit(page, path)
            yield page
        finally:
            page.close()
        unexpected = [text for text in complaints if "status of 4" not in text]  # a refusal is shown on the page
        assert not unexpected, unexpected

    def visit(self, page: Page, path: str) -> None:
        """Go to a page of the console, by the login page if the session has ended since."""
        page.goto(f"{self.cloud.url}/console{path}")
        expect(page.locator("[data-signed-in], input[name=username]").first).to_be_attached()
        if page.locator("input[name=username]").count():
            sign_in(page)


def sign_in(page: Page, username: str = USER, password: str = PASSWORD) -> None:
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("[data-signed-in]")).to_be_attached()


def accessible(page: Page, *, menu: bool = False, only: tuple[str, ...] = ()) -> None:
    """Nothing that axe finds. A menu is drawn at the end of the page, outside of all landmarks."""
    rules: dict[str, Any] = {"region": {"enabled": False}} if menu else {}
    options: dict[str, Any] = {"runOnly": list(only)} if only else {"runOnly": _RULES, "rules": rules}
    # Whatever is well would be told in full too, and take longer than to find it.
    result = Axe().run(page, options={**options, "resultTypes": ["violations"]})
    assert result.violations_count == 0, result.generate_report()


def look(page: Page, name: str, *, menu: bool = False, phone: bool = True) -> None:
    """Light, dark and on a phone: accessible each time, nothing sticks out at the side, and a picture is kept."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
        accessible(page, menu=menu, only=("color-contrast",) if scheme == "dark" and not THOROUGH else ())
        page.screenshot(path=PICTURES / f"{name}-{scheme}.png")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "light")
    if phone:
        page.set_viewport_size(PHONE)
        fits(page)
        if THOROUGH:
            accessible(page, menu=menu)
        page.screenshot(path=PICTURES / f"{name}-phone.png")
        page.set_viewport_size(WIDE)


def fits(page: Page) -> None:
    """The page is not wider than its window."""
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window, f"{wide} pixels in a window of {window}: {page.evaluate(_STICKS_OUT)}"


def percent() -> re.Pattern[str]:
    """The value of a progress bar that has begun to move."""
    return re.compile(r"^[1-9]\d?$")
