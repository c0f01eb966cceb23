"""Issues, each with the ticket that it opened and the services it is about."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.context import Context
from crofter.db import Id as IdColumn
from crofter.db import Json, Row, identity, owned, query, table
from crofter.db import Moment as MomentColumn
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Index, bindparam, select
from crofter.resources.managed import membership
from crofter.resources.support.store import ticket
from crofter.shapes import Address, Filtered, Id, Moment, View

# ---- shapes ---------------------------------------------------------------------------------------------------------


class IssueEntity(View):
    """The ticket that the issue opened."""

    id: Id
    label: str
    type: Literal["ticket"]
    url: Address[str]


class IssueView(View):
    """An outage that monitoring has found."""

    created: Filtered[Annotated[Moment, Meta(description="When it was found.")]]
    entity: IssueEntity
    id: Id
    services: Annotated[list[int], Meta(description="The services affected.")]


# ---- rows -----------------------------------------------------------------------------------------------------------

issue = table(
    "managed_issue",
    identity(),
    owned(),
    Column("ticket_id", IdColumn, ForeignKey("ticket.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("services", Json, nullable=False),  # stays as it was when a service is deleted
    Column("created", MomentColumn, nullable=False),
    Column("closed", MomentColumn),
    Index("ix_managed_issue_account_id", "account_id", "id"),
)


class Issue(Row):
    id: int
    ticket_id: int
    summary: str
    services: list[int]
    created: str
    closed: str | None

    def view(self) -> IssueView:
        entity = IssueEntity(self.ticket_id, self.summary, "ticket", f"/v4/support/tickets/{self.ticket_id}")
        return IssueView(self.created, entity, self.id, self.services)


_EVERY = select(
    issue.c.id, issue.c.ticket_id, ticket.c.summary, issue.c.services, issue.c.created, issue.c.closed
).join_from(issue, ticket, ticket.c.id == issue.c.ticket_id)
_MINE = _EVERY.where(issue.c.account_id == bindparam("account_id"))
ISSUES = Collection(IssueView, _MINE, Issue, key=issue.c.id, columns={"created": issue.c.created})
_ONE = query(_MINE.where(issue.c.id == bindparam("id")), Issue)
_ANY = query(_EVERY.where(issue.c.id == bindparam("id")), Issue)


def one(ctx: Context, issue_id: int) -> Issue:
    membership.required(ctx)
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=issue_id)


def issue_unscoped(ctx: Context, issue_id: int) -> Issue:
    """Return an issue of any account, for monitoring."""
    return ctx.db.one(_ANY, id=issue_id)


def insert(ctx: Context, account_id: int, ticket_id: int, services: list[int]) -> int:
    return ctx.db.insert(issue, account_id=account_id, ticket_id=ticket_id, services=services, created=ctx.moment)


def close(ctx: Context, issue_id: int) -> None:
    ctx.db.update(issue, {"id": issue_id}, closed=ctx.moment)
