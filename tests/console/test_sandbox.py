"""The sandbox page: time is moved without being signed out, faults are planted, the world is kept and put back."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.console.site import Site, look


def test_the_clock_is_moved_and_the_person_stays_signed_in(site: Site) -> None:
    with site.page("/sandbox") as page:
        banner = page.get_by_role("status", name="Sandbox")
        expect(banner).to_contain_text("simulated")
        page.get_by_role("button", name="Stop the clock").click()
        expect(page.get_by_text(re.compile("the clock stands")).first).to_be_visible()
        before = site.cloud.runtime.clock.now()
        page.get_by_role("button", name="A day").click()
        expect(page.get_by_text(re.compile(r"\d+ operations? came to an end"))).to_be_visible()
        assert site.cloud.runtime.clock.now() == before + 86_400_000
        look(page, "sandbox")
        page.get_by_role("link", name="Instances").click()
        expect(page.get_by_role("heading", name="Instances", exact=True)).to_be_visible()
        page.reload()
        expect(page.locator("[data-signed-in]")).to_be_attached()
    site.cloud.sandbox.post("/_sandbox/clock/thaw")


def test_a_fault_is_planted_and_removed_and_a_snapshot_kept(site: Site) -> None:
    with site.page("/sandbox") as page:
        page.get_by_label("Path").fill("/v4/regions")
        page.get_by_role("button", name="Plant a fault").click()
        expect(page.get_by_text("status 503")).to_be_visible()
        assert site.api.get("/v4/regions").status_code == 503
        page.get_by_role("button", name="Plant a fault").click()
        page.get_by_role("button", name="Remove all faults").click()
        expect(page.get_by_text("status 503")).to_have_count(0)
        assert site.api.get("/v4/regions").status_code == 200

        page.get_by_label("Name of the snapshot").fill("walk")
        page.get_by_role("button", name="Take a snapshot").click()
        expect(page.get_by_role("button", name="Put walk back")).to_be_visible()
        page.get_by_role("button", name="Delete the snapshot walk").click()
        expect(page.get_by_role("button", name="Put walk back")).to_have_count(0)
