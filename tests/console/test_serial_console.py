"""The serial console of an instance in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.site import Site, look
from tests.console.test_instances import make


@pytest.fixture(autouse=True)
def quick(site: Site) -> None:
    site.cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0.2}})


def test_what_is_typed_is_answered_until_the_machine_is_off(site: Site) -> None:
    own = make(site, "serial-1")
    site.cloud.settle()
    with site.page(f"/instances/{own}") as page:
        page.get_by_role("link", name="Console", exact=True).click()
        screen = page.locator(".xterm-accessibility-tree")
        expect(screen).to_contain_text(f"i-{own} login:")
        expect(page.get_by_role("status").filter(has_text="Connected")).to_be_visible()
        expect(page.get_by_label("Serial console of serial-1")).to_be_focused()
        page.keyboard.type("root\n")
        expect(screen).to_contain_text("Password:")
        page.keyboard.type("anything\n")
        expect(screen).to_contain_text(f"root@i-{own}:~#")
        page.keyboard.type("uname -a\n")
        expect(screen).to_contain_text(f"Linux i-{own} ")
        look(page, "instance-console")

        page.keyboard.press("Shift+Tab")
        expect(page.get_by_role("button", name="Connect again")).to_be_focused()

        assert site.api.post(f"/v4/compute/instances/{own}/shutdown").status_code == 200
        site.cloud.settle()
        expect(page.get_by_role("status").filter(has_text="The instance is off.")).to_be_visible()
        assert site.api.post(f"/v4/compute/instances/{own}/boot").status_code == 200
        site.cloud.settle()
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_role("status").filter(has_text="Connected")).to_be_visible()
        expect(screen).to_contain_text(f"i-{own} login:")


def test_a_machine_that_is_off_is_not_connected_to(site: Site) -> None:
    own = make(site, "serial-2", booted=False)
    site.cloud.settle()
    with site.page(f"/instances/{own}/console") as page:
        expect(page.get_by_text("The instance is off. Boot it, then connect.")).to_be_visible()
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_role("status").filter(has_text="The instance is off.")).to_be_visible()
