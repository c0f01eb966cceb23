"""Instances in the console: from the price to the end, live, by stream alone; and each part of one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.site import WIDE, Site, accessible, look, percent, sign_in
from tests.login.visitor import give_password

PASSWORD = "correct horse battery staple"


def make(site: Site, label: str, **more: Any) -> int:
    """A running machine; it is ready once the cloud has settled."""
    body = {"type": "g6-standard-1", "region": "us-east", "label": label, "image": "compute/debian12"}
    answer = site.api.post("/v4/compute/instances", json={**body, "root_pass": PASSWORD, **more})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def choose(page: Page, field: str, option: str | re.Pattern[str]) -> None:
    page.get_by_role("combobox", name=field).click()
    page.get_by_role("option", name=option, exact=True).click()


@pytest.fixture(autouse=True)
def quick(site: Site) -> None:
    """Operations are over at once, unless a test says otherwise."""
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0.2}})


def test_an_instance_from_its_price_to_its_end(site: Site) -> None:
    slow = {"*": {"seconds": 1}, "compute_create": {"seconds": 600}, "compute_delete": {"seconds": 2}}
    site.cloud.sandbox.put("/_sandbox/transitions", json=slow)
    script = '#!/bin/bash\n# <UDF name="port" label="Port of the site" example="80" />\n'
    body = {"label": "Site", "images": ["compute/debian12"], "script": script}
    assert site.api.post("/v4/compute/stackscripts", json=body).status_code == 200
    rules = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT", "inbound": [], "outbound": []}
    made = site.api.post("/v4/networking/firewalls", json={"label": "front", "rules": rules})
    assert made.status_code == 200, made.text
    with site.page("/instances?q=walk") as page:
        page.get_by_role("link", name="Create instance").first.click()
        page.get_by_label("Name").fill("x")
        page.get_by_label("Root password").fill("password")
        expect(page.get_by_text("Password does not meet strength requirement")).to_be_visible()
        expect(page.get_by_text("Length must be 3-64 characters")).to_be_visible()
        choose(page, "StackScript", re.compile("Site"))
        expect(page.get_by_label("Port of the site")).to_be_visible()
        look(page, "instance-create")

        page.get_by_label("Port of the site").fill("8080")
        page.get_by_label("Name").fill("walk-1")
        page.get_by_label("Root password").fill(PASSWORD)
        page.get_by_label("Daily backups").check()
        choose(page, "Firewall", "front")
        add = page.get_by_role("button", name="Add a VLAN")
        expect(add).to_have_accessible_description("There are no VLANs in eu-west")
        choose(page, "Region", re.compile("ap-west"))
        add.click()
        page.get_by_role("combobox", name="VLAN of eth1").fill("inside")
        page.get_by_label("Address of eth1").fill("not one")
        expect(page.get_by_label("Address of eth1")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Address of eth1").fill("10.0.0.1/24")
        expect(page.get_by_label("Address of eth1")).not_to_have_attribute("aria-invalid", "true")
        command = page.get_by_role("region", name="The same as a command")
        expect(command).to_contain_text('"port": "8080"')
        page.get_by_text("Command line").click()
        expect(command).to_contain_text("--label walk-1")
        expect(command).not_to_contain_text(PASSWORD)
        summary = page.get_by_role("complementary", name="Summary")
        expect(summary.get_by_text("$12.50")).to_be_visible()
        command.scroll_into_view_if_needed()
        look(page, "instance-create-end")
        summary.get_by_role("button", name="Create instance").click()

        row = page.get_by_role("row", name="walk-1")
        expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", percent())
        accessible(page)
        site.cloud.settle()
        expect(row.get_by_text("Running")).to_be_visible()  # updated by the stream alone, without a reload
        expect(row.get_by_role("progressbar")).to_have_count(0)
        look(page, "instances")

        row.get_by_role("link", name="walk-1").click()
        expect(page.get_by_role("heading", name="walk-1")).to_be_focused()
        expect(page.get_by_role("heading", name="What happened")).to_be_visible()
        page.get_by_role("link", name="Network").click()
        expect(page.get_by_role("link", name="front")).to_be_visible()
        expect(page.get_by_text("inside as 10.0.0.1/24")).to_be_visible()

        page.get_by_role("button", name="Actions for walk-1").click()
        expect(page.get_by_role("menu")).to_be_visible()
        accessible(page, menu=True)
        page.get_by_role("menuitem", name="Delete").click()
        expect(page.get_by_role("menu")).to_have_count(0)
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Delete walk-1")).to_be_disabled()
        expect(dialog.get_by_text("$12.50 a month less")).to_be_visible()
        look(page, "instance-delete")
        dialog.get_by_label("Type walk-1 to confirm").fill("walk-1")
        dialog.get_by_role("button", name="Delete walk-1").click()
        expect(page.get_by_role("heading", name="Instances", exact=True)).to_be_visible()
        expect(page.get_by_role("row", name="walk-1")).to_have_count(0)


def test_a_price_that_was_not_to_be_had_is_asked_for_again(site: Site) -> None:
    refused: list[str] = []

    def busy(route: Route) -> None:
        if route.request.method == "POST" and not refused:
            refused.append(route.request.url)
            body = {"errors": [{"reason": "Too many requests"}]}
            route.fulfill(status=429, headers={"Retry-After": "1"}, json=body)
        else:
            route.continue_()

    with site.page("/instances", fresh=True) as page:  # without cached prices
        page.route("**/v4/compute/instances", busy)
        page.get_by_role("link", name="Create instance").first.click()
        summary = page.get_by_role("complementary", name="Summary")
        expect(summary.get_by_text(re.compile(r"^\$\d+\.\d\d$"))).to_be_visible()
        assert refused
        page.unroute("**/v4/compute/instances")


def test_what_a_list_shows_is_in_its_address_and_in_its_file(site: Site) -> None:
    for name, tags in (("find-a", ["blue"]), ("find-b", [])):
        body = {"type": "g6-nanode-1", "region": "us-east", "label": name, "tags": tags}
        assert site.api.post("/v4/compute/instances", json=body).status_code == 200
    site.cloud.settle()
    with site.page("/instances?q=find&order=-label") as page:
        names = page.locator("tbody th a")
        expect(names).to_have_text(["find-b", "find-a"])
        page.get_by_role("button", name="Name").click()
        page.get_by_role("button", name="Name").click()
        expect(names).to_have_text(["find-a", "find-b"])
        assert "order=label" in page.url
        page.get_by_role("searchbox", name="Find instances").fill("blue")
        expect(names).to_have_text(["find-a"])
        expect(page).to_have_url(f"{site.cloud.url}/console/instances?q=blue&order=label")
        with page.expect_download() as started:
            page.get_by_role("button", name="CSV").click()
        assert "find-a" in started.value.path().read_text()
        page.get_by_role("searchbox", name="Find instances").fill("nobody")
        expect(page.get_by_text("None of your instances match")).to_be_visible()
        page.get_by_role("searchbox", name="Find instances").fill("find")
        page.get_by_role("combobox", name="Tag").select_option("blue")
        expect(names).to_have_text(["find-a"])
        page.get_by_role("combobox", name="Status").select_option("running")
        expect(page.get_by_text("None of your instances match")).to_be_visible()
        page.get_by_role("combobox", name="Status").select_option("offline")
        expect(names).to_have_text(["find-a"])
        page.get_by_role("button", name="Views").click()
        page.get_by_role("menuitem", name="Keep this view").click()
        page.get_by_role("dialog").get_by_label("Name").fill("blue ones")
        page.get_by_role("button", name="Keep view").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        site.visit(page, "/instances")
        page.get_by_role("button", name="Views").click()
        page.get_by_role("menuitem", name="blue ones", exact=True).click()
        expect(names).to_have_text(["find-a"])
        assert "tag=blue" in page.url
        assert "status=offline" in page.url
        with site.context.expect_page() as opened:
            names.first.click(modifiers=["ControlOrMeta"])  # a link in a row is the browser's too
        opened.value.close()
        assert "tag=blue" in page.url
        names.first.click()
        expect(page.get_by_role("heading", name="find-a", level=1)).to_be_visible()


def test_many_instances_get_one_order_and_those_that_refuse_are_named(site: Site) -> None:
    for place in range(4):
        make(site, f"bulk-{place}")
    make(site, "bulk-4", image=None, root_pass=None)
    site.cloud.settle()
    with site.page("/instances?q=bulk") as page:
        expect(page.locator("tbody tr")).to_have_count(5)
        page.get_by_role("checkbox", name="Choose all instances shown").check()
        bar = page.get_by_role("region", name="5 instances chosen")
        expect(bar.get_by_role("button", name="Shut down 4")).to_be_visible()
        look(page, "instances-bulk")
        site.cloud.freeze()
        busy = site.api.get("/v4/compute/instances", headers={"X-Filter": '{"label": "bulk-0"}'}).json()["data"][0][
            "id"
        ]
        assert site.api.post(f"/v4/compute/instances/{busy}/reboot", json={}).status_code == 200
        bar.get_by_role("button", name=re.compile("Shut down")).click()
        expect(page.get_by_text("3 instances shutting down")).to_be_visible()
        expect(page.get_by_text("Compute busy.")).to_be_visible()
        site.cloud.sandbox.post("/_sandbox/clock/thaw")
        site.cloud.settle()
        expect(page.get_by_role("row", name="bulk-1").get_by_text("Offline")).to_be_visible()
        bar.get_by_role("button", name="Tag").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Tags").fill("fleet")
        dialog.get_by_label("Tags").press("Enter")
        page.keyboard.press("Tab")  # the list of options covers the button
        dialog.get_by_role("button", name="Add tags").click()
        expect(page.locator("tbody").get_by_text("fleet")).to_have_count(5)
        bar.get_by_role("button", name="Delete").click()
        dialog.get_by_label("Type 5 instances to confirm").fill("5 instances")
        dialog.get_by_role("button", name="Delete 5 instances").click()
        site.cloud.settle()
        expect(page.locator("tbody th a")).to_have_count(0)


def test_the_overview_and_the_graphs_of_an_instance(site: Site) -> None:
    number = make(site, "graph-1")
    site.cloud.settle()
    site.cloud.advance(3 * 3600)
    with site.page(f"/instances/{number}") as page:
        expect(page.get_by_role("img", name=re.compile("^Processor use"))).to_be_visible()
        look(page, "instance")
        page.get_by_role("button", name="Rename graph-1").click()
        page.get_by_role("textbox", name="Name").fill("x")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Length must be 3-64 characters")).to_be_visible()
        page.get_by_role("textbox", name="Name").fill("graph-2")
        page.get_by_role("textbox", name="Name").press("Enter")
        expect(page.get_by_role("heading", name="graph-2")).to_be_visible()
        page.get_by_text("This month", exact=True).first.click()
        expect(page.get_by_role("heading", name="What happened")).to_be_visible()

        page.get_by_role("link", name="Graphs").click()
        expect(page.get_by_role("img", name=re.compile("^Disk input"))).to_be_visible()
        page.get_by_label("Processor", exact=True).fill("999999999")
        page.get_by_role("button", name="Save alerts").click()
        expect(page.get_by_text(re.compile("Must be"))).to_be_visible()
        page.get_by_label("Processor", exact=True).fill("42")
        page.get_by_role("button", name="Save alerts").click()
        expect(page.get_by_text("The alerts are saved")).to_be_visible()
        look(page, "instance-graphs")
        line = page.get_by_role("slider", name="Alert of processor use")
        line.press("PageDown")
        line.press("ArrowUp")
        expect(page.get_by_label("Processor", exact=True)).to_have_value("33 %")
        place = line.bounding_box()
        assert place is not None
        page.mouse.move(place["x"] + 40, place["y"] + 12)
        page.mouse.down()
        page.mouse.move(place["x"] + 40, place["y"] + 60, steps=3)
        page.mouse.up()
        expect(line).not_to_have_attribute("aria-valuenow", "33")
        dragged = int(line.get_attribute("aria-valuenow") or "")
        assert 0 < dragged < 33
        expect(page.get_by_label("Processor", exact=True)).to_have_value(f"{dragged} %")
        # The first refusal may still be visible: this waits for the response itself.
        with page.expect_response(lambda answer: answer.request.method == "PUT" and answer.ok):
            page.get_by_role("button", name="Save alerts").click()
    assert site.api.get(f"/v4/compute/instances/{number}").json()["alerts"]["cpu"] == dragged


def test_disks_and_configurations_are_added_changed_and_booted(site: Site) -> None:
    number = make(site, "disk-1", type="g6-standard-2", swap_size=1024)
    site.cloud.settle()
    assert site.api.post(f"/v4/compute/instances/{number}/shutdown").status_code == 200
    site.cloud.settle()
    root = site.api.get(f"/v4/compute/instances/{number}/disks").json()["data"][0]
    with site.page(f"/instances/{number}/disks") as page:
        dialog = page.get_by_role("dialog")
        page.get_by_role("button", name=f"Actions for {root['label']}").click()
        page.get_by_role("menuitem", name="Resize").click()
        dialog.get_by_label("New size in MB").fill("20480")
        dialog.get_by_role("button", name="Resize").click()
        expect(page.get_by_text("20 GB")).to_be_visible()  # updated by the stream alone
        page.get_by_role("button", name="Add a disk").click()
        dialog.get_by_label("Name").fill("data")
        dialog.get_by_label("Size in MB").fill("999999")
        dialog.get_by_role("button", name="Add disk").click()
        expect(dialog.get_by_text(re.compile("[Ii]nsufficient space"))).to_be_visible()
        dialog.get_by_label("Size in MB").fill("10240")
        look(page, "disk-add")
        dialog.get_by_role("button", name="Add disk").click()
        row = page.get_by_role("row", name="data")
        expect(row.get_by_text("Ready", exact=True)).to_be_visible()
        row.get_by_role("button", name="Actions for data").click()
        page.get_by_role("menuitem", name="Clone").click()
        expect(page.get_by_role("row")).to_have_count(5)
        page.get_by_role("button", name=f"Actions for {root['label']}").click()
        page.get_by_role("menuitem", name="Reset the password").click()
        dialog.get_by_label("New root password").fill("password")
        dialog.get_by_role("button", name="Set password").click()
        expect(dialog.get_by_text("Password does not meet strength requirement")).to_be_visible()
        dialog.get_by_label("New root password").fill(PASSWORD)
        dialog.get_by_role("button", name="Set password").click()
        expect(dialog).to_have_count(0)
        look(page, "instance-disks")

        page.get_by_role("button", name="Add a configuration").click()
        dialog.get_by_role("button", name="Add configuration").click()
        expect(dialog.get_by_label("Name")).to_be_focused()  # the server has refused the name
        dialog.get_by_label("Name").fill("second")
        choose(page, "sda", "data")
        look(page, "config-add")
        dialog.get_by_role("button", name="Add configuration").click()
        second = page.get_by_role("region", name="second")
        expect(second.get_by_text("data", exact=True)).to_be_visible()
        second.get_by_role("button", name="Edit second").click()
        choose(page, "Run level", "Single user")
        dialog.get_by_role("button", name="Save").click()
        expect(second.get_by_text("run level single")).to_be_visible()
        second.get_by_role("button", name="Boot this").click()
        expect(page.get_by_text("Running", exact=True)).to_be_visible()
        second.get_by_role("button", name="Delete second").click()
        dialog.get_by_label("Type second to confirm").fill("second")
        dialog.get_by_role("button", name="Delete second").click()
        expect(dialog.get_by_role("alert")).to_be_visible()  # refused: the instance boots from the disk
        assert site.api.post(f"/v4/compute/instances/{number}/shutdown").status_code == 200
        site.cloud.settle()
        dialog.get_by_role("button", name="Delete second").click()
        expect(second).to_have_count(0)


def test_backups_are_turned_on_and_off(site: Site) -> None:
    number = make(site, "save-1")
    site.cloud.settle()
    with site.page(f"/instances/{number}/backups") as page:
        dialog = page.get_by_role("dialog")
        expect(page.get_by_text("$12.50 a month")).to_be_visible()
        look(page, "instance-backups-off")
        page.get_by_role("button", name="Turn backups on").click()
        page.get_by_label("Weekly backup of").select_option("Tuesday")
        page.get_by_label("Window").select_option("W10")
        page.get_by_role("button", name="Save schedule").click()
        expect(page.get_by_text("Every day from 10:00 to 12:00 UTC; the weekly one on Tuesday")).to_be_visible()
        page.get_by_role("button", name="Turn backups off").click()
        dialog.get_by_label("Type save-1 to confirm").fill("save-1")
        dialog.get_by_role("button", name="Cancel backups of save-1").click()
        expect(page.get_by_role("button", name="Turn backups on")).to_be_visible()


def test_a_snapshot_is_taken_and_a_backup_restored(site: Site) -> None:
    number = make(site, "save-2", backups_enabled=True)
    site.cloud.advance(36 * 3600)
    with site.page(f"/instances/{number}/backups") as page:
        dialog = page.get_by_role("dialog")
        expect(page.get_by_role("table", name="Automatic backups")).to_be_visible()
        page.get_by_role("button", name="Take a snapshot").click()
        dialog.get_by_label("Name").fill("before")
        dialog.get_by_role("button", name="Take snapshot").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
        expect(page.get_by_text("before", exact=True)).to_be_visible()
        look(page, "instance-backups")
        page.get_by_role("button", name="Take a snapshot").click()
        expect(dialog.get_by_text("It will replace before")).to_be_visible()
        dialog.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Restore").last.click()
        expect(dialog.get_by_text("Insufficient space")).to_be_visible()  # the plan says so before
        dialog.get_by_label("Overwrite").check()
        expect(dialog.get_by_text("All disks and configurations of save-2 are lost.")).to_be_visible()
        look(page, "instance-restore")
        dialog.get_by_label("Type save-2 to confirm").fill("save-2")
        dialog.get_by_role("button", name="Restore").click()
        expect(dialog).to_have_count(0)
        page.get_by_role("link", name="New instance").last.click()
        expect(page.get_by_text(re.compile("From backup"))).to_be_visible()


def test_addresses_are_named_added_and_removed(site: Site) -> None:
    number = make(site, "net-1")
    site.cloud.settle()
    address = site.api.get(f"/v4/compute/instances/{number}").json()["ipv4"][0]
    with site.page(f"/instances/{number}/network") as page:
        dialog = page.get_by_role("dialog")
        last = page.get_by_role("button", name=f"Remove {address}")
        expect(last).to_have_attribute("aria-disabled", "true")
        expect(last).to_have_accessible_description("It is the last public address")
        page.get_by_role("button", name=f"Change the reverse name of {address}").click()
        field = page.get_by_role("textbox", name=f"Reverse name of {address}")
        field.fill("not a name")
        field.press("Enter")
        expect(field).to_have_attribute("aria-invalid", "true")
        field.press("Escape")
        page.get_by_role("button", name="Add private").click()
        expect(dialog.get_by_text("nothing more")).to_be_visible()
        dialog.get_by_role("button", name="Add address").click()
        expect(page.get_by_text("private", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Add private")).to_have_accessible_description(
            "It has a private address already; there can be one"
        )
        page.get_by_role("button", name="Add public").click()
        expect(dialog.get_by_text(re.compile("technical justification"))).to_be_visible()
        look(page, "instance-address-refused", phone=False)
        dialog.get_by_role("button", name="Cancel").click()
        look(page, "instance-network")


def test_settings_and_operations_say_what_is_lost_and_what_it_costs(site: Site) -> None:
    number = make(site, "set-1")
    site.cloud.settle()
    with site.page(f"/instances/{number}/settings") as page:
        dialog = page.get_by_role("dialog")
        page.get_by_label("Name", exact=True).fill("set--1")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Name", exact=True).fill("set-2")
        page.get_by_label("Watchdog").uncheck()
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("heading", name="set-2")).to_be_visible()
        expect(page.get_by_role("button", name="Clone")).to_have_accessible_description("Shut it down first")
        look(page, "instance-settings")

        page.get_by_role("button", name="Resize").click()
        dialog.get_by_role("radio", name=re.compile("^4 GB")).check()
        expect(dialog.get_by_text("$20.00 a month")).to_have_count(2)
        look(page, "instance-resize")
        dialog.get_by_role("button", name="Resize").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
        expect(page.get_by_role("button", name="Rescue")).not_to_have_attribute("aria-disabled", "true")
        page.get_by_role("button", name="Rescue").click()
        dialog.get_by_role("button", name="Reboot into rescue").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
        page.get_by_role("button", name="Rebuild").click()
        dialog.get_by_label("Type set-2 to confirm").fill("set-2")
        dialog.get_by_label("Root password").fill("password")
        dialog.get_by_role("button", name="Rebuild").click()
        expect(dialog.get_by_text("Password does not meet strength requirement")).to_be_visible()
        look(page, "instance-rebuild")
        dialog.get_by_label("Root password").fill(PASSWORD)
        dialog.get_by_role("button", name="Rebuild").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
        page.get_by_role("button", name="Move").click()
        choose(page, "To", re.compile("eu-west"))
        expect(dialog.get_by_text("nothing more")).to_be_visible()
        look(page, "instance-move", phone=False)
        dialog.get_by_role("button", name="Move").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
        assert site.api.post(f"/v4/compute/instances/{number}/shutdown").status_code == 200
        site.cloud.settle()
        page.get_by_role("button", name="Reset password").click()
        dialog.get_by_label("New root password").fill(PASSWORD)
        dialog.get_by_role("button", name="Set password").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
        page.get_by_role("button", name="Clone").click()
        dialog.get_by_label("Name").fill("set-copy")
        expect(dialog.get_by_text("$20.00 a month, $0.030 an hour")).to_be_visible()
        look(page, "instance-clone")
        dialog.get_by_role("button", name="Clone").click()
        expect(dialog).to_have_count(0)
        site.cloud.settle()
    seen = site.api.get(f"/v4/compute/instances/{number}").json()
    assert (seen["region"], seen["type"], seen["watchdog_enabled"]) == ("eu-west", "g6-standard-2", False)


def test_a_restricted_user_sees_why_not(site: Site) -> None:
    number = make(site, "closed-1")
    site.cloud.settle()
    person = {"username": "bob", "email": "bob@example.com", "restricted": True}
    assert site.api.post("/v4/account/users", json=person).status_code == 200
    given = {"compute": [{"id": number, "permissions": "read_only"}]}
    assert site.api.put("/v4/account/users/bob/grants", json=given).status_code == 200
    give_password(site.cloud, "bob")
    assert site.context.browser is not None
    context = site.context.browser.new_context(viewport=WIDE, locale="en-GB", timezone_id="UTC")
    page = context.new_page()
    page.goto(f"{site.cloud.url}/console/instances/{number}/settings")
    sign_in(page, "bob")
    reason = re.compile("You may look at this, not change it")
    for name in ("Save settings", "Resize", "Rebuild", "Delete instance", "Rename closed-1"):
        expect(page.get_by_role("button", name=name)).to_have_accessible_description(reason)
    page.get_by_role("link", name="Disks and configurations").click()
    expect(page.get_by_role("button", name="Add a disk")).to_have_accessible_description(reason)
    page.get_by_role("link", name="Instances").first.click()
    create = page.get_by_role("link", name="Create instance").or_(page.get_by_role("button", name="Create instance"))
    expect(create.first).to_have_accessible_description(re.compile("Your grants do not include add computes"))
    context.close()
