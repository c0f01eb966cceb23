"""Every page of the console opens, is accessible in light and dark, and fits a telephone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tools.console import CONSOLE

from tests.console.site import LOOKING, Site, look

PATHS = """
    / /account /billing /billing/invoices /billing/payments /domains /domains/new /events /firewalls
    /firewalls/new /help /images /images/new /images/upload /instances /instances/new /longview /maintenance
    /managed /managed/contacts /managed/credentials /managed/issues /networking /networking/ranges
    /networking/vlans /nodebalancers /nodebalancers/new /notifications /oauth-clients /oauth-clients/new /profile
    /profile/apps /profile/devices /profile/keys /profile/tokens /profile/two-factor /sandbox /stackscripts
    /stackscripts/new /tags /tickets /tickets/new /transfers /users /users/new /volumes /volumes/new
""".split()
"""Pages without an object; pages of an object are in the tests of their features."""
LOOKED_AT = """
    /billing/invoices /firewalls /firewalls/new /instances /instances/new /oauth-clients /profile/tokens
    /profile/two-factor /tickets /tickets/new /users
""".split()
"""Pages that other tests of `make test` open with content."""


def test_no_page_is_left_out() -> None:
    texts = [file.read_text() for file in (CONSOLE / "src" / "features").glob("*/routes.tsx")]
    under_root = r'getParentRoute: \(\) => root,\s*path: "(/[^"$]*)"'
    named = {path for text in texts for path in re.findall(under_root, text)}
    assert named >= {"/instances", "/billing", "/users"}
    assert named <= set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_opens(site: Site, path: str) -> None:
    with site.page(path) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if path not in LOOKED_AT or LOOKING.thorough:
            look(page, f"page{path.replace('/', '-')}")
