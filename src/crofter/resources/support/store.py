"""Tickets, replies and attachments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Flag, Id, Moment, Row, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    case,
    exists,
    or_,
    select,
)
from crofter.resources.support.shapes import ReplyView, TicketView
from crofter.resources.users.grants.store import sees

ticket = table(
    "ticket",
    identity(),
    owned(),
    Column("summary", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("opened", Moment, nullable=False),
    Column("opened_by", Text, nullable=False),
    Column("opener_id", Id),  # null when the server opened it; stays when the user is gone
    Column("gravatar_id", Text, nullable=False),
    Column("closed", Moment),
    Column("closable", Flag, nullable=False),
    Column("updated", Moment, nullable=False),
    Column("updated_by", Text),
    Column("entity_type", Text),
    Column("entity_id", Text),  # a JSON scalar, as in the event log
    Column("entity_label", Text),
    Column("entity_url", Text),
    Column("nature", Text, nullable=False),  # customer, managed, monitoring, important, abuse
    Index("ix_ticket_account_id", "account_id", "id"),
    Index("ix_ticket_open", "closed", "id"),
)
reply = table(
    "ticket_reply",
    identity(),
    owned(),
    Column("ticket_id", Id, ForeignKey("ticket.id", ondelete="CASCADE"), nullable=False),
    Column("created", Moment, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("from_staff", Flag, nullable=False),
    Column("gravatar_id", Text, nullable=False),
    Index("ix_ticket_reply_ticket_id", "ticket_id", "id"),
)
attachment = table(
    "ticket_attachment",
    identity(),
    owned(),
    Column("ticket_id", Id, ForeignKey("ticket.id", ondelete="CASCADE"), nullable=False),
    Column("filename", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("created", Moment, nullable=False),
    Column("created_by", Text, nullable=False),
    UniqueConstraint("ticket_id", "filename"),
)
# Apart from the rest, so that lists do not carry files about.
# In pieces: a database takes the whole value into memory to give a part of it.
PIECE = 64 * 1024
content = table(
    "ticket_attachment_content",
    Column("attachment_id", Id, ForeignKey("ticket_attachment.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    PrimaryKeyConstraint("attachment_id", "number"),
)


class Ticket(Row):
    id: int
    account_id: int
    summary: str
    description: str
    status: str
    opened: str
    opened_by: str
    opener_id: int | None
    gravatar_id: str
    closed: str | None
    closable: bool
    updated: str
    updated_by: str | None
    entity_type: str | None
    entity_id: str | None
    entity_label: str | None
    entity_url: str | None
    nature: str


class Reply(Row):
    id: int
    created: str
    created_by: str
    description: str
    from_staff: bool
    gravatar_id: str


class Attachment(Row):
    ticket_id: int
    filename: str


class File(Row):
    id: int
    filename: str
    size: int


EVERY = select(*(ticket.c[name] for name in Ticket.__struct_fields__))
_MINE = EVERY.where(ticket.c.account_id == bindparam("account_id"))
# A restricted user sees the tickets it opened, and those about objects that it sees.
_SEEN_BY_USER = or_(ticket.c.opener_id == bindparam("user_id"), sees(ticket.c.entity_type, ticket.c.entity_id))
_VISIBLE = _MINE.where(_SEEN_BY_USER)
_FILTERED: dict[str, Any] = {
    name: ticket.c[name] for name in ("closed", "id", "opened", "status", "summary", "updated")
}
OPEN_FIRST = (case((ticket.c.closed.is_(None), 0), else_=1), ticket.c.id.desc())
ALL = Collection(TicketView, _MINE, Ticket, key=ticket.c.id, columns=_FILTERED, order=OPEN_FIRST)
VISIBLE = Collection(TicketView, _VISIBLE, Ticket, key=ticket.c.id, columns=_FILTERED, order=OPEN_FIRST)
_ONE = {
    restricted: query(statement.where(ticket.c.id == bindparam("id")), Ticket)
    for restricted, statement in ((False, _MINE), (True, _VISIBLE))
}
_URGENT = {
    restricted: query(
        statement.where(ticket.c.closed.is_(None), ticket.c.nature.in_(("important", "abuse"))).order_by(ticket.c.id),
        Ticket,
    )
    for restricted, statement in ((False, _MINE), (True, _VISIBLE))
}
REPLIES = Collection(
    ReplyView,
    select(*(reply.c[name] for name in Reply.__struct_fields__)).where(reply.c.ticket_id == bindparam("ticket_id")),
    Reply,
    key=reply.c.id,
    columns={"created": reply.c.created},
)
_ATTACHED = query(
    select(attachment.c.ticket_id, attachment.c.filename)
    .where(among(attachment.c.ticket_id, "ids"))
    .order_by(attachment.c.id),
    Attachment,
)
_FILE = query(
    select(attachment.c.id, attachment.c.filename, attachment.c.size).where(
        and_(attachment.c.ticket_id == bindparam("ticket_id"), attachment.c.filename == bindparam("filename")),
    ),
    File,
)
_PIECE = query(
    select(content.c.content).where(
        content.c.attachment_id == bindparam("attachment_id"), content.c.number == bindparam("number")
    )
)


def seen_by_user(ticket_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that the restricted user bound as ``user_id`` sees a ticket and its events."""
    return exists(select(ticket.c.id).where(ticket.c.id == ticket_id, _SEEN_BY_USER))


def scope(ctx: Context) -> dict[str, Any]:
    """The values that every look at tickets is bounded by."""
    bounds = {"account_id": ctx.account_id}
    return {**bounds, "user_id": ctx.actor.user_id} if ctx.actor.restricted else bounds


def one(ctx: Context, ticket_id: int) -> Ticket:
    return ctx.db.one(_ONE[ctx.actor.restricted], id=ticket_id, **scope(ctx))


def file(ctx: Context, ticket_id: int, filename: str) -> File:
    return ctx.db.one(_FILE, ticket_id=one(ctx, ticket_id).id, filename=filename)


def file_unscoped(ctx: Context, ticket_id: int, filename: str) -> File:
    """Return a file of any account, for the support staff."""
    return ctx.db.one(_FILE, ticket_id=ticket_id, filename=filename)


def file_piece(ctx: Context, attachment_id: int, start: int) -> bytes:
    """The next bytes of a file that was looked up before; none once it is gone. ``start`` is where a piece begins."""
    return bytes(ctx.db.value(_PIECE, attachment_id=attachment_id, number=start // PIECE) or b"")


def file_content(ctx: Context, file: File) -> bytes:
    return b"".join(file_piece(ctx, file.id, start) for start in range(0, file.size, PIECE))


def urgent(ctx: Context) -> list[Ticket]:
    """Open tickets that the account should not overlook: what notifications are made from."""
    return ctx.db.all(_URGENT[ctx.actor.restricted], **scope(ctx))


def attached(ctx: Context, ids: Sequence[int]) -> dict[int, list[str]]:
    """The names of the files of many tickets at once."""
    filenames: dict[int, list[str]] = {}
    for row in ctx.db.all(_ATTACHED, ids=list(ids)) if ids else ():
        filenames.setdefault(row.ticket_id, []).append(row.filename)
    return filenames


def attach(ctx: Context, to: Ticket, filename: str, data: bytes, by: str) -> None:
    number = ctx.db.insert(
        attachment,
        account_id=to.account_id,
        ticket_id=to.id,
        filename=filename,
        size=len(data),
        created=ctx.moment,
        created_by=by,
    )
    for start in range(0, len(data), PIECE):
        ctx.db.insert(content, attachment_id=number, number=start // PIECE, content=data[start : start + PIECE])
