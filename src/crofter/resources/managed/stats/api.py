"""Managed stats."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import asks_hosts, endpoint
from crofter.resources.managed.api import Member
from crofter.resources.managed.stats import rules
from crofter.resources.managed.stats.rules import ManagedStats


@endpoint("GET /v4/managed/stats", scope="account:read_only", grant="unrestricted", rate="stats", slow=True)
@asks_hosts
def view_managed_stats(ctx: Context, member: Member) -> ManagedStats:
    """View what all instances of the account used together over the last day."""
    return rules.recent(ctx)
