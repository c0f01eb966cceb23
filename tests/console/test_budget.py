"""What the first page loads: it must stay small, however many pages there are."""

from __future__ import annotations

import re

from playwright.sync_api import Response

from tests.console.site import Site

BUDGET = {".js": 230_000, ".css": 25_000, ".woff2": 50_000}
"""Bytes on the line, compressed."""


def test_the_first_page_loads_no_more_than_its_budget(site: Site) -> None:
    page = site.context.new_page()
    loaded: dict[str, int] = {}

    def note(response: Response) -> None:
        if "/console/assets/" in response.url:
            loaded[response.url] = int(response.headers["content-length"])

    page.on("response", note)
    with page.expect_response(re.compile("/assets/Palette-")):  # the last that is fetched
        page.goto(f"{site.cloud.url}/console/instances")
    page.wait_for_selector("[data-signed-in]")
    page.close()
    sums = {kind: sum(size for url, size in loaded.items() if url.endswith(kind)) for kind in BUDGET}
    assert sums[".js"] > 100_000, loaded
    assert all(sums[kind] <= most for kind, most in BUDGET.items()), (sums, loaded)
    assert len(loaded) <= 25
