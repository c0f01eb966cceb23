"""The docs page in a browser: search, and trying an operation, without other servers."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.login.browser import browser, window

AXE = {"resultTypes": ["violations"]}


@pytest.mark.parametrize("cloud", ["sqlite"], indirect=True)
def test_an_operation_is_found_and_tried(cloud: Cloud) -> None:
    with browser() as opened, window(opened) as page:
        page.set_default_timeout(60_000)
        asked: set[str] = set()
        page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
        page.goto(f"{cloud.url}/docs")
        page.locator("#search").fill("post /v4/tags")
        page.locator("#found", has_text=f"1 of {len(ENDPOINTS)} operations").wait_for()
        assert page.locator("article:visible").count() == 1
        page.locator("header button").click()
        page.locator("#opened", has_text="You are user-").wait_for()
        page.locator("[data-of=create_tag]").click()
        form = page.locator("article form")
        assert page.evaluate("document.activeElement.value") == "/v4/tags"
        form.locator("textarea").fill('{"label": "from the page"}')
        form.locator("[type=checkbox]").check()
        form.locator("button").click()
        form.locator("p", has_text="200 OK").wait_for()
        assert '"tag_create"' in form.locator("pre").inner_text()
        form.locator("[type=checkbox]").uncheck()
        form.locator("button").click()
        form.locator("pre", has_text='"label": "from the page"').wait_for()
        form.locator("textarea").fill("{")
        form.locator("button").click()
        form.locator("pre", has_text="Invalid JSON").wait_for()
        form.locator("input").first.fill("https://elsewhere.example/v4/tags")
        form.locator("button").click()
        form.locator("p", has_text="Only this server is asked.").wait_for()
        page.evaluate("document.querySelectorAll('[hidden]').forEach((element) => element.remove())")
        violations = Axe().run(page, options=AXE).response["violations"]
        assert [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in violations] == []
        assert asked == {urlsplit(cloud.url).netloc}
    labels = cloud.sandbox.get("/_sandbox").json()["counts"]["tags"]
    assert labels == 1
