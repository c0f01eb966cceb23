"""Addresses of the account in the console: names, sharing, ranges and VLANs."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, choose
from tests.console.site import Site, look


def test_addresses_are_named_and_shared_and_ranges_are_routed(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    made = [
        site.api.post("/v4/compute/instances", json={"type": "g6-nanode-1", "region": "eu-west", "label": name}).json()
        for name in ("net-a", "net-b")
    ]
    site.cloud.settle()
    address = made[0]["ipv4"][0]
    with site.page("/networking?order=-compute_id") as page:
        expect(page.get_by_role("row", name=address).get_by_role("link", name="net-a")).to_be_visible()
        act(page, address, "Reverse name")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("-bad-")
        dialog.get_by_role("button", name="Save name").click()
        expect(dialog.locator("[data-path=rdns][aria-invalid=true]")).to_be_focused()
        look(page, "networking-name", phone=False)
        dialog.get_by_role("button", name="Cancel").click()
        act(page, address, "Share with an instance")
        choose(page, "Instance", "net-b", inside=dialog)
        dialog.get_by_role("button", name="Share it").click()
        expect(dialog).to_have_count(0)
        look(page, "networking")
        shared = site.api.get(f"/v4/compute/instances/{made[1]['id']}/ips").json()["ipv4"]["shared"]
        assert [address_row["address"] for address_row in shared] == [address]

        page.get_by_role("link", name="IPv6 ranges").click()
        page.get_by_role("button", name="Get a range").click()
        choose(page, "Instance that it is routed to", "net-a", inside=dialog)
        dialog.get_by_role("button", name="Get it").click()
        expect(page.get_by_role("row", name="/64")).to_be_visible()
        look(page, "networking-ranges")
        page.get_by_role("link", name="VLANs").click()
        expect(page.get_by_role("heading", name="No VLANs yet")).to_be_visible()
