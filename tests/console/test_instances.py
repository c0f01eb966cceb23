"""Instances in the console: from the price to the end, live, by stream alone."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.site import Site, accessible, look, percent

PASSWORD = "correct horse battery staple"


def test_an_instance_from_its_price_to_its_end(site: Site) -> None:
    slow = {"*": {"seconds": 1}, "compute_create": {"seconds": 4}, "compute_delete": {"seconds": 2}}
    site.cloud.sandbox.put("/_sandbox/transitions", json=slow)
    with site.page("/instances") as page:
        look(page, "instances-empty")
        page.get_by_role("link", name="Create instance").first.click()
        page.get_by_label("Name").fill("x")
        page.get_by_label("Root password").fill("password")
        expect(page.get_by_text("Password does not meet strength requirement")).to_be_visible()
        expect(page.get_by_text("Length must be 3-64 characters")).to_be_visible()
        look(page, "instance-create")

        page.get_by_label("Name").fill("walk-1")
        page.get_by_label("Root password").fill(PASSWORD)
        page.get_by_label("Daily backups").check()
        summary = page.get_by_role("complementary", name="Summary")
        expect(summary.get_by_text("$12.50")).to_be_visible()
        summary.get_by_role("button", name="Create instance").click()

        row = page.get_by_role("row", name="walk-1")
        expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", percent())
        accessible(page)
        expect(row.get_by_text("Running")).to_be_visible()  # by the stream alone: nothing is reloaded
        expect(row.get_by_role("progressbar")).to_have_count(0)
        look(page, "instances")

        row.get_by_role("link", name="walk-1").click()
        expect(page.get_by_role("heading", name="walk-1")).to_be_focused()
        expect(page.get_by_role("heading", name="What happened")).to_be_visible()
        look(page, "instance")

        page.get_by_role("button", name="Actions for walk-1").click()
        expect(page.get_by_role("menu")).to_be_visible()
        accessible(page, menu=True)
        page.get_by_role("menuitem", name="Delete").click()
        expect(page.get_by_role("menu")).to_have_count(0)
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Delete walk-1")).to_be_disabled()
        accessible(page)
        dialog.get_by_label("Type walk-1 to confirm").fill("walk-1")
        dialog.get_by_role("button", name="Delete walk-1").click()
        expect(page.get_by_role("heading", name="Instances", exact=True)).to_be_visible()
        expect(page.get_by_role("row", name="walk-1")).to_have_count(0)


def test_what_a_list_shows_is_in_its_address_and_in_its_file(site: Site) -> None:
    for name, tags in (("find-a", ["blue"]), ("find-b", [])):
        body = {"type": "g6-nanode-1", "region": "us-east", "label": name, "tags": tags}
        assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    with site.page("/instances?q=find&order=-label") as page:
        names = page.locator("tbody th a")
        expect(names).to_have_text(["find-b", "find-a"])
        page.get_by_role("button", name="Name").click()
        page.get_by_role("button", name="Name").click()
        expect(names).to_have_text(["find-a", "find-b"])
        assert "order=label" in page.url
        page.get_by_role("searchbox", name="Find instances").fill("blue")
        expect(names).to_have_text(["find-a"])
        expect(page).to_have_url(f"{site.cloud.url}/console/instances?q=blue&order=label")
        with page.expect_download() as started:
            page.get_by_role("button", name="CSV").click()
        assert "find-a" in started.value.path().read_text()
        page.get_by_role("searchbox", name="Find instances").fill("nobody")
        expect(page.get_by_text("None of your instances match")).to_be_visible()
