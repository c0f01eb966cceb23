"""Managed service for all instances."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.managed import enabling

TAG = "account"


@endpoint(
    "POST /v4/account/settings/managed-enable",
    scope="account:read_write",
    grant="account:read_write",
    events=("managed_enabled",),
)
def enable_managed(ctx: Context) -> None:
    """Switch the managed service on; this incurs a charge for each instance."""
    enabling.enable(ctx)
