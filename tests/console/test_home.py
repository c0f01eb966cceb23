"""The first page: what there is, what it costs, what needs attention; and notifications above every other page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.site import Site, look


def test_home_shows_what_needs_attention_and_leads_there(site: Site) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": "home-1"}
    made = site.api.post("/v4/compute/instances", json=body).json()
    ticket = {"summary": "home is slow", "description": "Since noon."}
    assert site.api.post("/v4/support/tickets", json=ticket).status_code == 200
    site.cloud.settle()
    site.cloud.fault("maintenance", compute_id=made["id"], reason="A new kernel.")
    site.cloud.fault("region_outage", region="ap-south")
    try:
        with site.page("/", fresh=True) as page:  # outages have no event
            expect(page.get_by_role("heading", name="Home")).to_be_visible()
            attention = page.locator("section", has=page.get_by_role("heading", name="Needs attention"))
            expect(attention.get_by_text("A new kernel.")).to_be_visible()
            expect(attention.get_by_text("ap-south").first).to_be_visible()
            expect(page.get_by_text("so far,")).to_be_visible()
            expect(page.get_by_role("link", name="home is slow")).to_be_visible()
            happened = page.locator("section", has=page.get_by_role("heading", name="What happened"))
            expect(happened.get_by_text("Ticket home is slow was created")).to_be_visible()
            look(page, "home")

            page.get_by_role("link", name="All instances").click()
            banners = page.get_by_role("region", name="Notifications")
            expect(banners.get_by_text("ap-south").first).to_be_visible()
            page.mouse.move(700, 5)  # from what explains itself under the pointer
            look(page, "banners")
            shown = banners.get_by_role("button").count()
            banners.get_by_role("button", name="Hide").first.click()
            expect(banners.get_by_role("button")).to_have_count(shown - 1)

            page.get_by_role("link", name="Notifications").click()
            main = page.get_by_role("main")
            expect(main.get_by_role("heading", name="Critical")).to_be_visible()
            expect(main.get_by_role("listitem").filter(has_text="ap-south").first).to_be_visible()
            look(page, "notifications")
    finally:
        site.cloud.sandbox.delete("/_sandbox/faults")
        site.api.delete(f"/v4/compute/instances/{made['id']}")  # and with it what was announced
