"""Signing in to the console: silently after a reload, with nothing kept in storage; out everywhere."""

from __future__ import annotations

from playwright.sync_api import Route, expect

from tests.console.site import Site


def test_a_reload_signs_in_again_without_a_page_in_between(site: Site) -> None:
    with site.page("/instances") as page:
        visited: list[str] = []
        page.on("framenavigated", lambda frame: visited.append(frame.url))
        page.reload()
        expect(page.locator("[data-signed-in]")).to_be_attached()
        assert [url for url in visited if "/login" in url or "/oauth" in url] == []
        kept = page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]")
        assert [key for key in kept if not key.startswith(("tsr-scroll-restoration", "crofter.theme"))] == []
        cookies = [cookie["name"] for cookie in site.context.cookies() if not cookie["httpOnly"]]
        assert cookies == []


def test_keys_reach_pages(site: Site) -> None:
    with site.page("/instances") as page:
        page.keyboard.press("c")
        expect(page.get_by_role("heading", name="Create an instance")).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("i")
        expect(page.get_by_role("heading", name="Instances", exact=True)).to_be_visible()
        page.keyboard.press("Control+k")
        expect(page.get_by_role("textbox", name="Jump to")).to_be_focused()
        page.keyboard.type("create")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Create an instance")).to_be_visible()


def test_a_key_counts_also_while_what_it_opens_is_being_loaded(site: Site) -> None:
    held: list[Route] = []
    page = site.context.new_page()
    page.route("**/assets/Palette-*.js", lambda route: held.append(route))
    with page.expect_request("**/assets/Palette-*.js"):
        site.visit(page, "/instances")
    page.keyboard.press("Control+k")
    page.wait_for_timeout(100)
    for route in held:
        route.continue_()
    expect(page.get_by_role("textbox", name="Jump to")).to_be_focused()
    page.close()
