"""Volumes in the console: their price before, their progress, and all that is done with them."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, choose, delete
from tests.console.site import Site, accessible, look


def test_a_volume_is_priced_made_attached_grown_copied_and_deleted(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 1}, "volume_create": {"seconds": 3}})
    machine = {"type": "g6-nanode-1", "region": "eu-west", "label": "vol-host", "image": "compute/debian12"}
    assert site.api.post("/v4/compute/instances", json={**machine, "root_pass": "Xy7!gh-plain-Kol"}).status_code == 200
    site.cloud.settle()
    site.without("/v4/volumes")
    with site.page("/volumes") as page:
        expect(page.get_by_role("heading", name="No volumes yet")).to_be_visible()
        look(page, "volumes-empty")
        page.get_by_role("link", name="Create volume").first.click()
        page.get_by_label("Name").fill("bad name")
        page.get_by_label("Size", exact=True).fill("50")
        summary = page.get_by_role("complementary", name="Summary")
        expect(summary.get_by_text("$5.00")).to_be_visible()
        expect(page.locator("[data-path=label][aria-invalid=true]")).to_be_visible()
        look(page, "volume-create")
        page.get_by_label("Name").fill("vol-a")
        page.get_by_text("Attached to an instance").click()
        choose(page, "Instance", "vol-host")
        summary.get_by_role("button", name="Create volume").click()

        row = page.get_by_role("row", name="vol-a", exact=False).first
        expect(row.get_by_role("progressbar")).to_be_visible()
        expect(row.get_by_text("Active")).to_be_visible()  # updated by the stream alone, without a reload
        expect(row.get_by_role("link", name="vol-host")).to_be_visible()
        look(page, "volumes")

        page.get_by_role("button", name="Actions for vol-a", exact=True).click()
        expect(page.get_by_text("It must be detached before it can be deleted")).to_be_attached()
        page.get_by_role("menuitem", name="Detach").click()
        expect(row.get_by_text("nothing, still billed")).to_be_visible()
        act(page, "vol-a", "Resize")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("New size").fill("20")
        dialog.get_by_role("button", name="Resize").click()
        expect(dialog.get_by_text("Storage volumes can only be resized up").first).to_be_visible()
        dialog.get_by_label("New size").fill("80")
        expect(dialog.get_by_text("$3.00")).to_be_visible()
        accessible(page)
        dialog.get_by_role("button", name="Resize").click()
        expect(row.get_by_text("80 GB")).to_be_visible()


def test_a_free_volume_is_attached_copied_renamed_and_deleted(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    machine = {"type": "g6-nanode-1", "region": "us-east", "label": "vol-east", "image": "compute/debian12"}
    assert site.api.post("/v4/compute/instances", json={**machine, "root_pass": "Xy7!gh-plain-Kol"}).status_code == 200
    assert site.api.post("/v4/volumes", json={"label": "vol-free", "size": 10, "region": "us-east"}).status_code == 200
    site.cloud.settle()
    with site.page("/volumes?q=vol-free") as page:
        act(page, "vol-free", "Clone")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text("$1.00")).to_be_visible()
        dialog.get_by_role("button", name="Clone").click()
        row = page.get_by_role("row", name="vol-free-copy")
        expect(row.get_by_text("Active")).to_be_visible()
        act(page, "vol-free-copy", "Attach")
        dialog.get_by_role("button", name="Attach").click()
        expect(dialog.locator("[data-path=compute_id][aria-invalid=true]")).to_be_focused()
        expect(dialog.locator("[id$=-error]")).to_have_text("Choose an instance")
        look(page, "volume-attach")  # before a choice, since to look may put the focus on the field, which opens it
        dialog.get_by_role("combobox", name="Instance").fill("vol-east")
        options = page.get_by_role("option")
        expect(options).to_have_count(1)  # the options of the earlier search are gone, and the list is stable
        options.click()
        expect(options).to_have_count(0)
        dialog.get_by_role("button", name="Attach").click()
        expect(row.get_by_role("link", name="vol-east")).to_be_visible()
        act(page, "vol-free", "Rename")
        dialog.get_by_label("Name").fill("vol-freed")
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("vol-freed", exact=True)).to_be_visible()
        act(page, "vol-freed", "Delete")
        delete(page, "vol-freed")
        expect(page.get_by_text("vol-freed", exact=True)).to_have_count(0)
