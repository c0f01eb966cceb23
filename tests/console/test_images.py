"""Images in the console: from a disk, from a file with its progress, changed, deleted."""

from __future__ import annotations

import gzip

from playwright.sync_api import expect

from tests.console.acting import act, choose, delete
from tests.console.site import Site, accessible, look


def test_an_image_comes_from_a_disk_and_is_changed_and_deleted(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    machine = {"type": "g6-nanode-1", "region": "eu-west", "label": "image-host"}
    computer = site.api.post("/v4/compute/instances", json=machine).json()["id"]
    disk = {"label": "system", "size": 2000, "filesystem": "ext4"}
    assert site.api.post(f"/v4/compute/instances/{computer}/disks", json=disk).status_code == 200
    site.cloud.settle()
    site.without("/v4/images", is_public=False)
    with site.page("/images") as page:
        expect(page.get_by_role("heading", name="No images of yours yet")).to_be_visible()
        look(page, "images-empty")
        page.get_by_text("Official").click()
        expect(page.get_by_role("row", name="Debian 12").first).to_be_visible()
        look(page, "images-official")
        page.get_by_role("link", name="Create image").click()
        choose(page, "Instance", "image-host")
        choose(page, "Disk", "system")
        page.get_by_label("Name").fill("x" * 51)
        page.get_by_role("button", name="Create image").click()
        expect(page.locator("[data-path=label][aria-invalid=true]")).to_be_focused()
        look(page, "image-create")
        page.get_by_label("Name").fill("golden")
        page.get_by_role("button", name="Create image").click()
        row = page.get_by_role("row", name="golden")
        expect(row.get_by_text("Available")).to_be_visible()  # updated by the stream alone, without a reload
        act(page, "golden", "Change")
        page.get_by_label("Description").fill("with all updates")
        accessible(page)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(row.get_by_text("with all updates")).to_be_visible()
        look(page, "images")
        act(page, "golden", "Delete")
        delete(page, "golden")
        expect(page.get_by_text("golden", exact=True)).to_have_count(0)


def test_a_file_is_sent_with_progress_and_again_if_it_is_refused(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    with site.page("/images/upload") as page:
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_text("Choose the file first")).to_be_visible()
        expect(page.locator("input[type=file]")).to_be_focused()
        packed = gzip.compress(b"system" * 200_000)
        page.locator("input[type=file]").set_input_files({"name": "disk-1.img.gz", "mimeType": "", "buffer": packed})
        expect(page.get_by_label("Name")).to_have_value("disk-1")
        expect(page.get_by_text("Choose the file first")).to_have_count(0)
        look(page, "image-upload")
        page.route(
            "**/uploads/**", lambda route: route.fulfill(status=400, json={"errors": [{"reason": "Not a gzip file"}]})
        )
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_text("Not a gzip file")).to_be_visible()
        accessible(page)
        page.unroute("**/uploads/**")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("row", name="disk-1").get_by_text("Available")).to_be_visible()
