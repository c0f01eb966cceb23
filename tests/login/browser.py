"""A real browser for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first shows pages as the others do, has no window to draw them in, and takes half of the time."""


def executable() -> str:
    """The path of the browser. Where there is none, and none could be installed, tests that need one are skipped."""
    for path in filter(None, map(shutil.which, NAMES)):
        return path
    pytest.skip("there is no Chromium to test the pages with: run tools/browser.sh as root")


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=executable(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def window(opened: Browser, **options: Any) -> Iterator[Page]:
    """A window of its own cookies. What the page complains about fails the test."""
    context = opened.new_context(**options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    try:
        yield page
    finally:
        context.close()
    unexpected = [
        complaint for complaint in complaints if "favicon" not in complaint and "status of 4" not in complaint
    ]
    assert not unexpected, unexpected
