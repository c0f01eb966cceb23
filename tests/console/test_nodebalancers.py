"""Load balancers in the console: priced, made, given ports and nodes, watched, deleted."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, choose, delete
from tests.console.site import Site, accessible, look


def test_a_load_balancer_with_its_ports_and_nodes(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}})
    machine = {"type": "g6-nanode-1", "region": "eu-west", "label": "back-1", "private_ip": True}
    private = site.api.post("/v4/compute/instances", json=machine).json()["ipv4"][1]
    site.cloud.settle()
    site.without("/v4/nodebalancers")
    with site.page("/nodebalancers") as page:
        expect(page.get_by_role("heading", name="No load balancers yet")).to_be_visible()
        look(page, "nodebalancers-empty", phone=False)
        page.get_by_role("link", name="Create load balancer").first.click()
        summary = page.get_by_role("complementary", name="Summary")
        expect(summary.get_by_text("$10.00")).to_be_visible()
        page.get_by_label("Name").fill("front")
        look(page, "nodebalancer-create")
        summary.get_by_role("button", name="Create load balancer").click()
        expect(page.get_by_role("heading", name="It listens nowhere yet")).to_be_visible()

        dialog = page.get_by_role("dialog")
        page.get_by_role("button", name="Listen at a port").click()
        choose(page, "A node is well if", "It answers a path", inside=dialog)
        dialog.get_by_role("button", name="Add port").click()
        expect(dialog.get_by_text("check_path is required")).to_be_visible()
        look(page, "nodebalancer-port")
        dialog.get_by_label("Path").fill("/health")
        dialog.get_by_role("button", name="Add port").click()
        port = page.get_by_role("region", name="Port 80")
        port.get_by_role("button", name="Add node").click()
        dialog.get_by_label("Name").fill("node-1")
        dialog.get_by_label("Address").fill("10.9.9.9:80")
        dialog.get_by_role("button", name="Add node").click()
        expect(dialog.locator("[data-path=address][aria-invalid=true]")).to_be_focused()
        dialog.get_by_label("Address").fill(f"{private}:80")
        accessible(page)
        dialog.get_by_role("button", name="Add node").click()
        expect(port.get_by_role("row", name="node-1")).to_be_visible()
        look(page, "nodebalancer")
        act(page, "port 80", "Replace all nodes")
        dialog.get_by_label("Nodes").fill(f"node-2 {private}:8080\nnode-3 {private}:8081")
        dialog.get_by_role("button", name="Replace all nodes").click()
        expect(port.get_by_role("row", name="node-3")).to_be_visible()
        expect(port.get_by_role("row", name="node-1")).to_have_count(0)
        act(page, "node-3", "Remove")
        expect(port.get_by_role("row", name="node-3")).to_have_count(0)
        page.get_by_role("link", name="Graphs").click()
        expect(page.get_by_role("heading", name="Traffic").or_(page.get_by_text("Last 24 hours"))).to_be_visible()
        look(page, "nodebalancer-graphs", phone=False)
        page.get_by_role("link", name="Settings").click()
        page.get_by_role("textbox", name="Name").fill("front-2")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("heading", name="front-2")).to_be_visible()
        page.get_by_role("link", name="Load balancers").last.click()
        expect(page.get_by_role("link", name="front-2")).to_be_visible()
        look(page, "nodebalancers")
        act(page, "front-2", "Delete")
        delete(page, "front-2")
        expect(page.get_by_role("heading", name="No load balancers yet")).to_be_visible()
