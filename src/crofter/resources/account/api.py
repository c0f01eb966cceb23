"""The account: view, update, settings, transfer, cancel."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import ReadAfterCommit, TwoPhaseWrite, endpoint
from crofter.resources.account import rules
from crofter.resources.account.shapes import (
    AccountTransfer,
    AccountUpdate,
    AccountView,
    Cancel,
    Cancelled,
    SettingsUpdate,
    SettingsView,
)


@endpoint("GET /v4/account", scope="account:read_only", grant="account:read_only", slow=True)
def view_account(ctx: Context) -> AccountView:
    """View contact and billing data of the account."""
    return rules.view(ctx)


@endpoint(
    "PUT /v4/account",
    scope="account:read_write",
    grant="account:read_write",
    events=("account_update",),
    also=rules.complaints,
)
def update_account(ctx: Context, body: AccountUpdate) -> ReadAfterCommit[AccountView]:
    """Change contact and billing data of the account."""
    rules.update(ctx, body)
    return ReadAfterCommit(rules.view)


@endpoint(
    "POST /v4/account/cancel",
    scope="account:read_write",
    grant="unrestricted",
    events=("payment_submitted", "compute_delete", "entity_transfer_cancel"),
)
def cancel_account(ctx: Context, body: Cancel) -> TwoPhaseWrite[Cancelled]:
    """Charge what is owed, remove all services, and close the account."""
    return rules.cancel(ctx, [] if body.comments is None else ["comments"])


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


@endpoint(
    "POST /v4/account/settings/managed-enable",
    scope="account:read_write",
    grant="account:read_write",
    events=("managed_enabled",),
)
def enable_managed(ctx: Context) -> None:
    """Switch the managed service on; this incurs a charge for each instance."""
    rules.enable_managed(ctx)


@endpoint("GET /v4/account/transfer", scope="account:read_only", grant="account:read_only", slow=True)
def view_account_transfer(ctx: Context) -> AccountTransfer:
    """View the traffic of the month over all instances."""
    return rules.transfer(ctx)
