"""The account in the console: its contact, its settings, its end; what grants do not allow; and the page of help."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.console.site import WIDE, Site, accessible, look, sign_in
from tests.login.visitor import give_password


def test_the_account_s_contact_and_settings(site: Site) -> None:
    with site.page("/account") as page:
        page.get_by_label("Company").fill("Ada & Daughters")
        page.get_by_label("E-mail address").fill("nobody")
        page.get_by_role("button", name="Save contact").click()
        expect(page.locator("[data-path=email][aria-invalid=true]")).to_be_visible()
        accessible(page)
        page.get_by_label("E-mail address").fill("ada@example.com")
        page.get_by_role("button", name="Save contact").click()
        expect(page.get_by_text("The contact is saved")).to_be_visible()
        assert site.api.get("/v4/account").json()["company"] == "Ada & Daughters"
        page.get_by_label("Back up new instances").check()
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_text("The settings are saved")).to_be_visible()
        assert site.api.get("/v4/account/settings").json()["backups_enabled"]
        site.api.put("/v4/account/settings", json={"backups_enabled": False})
        look(page, "account")
        page.get_by_role("button", name="Cancel account").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Cancel ada@example.com")).to_be_disabled()
        look(page, "account-cancel")
        dialog.get_by_role("button", name="Keep it").click()

        page.keyboard.press("?")
        expect(page.get_by_role("heading", name="Help")).to_be_visible()
        expect(page.get_by_role("link", name="The description of the API")).to_have_attribute("href", "/docs")
        expect(page.get_by_role("button", name=re.compile(r"Copy version \d"))).to_have_count(2)
        look(page, "help")


def test_an_account_ends_when_its_label_is_typed(site: Site, chromium: Browser) -> None:
    token = site.cloud.account(username="leaver", email="leaver@example.com")["token"]
    give_password(site.cloud, "leaver")
    context = chromium.new_context(viewport=WIDE, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(f"{site.cloud.url}/console/account")
    sign_in(page, "leaver")
    page.get_by_role("button", name="Cancel account").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why do you leave?").fill("Moving to the country.")
    dialog.get_by_label("Type leaver@example.com to confirm").fill("leaver@example.com")
    dialog.get_by_role("button", name="Cancel leaver@example.com").click()
    expect(page.get_by_label("Username")).to_be_visible()
    assert site.cloud.client(token).get("/v4/account").status_code in (401, 403)
    context.close()


def test_a_restricted_user_is_told_why_something_cannot_be_done(site: Site, chromium: Browser) -> None:
    body = {"username": "reader", "email": "reader@example.com", "restricted": True}
    assert site.api.post("/v4/account/users", json=body).status_code == 200
    grants = {"global": {"account_access": "read_only"}}
    assert site.api.put("/v4/account/users/reader/grants", json=grants).status_code == 200
    give_password(site.cloud, "reader")
    context = chromium.new_context(viewport=WIDE, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(f"{site.cloud.url}/console/billing")
    sign_in(page, "reader")
    button = page.get_by_role("button", name=re.compile("^Pay|Make a payment"))
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_text("Your grants do not include to change the account").first).to_be_attached()
    look(page, "billing-restricted")
    page.goto(f"{site.cloud.url}/console/managed")
    expect(page.get_by_text("Only unrestricted users of your account may do this")).to_be_visible()
    page.goto(f"{site.cloud.url}/console/")
    expect(page.get_by_role("heading", name="This month")).to_be_visible()
    expect(page.get_by_role("link", name="Create instance")).to_have_attribute("aria-disabled", "true")
    accessible(page)
    context.close()
