"""Tickets opened by monitoring, and replies of the support staff."""

from __future__ import annotations

from typing import Any

from crofter import events, mail
from crofter.context import Context
from crofter.db import Row, query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid, NotFound
from crofter.events import Author
from crofter.kinds import Entity
from crofter.resources.account import store as accounts
from crofter.resources.account.store import account
from crofter.resources.support import rules, store
from crofter.resources.support.shapes import LONGEST_SUMMARY
from crofter.resources.support.store import Reply, Ticket
from crofter.resources.users.store import gravatar, user

STAFF = "Support Team"
MONITORING = "Managed Monitoring"
"""Names with a space in them, which no user's name can have."""
NEWEST = 200


class Listed(Row):
    """A ticket in the queue of the staff."""

    id: int
    euuid: str
    status: str
    nature: str
    updated: str
    opened_by: str
    summary: str


_QUEUE = (
    select(
        store.ticket.c.id,
        account.c.euuid,
        store.ticket.c.status,
        store.ticket.c.nature,
        store.ticket.c.updated,
        store.ticket.c.opened_by,
        store.ticket.c.summary,
    )
    .join(account, account.c.id == store.ticket.c.account_id)
    .order_by(*store.OPEN_FIRST)
    .limit(NEWEST)
)
_OPEN_QUEUE = query(_QUEUE.where(store.ticket.c.closed.is_(None)), Listed)
_WHOLE_QUEUE = query(_QUEUE, Listed)
_ANY = query(store.EVERY.where(store.ticket.c.id == bindparam("id")), Ticket)
_REPLIES = query(
    select(*(store.reply.c[name] for name in Reply.__struct_fields__))
    .where(store.reply.c.ticket_id == bindparam("ticket_id"))
    .order_by(store.reply.c.id),
    Reply,
)
_OPENER = query(select(user.c.email).where(user.c.id == bindparam("user_id")))


# ---- looking --------------------------------------------------------------------------------------------------------


def queue(ctx: Context, *, closed: bool = False) -> list[Listed]:
    """Tickets of all accounts, open ones first; with ``closed``, the others after them."""
    return ctx.db.all(_WHOLE_QUEUE if closed else _OPEN_QUEUE)


def ticket_unscoped(ctx: Context, ticket_id: int) -> Ticket:
    """Return a ticket of any account, for the support staff and monitoring."""
    return ctx.db.one(_ANY, id=ticket_id)


def replies(ctx: Context, ticket: Ticket) -> list[Reply]:
    return ctx.db.all(_REPLIES, ticket_id=ticket.id)


def euuid_of(ctx: Context, ticket: Ticket) -> str:
    return accounts.by_id(ctx.db, ticket.account_id).euuid


def account_of(ctx: Context, euuid: str) -> int:
    account = accounts.by_euuid(ctx.db, euuid)
    if account is None:
        raise NotFound(f"there is no account {euuid}")
    return account.id


# ---- writing --------------------------------------------------------------------------------------------------------


def open_ticket(
    ctx: Context, account_id: int, summary: str, description: str, *, by: str, nature: str, about: Entity | None = None
) -> int:
    """Open a ticket that only the server can close; its id."""
    ctx.db.lock_account(account_id)
    summary = summary[:LONGEST_SUMMARY]
    ticket_id = ctx.db.insert(
        store.ticket,
        account_id=account_id,
        summary=summary,
        description=description,
        status="new",
        opened=ctx.moment,
        opened_by=by,
        gravatar_id=gravatar(by),
        closable=False,
        updated=ctx.moment,
        nature=nature,
        **rules.entity_columns(about),
    )
    _tell(ctx, account_id, "ticket_create", ticket_id, summary, by)
    _write_to_customer(ctx, ticket_unscoped(ctx, ticket_id), description, by)
    return ticket_id


def answer(ctx: Context, ticket_id: int, text: str, *, by: str = STAFF, close: bool = False) -> Ticket:
    """Reply to a ticket, and close it if ``close`` is set. The customer gets the reply by mail."""
    ticket = _locked(ctx, ticket_id)
    if not text.strip():
        raise Invalid("an answer needs words")
    ctx.db.insert(
        store.reply,
        account_id=ticket.account_id,
        ticket_id=ticket.id,
        created=ctx.moment,
        created_by=by,
        description=text,
        from_staff=True,
        gravatar_id=gravatar(by),
    )
    changes = {"status": "closed", "closed": ctx.moment} if close else {"status": "open"}
    _change(ctx, ticket, by, **changes)
    _write_to_customer(ctx, ticket, text, by)
    return ticket


def close(ctx: Context, ticket_id: int, *, by: str = STAFF) -> Ticket:
    ticket = _locked(ctx, ticket_id)
    _change(ctx, ticket, by, status="closed", closed=ctx.moment)
    return ticket


def _locked(ctx: Context, ticket_id: int) -> Ticket:
    """Return the ticket, read again under the lock of its account: it may have been closed meanwhile."""
    ctx.db.lock_account(ticket_unscoped(ctx, ticket_id).account_id)
    ticket = ticket_unscoped(ctx, ticket_id)
    if ticket.closed is not None:
        raise Invalid(f"ticket {ticket_id} is closed")
    return ticket


def _change(ctx: Context, ticket: Ticket, by: str, **changes: Any) -> None:
    ctx.db.update(store.ticket, {"id": ticket.id}, updated=ctx.moment, updated_by=by, **changes)
    _tell(ctx, ticket.account_id, "ticket_update", ticket.id, ticket.summary, by)


def _tell(ctx: Context, account_id: int, action: str, ticket_id: int, summary: str, by: str) -> None:
    entity = rules.entity_of(ticket_id, summary)
    events.write(ctx.db, ctx.now, Author(account_id, None, by), action, "notification", entity)


def _write_to_customer(ctx: Context, ticket: Ticket, text: str, by: str) -> None:
    """Mail the customer. Messages of monitoring go to the contacts of the service instead."""
    if by != MONITORING:
        subject = f"[Ticket {ticket.id}] {ticket.summary}"
        letter = f"{by} wrote in ticket {ticket.id}, {ticket.summary}:\n\n{text}\n"
        mail.send(ctx, _email(ctx, ticket), subject, letter)


def _email(ctx: Context, ticket: Ticket) -> str:
    """Return the address of the ticket's opener, or of the account if that user was deleted."""
    opener = ctx.db.value(_OPENER, user_id=ticket.opener_id) if ticket.opener_id is not None else None
    return str(opener or accounts.by_id(ctx.db, ticket.account_id).email)
