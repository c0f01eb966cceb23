"""Tags, transfers and maintenance in the console."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, choose, delete
from tests.console.site import Site, accessible, look


def machine(site: Site, label: str, **more: object) -> int:
    body = {"type": "g6-nanode-1", "region": "eu-west", "label": label, **more}
    answer = site.api.post("/v4/compute/instances", json=body)
    assert answer.status_code == 200, answer.text
    site.cloud.settle()
    return int(answer.json()["id"])


def test_a_tag_is_made_counted_changed_on_its_objects_and_deleted(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    machine(site, "tag-host")
    made = site.api.post("/v4/volumes", json={"label": "tag-vol", "region": "eu-west", "tags": ["rosy"]})
    assert made.status_code == 200
    site.cloud.settle()
    with site.page("/tags") as page:
        page.get_by_role("button", name="Create tag").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Create tag").click()
        expect(dialog.locator("[data-path=label][aria-invalid=true]")).to_be_focused()
        dialog.get_by_label("Tag", exact=True).fill("crimson")
        choose(page, "Instances that get it", "tag-host", inside=dialog)
        page.keyboard.press("Tab")
        accessible(page)
        dialog.get_by_role("button", name="Create tag").click()
        expect(page.get_by_role("row", name="crimson").get_by_text("1", exact=True)).to_be_visible()
        look(page, "tags")
        page.get_by_role("link", name="rosy").click()
        expect(page.get_by_role("row", name="tag-vol").get_by_text("Volume")).to_be_visible()
        act(page, "tag-vol", "Change its tags")
        dialog.get_by_role("combobox", name="Tags").or_(dialog.get_by_role("textbox", name="Tags")).fill("crimson")
        page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Save tags").click()
        expect(page.get_by_role("row", name="tag-vol").get_by_text("crimson")).to_be_visible()
        act(page, "tag-vol", "Take off rosy")
        expect(page.get_by_role("heading", name="Nothing carries it")).to_be_visible()
        page.get_by_role("link", name="Tags").last.click()
        page.get_by_role("link", name="crimson").click()
        expect(page.get_by_role("row", name="tag-host").get_by_text("Instance")).to_be_visible()
        look(page, "tag")
        page.get_by_role("button", name="Delete tag").click()
        delete(page, "crimson")
        expect(page.get_by_role("link", name="rosy")).to_be_visible()
        expect(page.get_by_role("link", name="crimson")).to_have_count(0)
    assert site.api.delete(f"/v4/volumes/{made.json()['id']}").status_code == 200  # others see an account without one


def test_instances_are_offered_withdrawn_and_accepted_by_token(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    machine(site, "give-1")
    with site.page("/transfers") as page:
        look(page, "transfers-empty", phone=False)
        page.get_by_role("button", name="Offer instances").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Offer them").click()
        expect(dialog.get_by_role("combobox", name="Instances")).to_have_attribute("aria-invalid", "true")
        choose(page, "Instances", "give-1", inside=dialog)
        page.keyboard.press("Tab")
        dialog.get_by_role("button", name="Offer them").click()
        row = page.get_by_role("row", name="1 instance")
        expect(row.get_by_text("Pending")).to_be_visible()
        look(page, "transfers")
        row.get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Cancel").click()
        expect(row.get_by_text("Cancelled")).to_be_visible()
        page.get_by_role("button", name="Accept with a token").click()
        dialog.get_by_label("Token").fill("00000000-0000-4000-8000-000000000000")
        dialog.get_by_role("button", name="Accept").click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        accessible(page)


def test_maintenance_that_is_planned_is_shown(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    site.cloud.fault("maintenance", compute_id=machine(site, "care-1"), reason="New memory")
    with site.page("/maintenance") as page:
        row = page.get_by_role("row", name="care-1")
        expect(row.get_by_text("New memory")).to_be_visible()
        look(page, "maintenance")
