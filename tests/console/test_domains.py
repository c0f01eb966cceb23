"""Domains in the console: made, filled with records of several types, shown as a zone file, cloned, deleted."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, choose, delete
from tests.console.site import Site, accessible, look


def test_a_domain_and_its_records(site: Site) -> None:
    site.without("/v4/domains")
    with site.page("/domains") as page:
        expect(page.get_by_role("heading", name="No domains yet")).to_be_visible()
        look(page, "domains-empty", phone=False)
        page.get_by_role("link", name="Create domain").first.click()
        page.get_by_label("Name").fill("walk.example")
        page.get_by_role("button", name="Create domain").click()
        expect(page.locator("[data-path=soa_email][aria-invalid=true]")).to_be_focused()
        page.get_by_label("Mail address of its contact").fill("host@walk.example")
        page.get_by_role("button", name="Create domain").click()
        expect(page.get_by_role("heading", name="walk.example")).to_be_visible()

        dialog = page.get_by_role("dialog")
        page.get_by_role("button", name="Add record").click()
        dialog.get_by_label("Name").fill("www")
        dialog.get_by_label("Address").fill("nowhere")
        dialog.get_by_role("button", name="Add record").click()
        expect(dialog.locator("[data-path=target][aria-invalid=true]")).to_be_focused()
        look(page, "domain-record")
        dialog.get_by_label("Address").fill("192.0.2.10")
        dialog.get_by_role("button", name="Add record").click()
        expect(page.get_by_role("row", name="www").get_by_text("192.0.2.10")).to_be_visible()
        page.get_by_role("button", name="Add record").click()
        choose(page, "Type", "SRV", inside=dialog)
        dialog.get_by_label("Service").fill("sip")
        dialog.get_by_label("Host").fill("sip.walk.example")
        accessible(page)
        dialog.get_by_role("button", name="Add record").click()
        expect(page.get_by_role("row", name="_sip._tcp")).to_be_visible()
        look(page, "domain")
        act(page, "A www", "Change")
        dialog.get_by_label("Address").fill("192.0.2.11")
        dialog.get_by_role("button", name="Save record").click()
        expect(page.get_by_text("192.0.2.11")).to_be_visible()
        act(page, "A www", "Delete")
        expect(page.get_by_text("192.0.2.11")).to_have_count(0)

        page.get_by_role("link", name="Zone file").click()
        expect(page.get_by_role("region", name="Zone file").get_by_text("_sip._tcp")).to_be_visible()
        look(page, "domain-zone")
        page.get_by_role("link", name="Settings").click()
        choose(page, "Status", "Disabled")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_text("Disabled", exact=True)).to_be_visible()

        page.get_by_role("link", name="Domains").last.click()
        act(page, "walk.example", "Clone")
        dialog.get_by_label("Name of the new domain").fill("walk2.example")
        dialog.get_by_role("button", name="Clone").click()
        expect(page.get_by_role("link", name="walk2.example")).to_be_visible()
        look(page, "domains")
        page.get_by_role("button", name="Import").click()
        dialog.get_by_label("Domain").fill("far.example")
        dialog.get_by_label("Name server").fill("127.0.0.1")
        dialog.get_by_role("button", name="Import").click()
        expect(dialog.locator("[data-path=remote_nameserver][aria-invalid=true]")).to_be_focused()
        dialog.get_by_role("button", name="Cancel").click()
        act(page, "walk.example", "Delete")
        delete(page, "walk.example")
        expect(page.get_by_role("link", name="walk.example", exact=True)).to_have_count(0)
