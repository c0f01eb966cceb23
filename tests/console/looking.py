"""Checks of every page: axe and contrast.

In a soak, axe checks the whole page each time. In `make test` it checks new parts: an open dialog alone, and the
navigation only once. Its contrast rule takes as long as all others together, so for the dark theme, where nothing else
differs, contrast is computed here: each text against its backgrounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page

_AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN = """async ({context, options}) => (await axe.run(context, options)).violations.map(({id, help, nodes}) =>
    [`${id}: ${help}`, ...nodes.flatMap(({html, failureSummary}) => [html, failureSummary])].join(" | "))"""


class Looking:
    def __init__(self) -> None:
        self.thorough = False
        """True to check the whole page each time."""
        self._saw_navigation = False

    def accessible(self, page: Page, *, menu: bool = False) -> None:
        # A menu is drawn at the end of the page, outside of all landmarks.
        rules: dict[str, Any] = {"region": {"enabled": False}} if menu else {}
        options = {"runOnly": _RULES, "rules": rules, "resultTypes": ["violations"], "preload": False}
        if not page.evaluate("'axe' in window"):
            page.evaluate(_AXE.read_text(encoding="utf-8"))
        violations = page.evaluate(_RUN, {"context": self._context(page), "options": options})
        assert not violations, "\n".join(violations)

    def _context(self, page: Page) -> dict[str, Any]:
        if self.thorough:
            return {"include": ["html"]}
        if page.locator("[role=dialog]").count():
            return {"include": ["[role=dialog]"]}
        if self._saw_navigation:
            return {"include": ["html"], "exclude": ["nav[aria-label=Main]"]}
        self._saw_navigation = True
        return {"include": ["html"]}


_FAINT = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def contrast(page: Page) -> None:
    """Check that each visible text has the contrast of WCAG 2.2 (AA)."""
    faint = page.evaluate(_FAINT)
    assert not faint, "\n".join(faint)
