"""Events in the console: by day and live, filters in the address, marks, and a drawer on every page."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.site import Site, accessible, look


def test_events_are_told_live_and_marked_as_seen(site: Site) -> None:
    site.cloud.settle()  # work that earlier tests have begun
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 1}, "compute_create": {"seconds": 600}})
    with site.page("/events") as page:
        image = {"image": "compute/debian12", "root_pass": "correct horse battery staple"}
        body = {"type": "g6-nanode-1", "region": "us-east", "label": "told-1", **image}
        made = site.api.post("/v4/compute/instances", json=body).json()
        under = page.locator("section", has=page.get_by_role("heading", name="Under way"))
        expect(under.get_by_text("is being created")).to_be_visible()  # updated by the stream, without a reload
        expect(under.get_by_role("progressbar")).to_be_visible()
        accessible(page)
        site.cloud.settle()
        expect(under).to_have_count(0)
        expect(page.get_by_text("told-1 was created")).to_be_visible()

        assert site.api.post("/v4/tags", json={"label": "told-tag"}).status_code == 200
        newest = page.locator("ol > li").first
        expect(newest.get_by_text("Tag told-tag was created")).to_be_visible()
        page.locator("ol > li").nth(1).get_by_role("button", name="Mark as seen").click()
        expect(newest).to_have_attribute("data-unseen", "true")
        expect(page.get_by_text("Seen up to here")).to_be_visible()
        look(page, "events")
        with page.expect_response(re.compile("/seen$")):  # the page shows it before the server has heard of it
            page.get_by_role("button", name="Mark all as seen").click()
        expect(page.get_by_text("You have seen everything")).to_be_visible()
        assert site.api.get("/v4/account/events").json()["data"][0]["seen"]

        page.get_by_role("searchbox", name="What was done").fill("tag")
        expect(page.get_by_text("told-1 was created")).to_have_count(0)
        expect(page).to_have_url(re.compile(r"action=tag"))
        site.visit(page, f"/events?entity=compute:{made['id']}&actor=ada")
        expect(page.get_by_text("told-1 was created")).to_be_visible()
        expect(page.get_by_text("told-tag")).to_have_count(0)
        with page.expect_download() as started:
            page.get_by_role("button", name="Save the events shown as CSV").click()
        assert "told-1" in started.value.path().read_text()
        site.visit(page, "/events?actor=nobody")
        expect(page.get_by_text("No events match")).to_be_visible()


def test_what_is_going_on_is_one_key_away_from_every_page(site: Site) -> None:
    assert site.api.post("/v4/tags", json={"label": "drawer-tag"}).status_code == 200
    with site.page("/instances") as page:
        expect(page.get_by_role("button", name=re.compile("What is going on, .* not seen"))).to_be_visible()
        page.keyboard.press("e")
        drawer = page.get_by_role("dialog", name="What is going on")
        expect(drawer.get_by_text("Tag drawer-tag was created")).to_be_visible()
        look(page, "events-drawer")
        drawer.get_by_role("button", name="Mark all as seen").click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="What is going on", exact=True)).to_be_visible()
        expect(drawer).to_have_count(0)  # shortcuts are inactive while the drawer closes
        page.keyboard.press("g")
        page.keyboard.press("e")
        expect(page.get_by_role("heading", name="Events", exact=True)).to_be_visible()
        expect(drawer).to_have_count(0)
