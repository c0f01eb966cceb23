"""Billing in the console: what is owed, what things cost, cards, payments, and invoices as files."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.site import Site, accessible, look

MONTH = 32 * 86_400


def test_cards_payments_and_promotions(site: Site) -> None:
    body = {"type": "g6-standard-2", "region": "us-east", "label": "paid-1", "tags": ["shop"]}
    assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    with site.page("/billing/payments") as page:
        page.get_by_label("Card number").fill("4000 0000 0000 1")
        page.get_by_label("Ends").fill("13/2031")
        page.get_by_label("Security code").fill("123")
        page.get_by_role("button", name="Add card").click()
        expect(page.locator("[data-path=card_number][aria-invalid=true]")).to_be_visible()
        expect(page.locator("[data-path=expiry][aria-invalid=true]")).to_be_visible()
        accessible(page)
        page.get_by_label("Card number").fill("5555 5555 5555 4444")
        page.get_by_label("Ends").fill("11/2032")
        page.get_by_role("button", name="Add card").click()
        cards = page.locator("section", has=page.get_by_role("heading", name="Cards"))
        expect(cards.get_by_role("listitem")).to_have_count(2)
        page.get_by_role("button", name="Make 4444 the default").click()
        mine = cards.get_by_role("listitem").filter(has_text="11/2032")
        expect(mine.get_by_text("Default", exact=True)).to_be_visible()
        expect(mine.get_by_role("button", name="Remove 4444")).to_have_attribute("aria-disabled", "true")

        page.get_by_label("Code", exact=True).fill("NONSENSE")
        page.get_by_role("button", name="Redeem").click()
        expect(page.locator("[data-path=promo_code][aria-invalid=true]")).to_be_visible()
        page.get_by_label("Code", exact=True).fill("SANDBOX-100")
        page.get_by_role("button", name="Redeem").click()
        expect(page.get_by_text("$100.00 of credit")).to_be_visible()

        page.get_by_role("button", name="Make a payment").click()
        dialog = page.get_by_role("dialog", name="Make a payment")
        dialog.get_by_label("Amount").fill("20")
        dialog.get_by_role("button", name="Pay").click()
        expect(dialog.locator("[data-path=usd][aria-invalid=true]")).to_be_visible()
        accessible(page)
        dialog.get_by_label("Amount").fill("20.00")
        dialog.get_by_role("button", name="Pay $20.00").click()
        expect(page.get_by_role("row", name="Payment").get_by_text("$20.00")).to_be_visible()
        look(page, "billing-payments")

        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_text("to your credit")).to_be_visible()
        expect(page.get_by_text("100 dollars to try things with").first).to_be_visible()
        expect(page.get_by_role("table", name="Cost this month by instance").get_by_text("paid-1")).to_be_visible()
        expect(page.get_by_role("table", name="Cost this month by tag").get_by_text("shop")).to_be_visible()
        look(page, "billing")


def test_an_invoice_with_its_lines_and_as_files(site: Site) -> None:
    body = {"type": "g6-standard-2", "region": "us-east", "label": "billed-1"}
    assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    site.cloud.advance(MONTH)
    with site.page("/billing/invoices") as page:
        look(page, "invoices")
        page.locator("tbody th a").first.click()
        lines = page.get_by_role("region", name="Lines of the invoice")
        expect(lines.get_by_text("billed-1").first).to_be_visible()
        look(page, "invoice")
        page.emulate_media(media="print")
        expect(page.get_by_role("navigation", name="Main")).not_to_be_visible()
        expect(lines.get_by_text("billed-1").first).to_be_visible()
        page.emulate_media(media="screen")
        with page.expect_download() as document:
            page.get_by_role("button", name="PDF").click()
        assert document.value.path().read_bytes().startswith(b"%PDF")
        with page.expect_download() as table:
            page.get_by_role("button", name="CSV").click()
        assert "billed-1" in table.value.path().read_text()
