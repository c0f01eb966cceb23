"""Actions shared by tests of many pages: a row's menu, a field's list, a deletion."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def act(page: Page, name: str, action: str) -> None:
    """Choose an action from the menu of what has this name."""
    page.get_by_role("button", name=f"Actions for {name}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()
    expect(page.get_by_role("menu")).to_have_count(0)


def choose(page: Page, field: str, *options: str, inside: Locator | None = None) -> None:
    """Choose from the list of a field."""
    (inside or page).get_by_role("combobox", name=field).click()
    for option in options:
        page.get_by_role("option", name=option).first.click()
    if len(options) != 1:
        page.keyboard.press("Escape")


def delete(page: Page, name: str, verb: str = "Delete") -> None:
    """Confirm by typing the name what cannot be undone."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(f"Type {name} to confirm").fill(name)
    dialog.get_by_role("button", name=f"{verb} {name}").click()
    expect(dialog).to_have_count(0)
