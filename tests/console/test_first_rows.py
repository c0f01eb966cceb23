"""Requests of a tab before the first rows of a list are visible, and those that wait until then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, Request, ViewportSize, expect

from tests.console.site import Site

LOW = ViewportSize(width=1360, height=440)
FITTING = 10
"""Rows of 44 pixels, the lowest there are."""
HOLD = "window.held = []; window.requestIdleCallback = (run) => window.held.push(run);"
"""The browser is never idle, until the test says so."""
RELEASE = "held.splice(0).forEach((run) => run())"
NOTE_INTL = """window.formats = [];
for (const name of ["NumberFormat", "DateTimeFormat", "RelativeTimeFormat"])
  Intl[name] = new Proxy(Intl[name], { construct: (made, given) => (formats.push(name), new made(...given)) });
for (const type of [Number, Date]) {
  const plain = type.prototype.toLocaleString;
  type.prototype.toLocaleString = function (...given) { formats.push(type.name); return plain.apply(this, given); };
}"""


@contextmanager
def busy(site: Site, path: str, *scripts: str, requests: list[Request] | None = None) -> Iterator[Page]:
    """A tab that has not been idle yet."""
    noted = [] if requests is None else requests
    page = site.context.new_page()
    page.set_viewport_size(LOW)
    for script in (HOLD, *scripts):
        page.add_init_script(script)
    page.on("request", lambda request: noted.append(request))
    try:
        site.visit(page, path)
        yield page
    finally:
        page.close()


def test_rows_that_fit_come_first_and_all_are_there_for_who_comes_back(site: Site) -> None:
    for place in range(25):
        assert site.api.post("/v4/tags", json={"label": f"row-{place:02}"}).status_code == 200
    amount = site.api.get("/v4/tags").json()["results"]
    with busy(site, "/tags") as page:
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(FITTING)
        expect(page.get_by_role("table")).to_have_attribute("aria-rowcount", str(amount + 1))
        page.evaluate(RELEASE)
        expect(rows).to_have_count(amount)
        last = page.locator("tbody th a").last
        last.scroll_into_view_if_needed()
        last.click()
        expect(page.get_by_role("table", name="Tags")).to_have_count(0)
        page.go_back()
        expect(page.locator("tbody th a").last).to_be_in_viewport()
        assert rows.count() == amount
    for place in range(25):
        assert site.api.delete(f"/v4/tags/row-{place:02}").status_code == 200


def test_the_palette_is_there_for_who_wants_it_before_it_was_loaded(site: Site) -> None:
    requests: list[Request] = []
    with busy(site, "/help", requests=requests) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert not [request.url for request in requests if "/Palette-" in request.url]
        page.keyboard.press("Control+k")
        expect(page.get_by_role("textbox", name="Jump to")).to_be_focused()


def test_first_rows_need_no_formats_of_the_browser_and_plans_nobody_who_is_signed_in(site: Site) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": "first-row"}
    assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    requests: list[Request] = []
    with busy(site, "/instances?q=first-row", NOTE_INTL, requests=requests) as page:
        row = page.get_by_role("row", name="first-row")
        expect(row.get_by_text("$5.00")).to_be_visible()
        assert page.evaluate("formats") == []
        row.locator("time").hover()
        expect(row.locator("time[title]")).to_be_attached()
        assert page.evaluate("formats") == ["DateTimeFormat"]
    paths = [request.url.removeprefix(site.cloud.url).partition("?")[0] for request in requests]
    assert paths.index("/v4/compute/types") < paths.index("/v4/compute/instances")
    assert "authorization" not in requests[paths.index("/v4/compute/types")].headers
