"""Firewalls in the console: rules in their order, errors at their fields, what is guarded, on and off."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, choose, delete
from tests.console.site import Site, accessible, look


def test_a_firewall_is_made_with_rules_and_refused_at_its_fields(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    for name in ("fire-a", "fire-b"):
        body = {"type": "g6-nanode-1", "region": "eu-west", "label": name}
        assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    site.cloud.settle()
    site.without("/v4/networking/firewalls")
    with site.page("/firewalls") as page:
        expect(page.get_by_role("heading", name="No firewalls yet")).to_be_visible()
        look(page, "firewalls-empty")
        page.get_by_role("link", name="Create firewall").first.click()
        page.get_by_label("Name").first.fill("wall")
        choose(page, "Instances that it guards", "fire-a")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Add inbound rule").click()
        page.get_by_role("menuitem", name="Web").click()
        second = page.get_by_role("group", name="inbound rule 2")
        second.get_by_label("Ports").fill("80, 99999")
        page.get_by_role("button", name="Create firewall").click()
        expect(second.get_by_text("Ports must be 1-65535")).to_be_visible()
        expect(second.get_by_label("Ports")).to_be_focused()
        look(page, "firewall-create")
        second.get_by_label("Ports").fill("80, 443")
        page.get_by_role("button", name="Create firewall").click()
        expect(page.get_by_role("heading", name="wall", exact=True)).to_be_visible()

        page.get_by_role("button", name="Move inbound rule 2 up").click()
        first = page.get_by_role("group", name="inbound rule 1")
        expect(first.get_by_label("Ports")).to_have_value("80, 443")
        first.get_by_role("combobox", name="Networks").fill("10.0.0.0/33")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Save rules").click()
        expect(first.get_by_text("10.0.0.0/33: ")).to_be_visible()
        page.keyboard.press("Escape")
        first.get_by_role("combobox", name="Networks").press("Backspace")
        page.get_by_role("radiogroup", name="Policy for outbound traffic").get_by_text("dropped").click()
        page.get_by_role("button", name="Save rules").click()
        expect(page.get_by_text("The rules are in force")).to_be_visible()
        look(page, "firewall")
        rules = site.api.get("/v4/networking/firewalls").json()["data"][0]["rules"]
        assert [rule["ports"] for rule in rules["inbound"]] == ["80, 443", "22"]
        assert rules["outbound_policy"] == "DROP"

        page.get_by_role("link", name="Instances").last.click()
        expect(page.get_by_role("row", name="fire-a")).to_be_visible()
        page.get_by_role("button", name="Guard an instance").click()
        choose(page, "Instance", "fire-b", inside=page.get_by_role("dialog"))
        accessible(page)
        page.get_by_role("button", name="Guard it").click()
        expect(page.get_by_role("row", name="fire-b")).to_be_visible()
        act(page, "fire-a", "No longer guard it")
        expect(page.get_by_role("row", name="fire-a")).to_have_count(0)
        look(page, "firewall-instances")
        page.get_by_role("button", name="Disable").click()
        expect(page.get_by_role("button", name="Enable")).to_be_visible()

        page.get_by_role("link", name="Firewalls").last.click()
        expect(page.get_by_role("row", name="wall").get_by_text("Disabled")).to_be_visible()
        look(page, "firewalls")
        act(page, "wall", "Delete")
        delete(page, "wall")
        expect(page.get_by_role("heading", name="No firewalls yet")).to_be_visible()
