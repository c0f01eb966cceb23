"""Managed issues: list and view."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.managed.api import Member
from crofter.resources.managed.issues import store
from crofter.resources.managed.issues.store import IssueView
from crofter.shapes import Page

TheIssue = Annotated[store.Issue, Lookup(store.one, "issue_id")]


@endpoint("GET /v4/managed/issues", scope="account:read_only", grant="unrestricted")
def list_managed_issues(ctx: Context, member: Member, listing: Listing) -> Page[IssueView]:
    """List the outages that monitoring has found."""
    return listing.of(ctx, store.ISSUES, lambda rows: [row.view() for row in rows], account_id=ctx.account_id)


@endpoint("GET /v4/managed/issues/{issue_id}", scope="account:read_only", grant="unrestricted")
def view_managed_issue(ctx: Context, issue: TheIssue) -> IssueView:
    """View an outage."""
    return issue.view()
