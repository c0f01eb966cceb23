"""The console of a server that speaks a dialect: its calls and what it shows are in the interface's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cloud import Cloud
from tests.console.site import USER, WIDE, Site, go, sign_in
from tests.login.visitor import give_password

DIALECT = """
[words]
compute = "wug"

[[answers]]
path = "/v4/compute/instances"
field = "data[].label"
while = "compute_create"
value = "changed"

[[aliases]]
path = "/v4/machines"
to = "/v4/compute/instances"
"""


@pytest.fixture(scope="module")
def translated(built: None, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    file = tmp_path_factory.mktemp("console") / "dialect.toml"
    file.write_text(DIALECT)
    cloud = Cloud(disguised=None, dialect=str(file))
    token = cloud.account(username=USER, email="ada@example.com")["token"]
    give_password(cloud, USER)
    context = chromium.new_context(viewport=WIDE, reduced_motion="reduce", locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(f"{cloud.url}/console/")
    sign_in(page)
    page.close()
    yield Site(cloud, context, cloud.client(token))
    context.close()
    cloud.close()


def not_found(page: Page) -> list[str]:
    """The addresses that a page fetches from now on and that the server does not know."""
    missing: list[str] = []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status == 404 else None)
    return missing


def test_an_instance_is_listed_opened_and_followed_under_a_dialect(translated: Site) -> None:
    with translated.page("/instances", fresh=True) as page:
        missing = not_found(page)
        expect(page.get_by_label("The same as a command")).to_contain_text('curl -H "X-Dialect: none" -H')
        created = translated.api.post(
            "/v4/wug/instances", json={"type": "g6-nanode-1", "region": "us-east", "label": "web-1"}
        )
        assert created.status_code == 200, created.text
        page.get_by_role("link", name="web-1").click()
        expect(page).to_have_url(re.compile("/instances/1$"))
        expect(page.get_by_role("heading", name="web-1")).to_be_visible()
        translated.cloud.settle()
        expect(page.get_by_text("Offline", exact=True).first).to_be_visible()
        assert missing == []


@pytest.mark.parametrize(
    "path", ["/", "/instances/new", "/volumes/new", "/firewalls/new", "/images", "/networking", "/stackscripts"]
)
def test_pages_that_name_instances_find_them(translated: Site, path: str) -> None:
    with translated.page("/events", fresh=True) as page:
        missing = not_found(page)
        with page.expect_response(lambda answer: "/v4/" in answer.url):
            go(page, path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("This is not here")).to_have_count(0)
        assert missing == []
