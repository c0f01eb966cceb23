"""Longview in the console: a client with its key, its name, its end; and the plan."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.acting import act, delete
from tests.console.site import Site, accessible, look


def test_a_client_is_added_with_its_code_renamed_and_deleted_and_the_plan_changed(site: Site) -> None:
    with site.page("/longview") as page:
        page.get_by_role("button", name="Add a client").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("no good")
        dialog.get_by_role("button", name="Add it").click()
        expect(dialog.locator("[data-path=label][aria-invalid=true]")).to_be_focused()
        dialog.get_by_label("Name").fill("agent-1")
        dialog.get_by_role("button", name="Add it").click()
        client = page.get_by_role("dialog", name="Install the agent of agent-1")
        expect(client).to_be_visible()
        made = site.api.get("/v4/longview/clients").json()["data"][0]
        code = site.api.get(f"/v4/longview/clients/{made['id']}").json()["install_code"]
        expect(client.get_by_text(code)).to_be_visible()
        accessible(page)
        client.get_by_role("button", name="Close").last.click()
        act(page, "agent-1", "Rename")
        dialog.get_by_label("Name").fill("agent-2")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_role("row", name="agent-2")).to_be_visible()
        page.get_by_label("Plan", exact=True).select_option("longview-10")
        page.get_by_role("button", name="Change the plan").click()
        expect(page.get_by_text("The plan is changed")).to_be_visible()
        assert site.api.get("/v4/longview/plan").json()["id"] == "longview-10"
        look(page, "longview")
        act(page, "agent-2", "Delete")
        delete(page, "agent-2")
        expect(page.get_by_role("row", name="agent-2")).to_have_count(0)
