"""Managed service: enabled for all instances of an account, and required by all its endpoints."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.resources.managed import enabling, membership

TAG = "account"
Member = Annotated[None, Lookup(membership.required)]
"""An argument of endpoints that name no object, for the sake of being looked up first."""


@endpoint(
    "POST /v4/account/settings/managed-enable",
    scope="account:read_write",
    grant="account:read_write",
    events=("managed_enabled",),
)
def enable_managed(ctx: Context) -> None:
    """Switch the managed service on; this incurs a charge for each instance."""
    enabling.enable(ctx)
