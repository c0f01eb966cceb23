"""The managed service in the console: its price, what is watched, issues, contacts, and secrets that go in only."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.console.site import Site, accessible, look


def test_the_managed_service_from_its_price_to_an_issue(site: Site) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": "watched-1"}
    assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    with site.page("/managed") as page:
        page.get_by_role("button", name="Enable managed").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text("a month more").first).to_be_visible()
        accessible(page)
        page.keyboard.press("Escape")
        look(page, "managed-offer")
        page.get_by_role("button", name="Enable managed").click()
        dialog.get_by_role("button", name="Enable for").click()
        expect(page.get_by_text("Nothing is watched yet")).to_be_visible()

        _contact(page)
        _credential(site, page)
        _service(page)
        service = site.api.get("/v4/managed/services").json()["data"][0]["id"]
        site.cloud.fault("probe", service_id=service, result="down")
        site.cloud.advance(600)
        site.visit(page, "/managed")
        tile = page.get_by_role("listitem").filter(has_text="shop")
        expect(tile.get_by_text("Failing")).to_be_visible()
        expect(tile.get_by_role("img", name="Last 30 days: 1 day with an issue")).to_be_visible()
        look(page, "managed")
        _act(page, "shop", "Pause")
        expect(tile.get_by_text("Paused")).to_be_visible()
        _act(page, "shop", "Watch again")
        expect(tile.get_by_text("Paused")).to_have_count(0)

        page.get_by_role("link", name="Issues").click()
        expect(page.get_by_role("row").filter(has_text="shop").get_by_text("Ticket")).to_be_visible()
        look(page, "managed-issues")
        page.get_by_role("link", name="Services").click()
        _act(page, "shop", "Delete")
        dialog.get_by_label("Type shop to confirm").fill("shop")
        dialog.get_by_role("button", name="Delete shop").click()
        expect(page.get_by_text("Nothing is watched yet")).to_be_visible()


def _contact(page: Page) -> None:
    page.get_by_role("link", name="Contacts").click()
    page.get_by_role("button", name="Add a contact").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("On call")
    dialog.get_by_label("E-mail address").fill("nobody")
    dialog.get_by_label("Group").fill("ops")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.locator("[data-path=email][aria-invalid=true]")).to_be_visible()
    accessible(page)
    dialog.get_by_label("E-mail address").fill("oncall@example.com")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="On call").get_by_text("ops")).to_be_visible()
    look(page, "managed-contacts")


def _credential(site: Site, page: Page) -> None:
    page.get_by_role("link", name="Credentials").click()
    page.get_by_role("button", name="Add a credential").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("database")
    dialog.get_by_label("Password", exact=True).fill("hunter2hunter2")
    accessible(page)
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="database").get_by_text("never", exact=True)).to_be_visible()
    look(page, "managed-credentials")
    _act(page, "database", "Replace the secret")
    dialog.get_by_label("Password", exact=True).fill("another secret")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    _act(page, "database", "Revoke")
    dialog.get_by_label("Type database to confirm").fill("database")
    dialog.get_by_role("button", name="Revoke database").click()
    expect(page.get_by_text("No credentials yet")).to_be_visible()


def _service(page: Page) -> None:
    page.get_by_role("link", name="Services").click()
    page.get_by_role("button", name="Watch a service").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("shop")
    dialog.get_by_label("Address").fill("not an address")
    dialog.get_by_role("button", name="Watch it").click()
    expect(dialog.locator("[data-path=address][aria-invalid=true]")).to_be_visible()
    look(page, "managed-service")
    dialog.get_by_label("Address").fill("http://127.0.0.1:9/")
    dialog.get_by_role("button", name="Watch it").click()
    expect(page.get_by_role("listitem").filter(has_text="shop")).to_be_visible()


def _act(page: Page, label: str, item: str) -> None:
    page.get_by_role("button", name=f"Actions for {label}").click()
    page.get_by_role("menuitem", name=item).click()
    expect(page.get_by_role("menu")).to_have_count(0)
