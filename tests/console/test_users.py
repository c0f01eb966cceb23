"""Users and OAuth clients in the console: invited, granted, deleted; registered, with a secret shown once."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from playwright.sync_api import expect

from tests.console.site import Site, look


def test_somebody_is_invited_granted_and_deleted(site: Site) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": "granted-1"}
    made = site.api.post("/v4/compute/instances", json=body).json()
    with site.page("/users") as page:
        expect(page.get_by_role("row", name="ada")).to_be_visible()
        look(page, "users")
        page.get_by_role("link", name="Invite somebody").click()
        page.get_by_label("Username").fill("ada")
        page.get_by_label("E-mail address").fill("bea@example.com")
        page.get_by_role("button", name="Send the invitation").click()
        expect(page.get_by_label("Username")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Username").fill("bea-walks")
        page.get_by_role("button", name="Send the invitation").click()

        expect(page.get_by_role("heading", name="bea-walks")).to_be_visible()
        page.get_by_label("granted-1: Change").check()
        page.get_by_label("Create volumes").check()
        look(page, "user")
        page.get_by_role("button", name="Save the grants").click()
        expect(page.get_by_text("The grants of bea-walks are saved")).to_be_visible()
        given = site.api.get("/v4/account/users/bea-walks/grants").json()
        assert given["global"]["add_volumes"] is True
        assert {"id": made["id"], "label": "granted-1", "permissions": "read_write"} in given["compute"]

        page.get_by_role("button", name="Delete").click()
        page.get_by_label("Type bea-walks to confirm").fill("bea-walks")
        page.get_by_role("dialog").get_by_role("button", name="Delete bea-walks").click()
        expect(page.get_by_role("heading", name="Users")).to_be_visible()
        expect(page.get_by_role("row", name="bea-walks")).to_have_count(0)


def test_an_app_is_registered_with_a_secret_and_a_picture(site: Site, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(png())
    with site.page("/oauth-clients/new") as page:
        page.get_by_label("Name").fill("Walk app")
        page.get_by_label("Redirect address").fill("nowhere")
        page.get_by_role("button", name="Register the app").click()
        expect(page.get_by_label("Redirect address")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Redirect address").fill("https://app.example/back")
        page.get_by_role("button", name="Register the app").click()
        expect(page.get_by_label("client secret")).not_to_be_empty()
        page.get_by_role("button", name="I have it").click()
        expect(page.get_by_role("heading", name="Walk app")).to_be_visible()
        page.get_by_label("Picture file").set_input_files(picture)
        expect(page.get_by_role("img", name="Picture of Walk app")).to_be_visible()
        look(page, "oauth-client")
        page.get_by_role("button", name="Delete").click()
        page.get_by_label("Type Walk app to confirm").fill("Walk app")
        page.get_by_role("dialog").get_by_role("button", name="Delete Walk app").click()
        expect(page.get_by_text("No apps registered")).to_be_visible()
        look(page, "oauth-clients")


def png() -> bytes:
    """A green square."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = b"".join(b"\0" + b"\x1f\x5d\x3a" * 16 for _ in range(16))
    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
