"""Notifications: list."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.edge.listing import Listing
from crofter.resources.notifications import rules
from crofter.resources.notifications.rules import NotificationView
from crofter.shapes import Page


@endpoint("GET /v4/account/notifications", scope="account:read_only", grant="any", slow=True)
def list_notifications(ctx: Context, listing: Listing) -> Page[NotificationView]:
    """List what the account should know."""
    return listing.of_list(rules.all_of(ctx), NotificationView)
