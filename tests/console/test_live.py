"""Several tabs and browsers at once: one stream for all tabs, nothing missed after a break, nothing typed is lost."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, Route, expect

from crofter.login.store import session as sessions
from tests.console.site import USER, Site, accessible, another_browser, sign_in
from tests.resources.followers import eventually


def opened(site: Site, context: Any, path: str = "/instances") -> Page:
    page: Page = context.new_page()
    site.visit(page, path)
    return page


def make(site: Site, label: str) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": label}
    assert site.api.post("/v4/compute/instances", json=body).status_code == 200


def test_what_one_browser_does_the_other_sees_and_signing_out_is_told_to_all_tabs(site: Site) -> None:
    with site.page("/instances") as here, another_browser(site) as context:
        there = opened(site, context, "/instances/new")
        there.get_by_label("Name").fill("seen-by-both")
        there.get_by_label("Root password").fill("correct horse battery staple")
        there.get_by_role("button", name="Create instance").click()
        expect(here.get_by_role("row", name="seen-by-both")).to_be_visible()  # updated without a reload

        second = opened(site, context)
        there.get_by_role("button", name=f"{USER}: colours and signing out").click()
        there.get_by_role("menuitem", name="Sign out").click()
        second.wait_for_url("**/login/**")
        there.wait_for_url("**/login/**")
        assert here.locator("[data-signed-in]").count() == 1  # the other browser stays


def test_tabs_share_one_stream_and_another_tab_takes_it_over(site: Site) -> None:
    hub = site.cloud.application.app.parts.hub
    site.close_idle()
    tabs = [opened(site, site.context) for _ in range(7)]  # a browser opens six lines to a server
    eventually(lambda: hub.waiting == 1)
    make(site, "told-to-all")
    expect(tabs[-1].get_by_role("row", name="told-to-all")).to_be_visible()
    tabs.pop(0).close()
    make(site, "told-by-another")
    for tab in (tabs[0], tabs[-1]):
        expect(tab.get_by_role("row", name="told-by-another")).to_be_visible()
    eventually(lambda: hub.waiting == 1)
    for tab in tabs:
        tab.close()


def test_a_tab_that_does_not_know_yet_whose_it_is_misses_nothing(site: Site) -> None:
    site.close_idle()
    make(site, "was-there")
    first, late = opened(site, site.context), site.context.new_page()
    held: list[Route] = []
    late.route("**/v4/profile", lambda route: held.append(route))
    late.goto(f"{site.cloud.url}/console/instances")
    expect(late.get_by_role("row", name="was-there")).to_be_visible()
    make(site, "made-before-it-listens")
    expect(first.get_by_role("row", name="made-before-it-listens")).to_be_visible()
    expect(late.get_by_role("row", name="made-before-it-listens")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(late.get_by_role("row", name="made-before-it-listens")).to_be_visible()
    for tab in (first, late):
        tab.close()


def test_the_newest_events_are_read_once_before_the_stream(site: Site) -> None:
    site.close_idle()
    asked: list[str] = []
    page = site.context.new_page()
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.cloud.url)))
    with page.expect_request("**/v4/account/events/stream?*"):
        site.visit(page, "/help")
    page.close()
    assert [url for url in asked if url.startswith("/v4/account/events?")] == ["/v4/account/events?page_size=50"]


def test_a_lost_stream_says_so_and_misses_nothing(site: Site) -> None:
    site.close_idle()
    fault = {"kind": "http", "status": 503, "path": "/v4/account/events/stream", "times": 2}
    assert site.cloud.sandbox.post("/_sandbox/faults", json=fault).status_code == 200
    page = opened(site, site.context)
    expect(page.get_by_text("The connection to the server is lost")).to_be_visible()
    make(site, "made-in-the-break")
    expect(page.get_by_text("The connection to the server is lost")).to_have_count(0)
    expect(page.get_by_role("row", name="made-in-the-break")).to_be_visible()
    page.close()


def test_nothing_typed_is_lost_when_the_session_ends(site: Site) -> None:
    page = opened(site, site.context, "/instances/new")
    page.get_by_label("Name").fill("typed-before")
    with site.cloud.runtime.database.write() as db:
        for row in db.raw("SELECT id FROM login_session").fetchall():
            db.delete(sessions, id=row[0])
    page.get_by_label("Root password").fill("correct horse battery staple")
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog).to_be_visible()
    accessible(page)
    with site.context.expect_page() as arriving:
        dialog.get_by_role("link", name="Sign in in a new tab").click()
    sign_in(arriving.value)
    expect(dialog).to_have_count(0)
    expect(page.get_by_label("Name")).to_have_value("typed-before")
    page.get_by_role("button", name="Create instance").click()
    expect(page.get_by_role("row", name="typed-before")).to_be_visible()
    arriving.value.close()
    page.close()
