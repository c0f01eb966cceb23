"""StackScripts in the console: written, revised with a note, deployed from, deleted."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.acting import act, delete
from tests.console.site import Site, look


def test_a_script_is_written_revised_and_deleted(site: Site) -> None:
    site.without("/v4/compute/stackscripts", mine=True)
    with site.page("/stackscripts") as page:
        expect(page.get_by_role("heading", name="No StackScripts yet")).to_be_visible()
        look(page, "stackscripts-empty")
        page.get_by_role("link", name="Create StackScript").first.click()
        page.get_by_label("Name", exact=True).fill("set-up")
        page.get_by_label("Text").fill("echo no program named")
        page.get_by_role("button", name="Create StackScript").click()
        expect(page.get_by_text("Must start with #!")).to_be_visible()
        expect(page.get_by_label("Text")).to_be_focused()
        look(page, "stackscript-edit")
        page.get_by_label("Text").fill('#!/bin/sh\n# <UDF name="word" label="A word" example="hello" />\necho $WORD\n')
        page.get_by_role("button", name="Create StackScript").click()
        expect(page.get_by_role("heading", name="set-up")).to_be_visible()
        expect(page.get_by_text("A word word")).to_be_visible()

        act(page, "set-up", "Edit")
        page.get_by_label("Text").fill(
            '#!/bin/sh\n# <UDF name="word" label="A word" example="hello" />\necho "$WORD"\n'
        )
        page.get_by_label("Note on this revision").fill("quoted")
        page.get_by_role("button", name="Save revision").click()
        expect(page.get_by_text("quoted", exact=True)).to_be_visible()
        expect(page.get_by_role("heading", name="Revisions")).to_be_visible()
        expect(page.get_by_text("Revise")).to_be_visible()
        look(page, "stackscript")
        expect(page.get_by_role("link", name="Deploy")).to_have_attribute(
            "href", re.compile(r"/instances/new\?stackscript=\d+")
        )

        page.get_by_role("link", name="StackScripts").last.click()
        expect(page.get_by_role("row", name="set-up").get_by_text("quoted")).to_be_visible()
        look(page, "stackscripts")
        page.get_by_role("link", name="set-up").click()
        act(page, "set-up", "Delete")
        delete(page, "set-up")
        expect(page.get_by_role("heading", name="No StackScripts yet")).to_be_visible()


def test_scripts_of_others_are_looked_at_and_not_changed(site: Site) -> None:
    other = site.cloud.person()
    body = {"label": "for-all", "images": ["any/all"], "script": "#!/bin/sh\n", "is_public": True}
    assert other.post("/v4/compute/stackscripts", json=body).status_code == 200
    with site.page("/stackscripts?kind=community") as page:
        page.get_by_role("link", name="for-all").click()
        page.get_by_role("button", name="Actions for for-all").click()
        expect(page.get_by_text("It belongs to somebody else").first).to_be_attached()
