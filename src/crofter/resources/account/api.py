"""The account: its settings."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.account import rules
from crofter.resources.account.shapes import SettingsUpdate, SettingsView


@endpoint("GET /v4/account/settings", scope="account:read_only", grant="account:read_only")
def view_account_settings(ctx: Context) -> SettingsView:
    """View the settings of the account."""
    return rules.settings(ctx)


@endpoint(
    "PUT /v4/account/settings",
    scope="account:read_write",
    grant="account:read_write",
    events=("account_settings_update",),
)
def update_account_settings(ctx: Context, body: SettingsUpdate) -> SettingsView:
    """Change the settings of the account."""
    return rules.update_settings(ctx, body)
