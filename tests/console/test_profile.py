"""The profile in the console: what is one's own, secrets shown once, and the second factor."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.console.site import Site, accessible, another_browser, look
from tests.resources.test_profile_two_factor import code

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUe3nkdBWOz0zXzvkS8dq0lFrjQ4Z3Yv1nIvJcPsZ0L ada@croft"


def test_facts_and_preferences_are_saved(site: Site) -> None:
    with site.page("/profile") as page:
        page.get_by_label("E-mail address").fill("not an address")
        card = page.locator("form").filter(has=page.get_by_label("E-mail address"))
        card.get_by_role("button", name="Save").click()
        expect(page.get_by_label("E-mail address")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("E-mail address").fill("ada@croft.example")
        card.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Your address is saved")).to_be_visible()
        zone = page.get_by_role("combobox", name="Time zone").or_(page.get_by_role("textbox", name="Time zone")).first
        zone.fill("Lisbon")
        page.get_by_role("option", name="Europe/Lisbon").click()
        page.get_by_role("button", name="Save the zone").click()
        expect(page.get_by_text("Times are shown in Europe/Lisbon")).to_be_visible()
        look(page, "profile")
    you = site.api.get("/v4/profile").json()
    assert (you["email"], you["timezone"]) == ("ada@croft.example", "Europe/Lisbon")
    site.api.put("/v4/profile", json={"timezone": "UTC", "email": "ada@example.com"})


def choose_colours(page: Page, name: str) -> None:
    """Choose a colour scheme and wait until it is stored with the user."""
    with page.expect_request_finished(lambda sent: sent.method == "PUT" and sent.url.endswith("/preferences")):
        page.get_by_role("radiogroup", name="Colours").get_by_text(name).click()


def test_colours_that_were_chosen_hold_in_another_browser_too(site: Site) -> None:
    with site.page("/profile") as page, another_browser(site) as context:
        choose_colours(page, "Dark")
        there = context.new_page()
        site.visit(there, "/profile")
        for each in (page, there):
            expect(each.locator("html[data-mantine-color-scheme=dark]")).to_be_attached()
        choose_colours(page, "As my system")
        expect(page.locator("html[data-mantine-color-scheme=light]")).to_be_attached()


def test_a_token_says_in_sentences_what_it_may_and_is_shown_once(site: Site) -> None:
    with site.page("/profile/tokens") as page:
        page.get_by_role("button", name="Make a token").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("walk-token")
        dialog.get_by_label("volumes: Change").check()
        accessible(page)
        dialog.get_by_role("button", name="Make the token").click()
        secret = page.get_by_label("token", exact=True).inner_text()
        assert site.cloud.client(secret).get("/v4/volumes").status_code == 200
        assert site.cloud.client(secret).get("/v4/account").status_code == 403
        page.get_by_role("button", name="I have it").click()
        row = page.get_by_role("row", name="walk-token")
        expect(row.get_by_text("Create, change and delete volumes")).to_be_visible()
        expect(page.get_by_text(secret)).to_have_count(0)
        look(page, "profile-tokens")
        row.get_by_role("button", name="Revoke walk-token").click()
        page.get_by_label("Type walk-token to confirm").fill("walk-token")
        page.get_by_role("dialog").get_by_role("button", name="Revoke walk-token").click()
        expect(page.get_by_role("row", name="walk-token")).to_have_count(0)
    assert site.cloud.client(secret).get("/v4/volumes").status_code == 401


def test_a_key_is_refused_with_its_reason_and_kept_when_it_is_good(site: Site) -> None:
    with site.page("/profile/keys") as page:
        page.get_by_role("button", name="Add a key").first.click()
        page.get_by_label("Name").fill("laptop")
        page.get_by_label("Public key").fill("nonsense")
        page.get_by_role("button", name="Add the key").click()
        expect(page.get_by_label("Public key")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Public key").fill(KEY)
        page.get_by_role("button", name="Add the key").click()
        expect(page.get_by_role("row", name="laptop")).to_be_visible()
        look(page, "profile-keys")
        page.get_by_role("link", name="Apps").click()
        expect(page.get_by_text("No apps use your account")).to_be_visible()
        look(page, "profile-apps")
        page.get_by_role("link", name="Browsers").click()
        expect(page.get_by_role("heading", name="Trusted browsers")).to_be_visible()
        look(page, "profile-browsers")


def test_two_factor_is_turned_on_by_a_code_and_gives_a_scratch_code(site: Site) -> None:
    with site.page("/profile/two-factor") as page:
        page.get_by_role("button", name="Turn it on").click()
        expect(page.get_by_role("img", name=re.compile("QR code"))).to_be_visible()
        secret = page.get_by_role("button", name=re.compile("Copy secret")).inner_text().strip()
        look(page, "profile-two-factor")
        page.get_by_label("The code that it shows").fill("000000")
        page.get_by_role("button", name="Turn it on").click()
        expect(page.get_by_label("The code that it shows")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("The code that it shows").fill(code(site.cloud, secret))
        page.get_by_role("button", name="Turn it on").click()
        expect(page.get_by_label("scratch code")).not_to_be_empty()
        page.get_by_role("button", name="I have it").click()
        page.get_by_role("button", name="Turn it off").click()
        page.get_by_label("Type ada to confirm").fill("ada")
        page.get_by_role("dialog").get_by_role("button", name="Turn off two-factor of ada").click()
        expect(page.get_by_text("Off: whoever has your password is you")).to_be_visible()
