"""Reading the journal, and what each user has read of it."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    PrimaryKeyConstraint,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
)

from crofter import clock
from crofter.context import Context
from crofter.db import Id, Row, Session, among, query, table
from crofter.edge.filters import Field
from crofter.edge.listing import Collection
from crofter.journal import EVENTS as TALLY
from crofter.journal import WINDOW, event
from crofter.resources.events.shapes import EventView
from crofter.resources.users.store import grant

# Seeing and reading are each user's own. "Seen" covers every event up to one, so it is a single number.
event_seen = table(
    "event_seen",
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("up_to", Id, nullable=False),
)
event_read = table(
    "event_read",
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False),
    Column("event_id", Id, ForeignKey("event.id", ondelete="CASCADE"), nullable=False, index=True),
    PrimaryKeyConstraint("user_id", "event_id"),
    sqlite_without_rowid=True,
)


class Event(Row):
    id: int
    action: str
    status: str
    created: str
    percent: int | None
    started: int | None
    finished: int | None
    message: str
    rate: str | None
    remaining: int | None
    username: str
    entity_type: str | None
    entity_id: str | None
    entity_label: str | None
    entity_url: str | None
    secondary_type: str | None
    secondary_id: str | None
    secondary_label: str | None
    secondary_url: str | None
    read: int


PERSONAL = ("profile", "token", "user_ssh_key")
"""Entities whose events a restricted user sees when they are its own."""

_SHOWN = (
    select(
        *(event.c[name] for name in Event.__struct_fields__ if name != "read"),
        case((event_read.c.event_id.is_(None), 0), else_=1).label("read"),
    )
    .outerjoin(event_read, and_(event_read.c.event_id == event.c.id, event_read.c.user_id == bindparam("user_id")))
    .where(event.c.account_id == bindparam("account_id"), event.c.created >= bindparam("since"))
)
_VISIBLE = or_(
    exists(
        select(grant.c.object_id).where(
            grant.c.user_id == bindparam("user_id"),
            grant.c.kind == event.c.entity_type,
            cast(grant.c.object_id, Text) == event.c.entity_id,
        )
    ),
    and_(event.c.user_id == bindparam("user_id"), event.c.entity_type.in_(PERSONAL)),
)
_BEFORE_WINDOW = query(
    select(func.count()).where(event.c.account_id == bindparam("account_id"), event.c.created < bindparam("since"))
)


def _entity_id(value: Any) -> str:
    if type(value) not in (int, str):
        raise ValueError(value)
    return msgspec.json.encode(value).decode()


_COLUMNS: dict[str, ColumnElement[Any] | Field] = {
    "id": event.c.id,
    "action": event.c.action,
    "created": event.c.created,
    "entity.id": Field(event.c.entity_id, _entity_id),
    "entity.type": event.c.entity_type,
}


def _collection(statement: Select[Any], *, newest_first: bool, counted: bool = False) -> Collection[Event]:
    return Collection(
        EventView,
        statement,
        Event,
        key=event.c.id,
        columns=_COLUMNS,
        newest_first=newest_first,
        tally=TALLY if counted else None,
        unseen=_BEFORE_WINDOW if counted else None,
    )


ALL = _collection(_SHOWN, newest_first=True, counted=True)
VISIBLE = _collection(_SHOWN.where(_VISIBLE), newest_first=True)
_AFTER = _SHOWN.where(event.c.id > bindparam("after"))
ALL_AFTER = _collection(_AFTER, newest_first=False)
VISIBLE_AFTER = _collection(_AFTER.where(_VISIBLE), newest_first=False)

_ONE = {
    restricted: query(statement.where(event.c.id == bindparam("event_id")), Event)
    for restricted, statement in ((False, _SHOWN), (True, _SHOWN.where(_VISIBLE)))
}
_NEXT = {
    restricted: query(statement.order_by(event.c.id).limit(100), Event)
    for restricted, statement in ((False, _AFTER), (True, _AFTER.where(_VISIBLE)))
}
_THESE = query(_SHOWN.where(among(event.c.id, "ids")), Event)
_LATEST = query(select(func.max(event.c.id)).where(event.c.account_id == bindparam("account_id")))
_SEEN = query(select(event_seen.c.up_to).where(event_seen.c.user_id == bindparam("user_id")))
_IS_READ = query(
    select(event_read.c.event_id).where(
        event_read.c.user_id == bindparam("user_id"), event_read.c.event_id == bindparam("event_id")
    )
)
_OLD = query(
    delete(event).where(
        event.c.id.in_(select(event.c.id).where(event.c.created < bindparam("since")).limit(bindparam("most")))
    )
)


def scope(ctx: Context) -> dict[str, Any]:
    """The values that every look into the journal is bounded by."""
    actor = ctx.actor
    since = clock.text(ctx.now - WINDOW)
    return {"account_id": actor.account_id, "user_id": actor.user_id, "since": since}


def one(ctx: Context, event_id: int) -> Event:
    return ctx.db.one(_ONE[ctx.actor.restricted], event_id=event_id, **scope(ctx))


def after(ctx: Context, last: int) -> list[Event]:
    """The next hundred events in the order of their ids."""
    return ctx.db.all(_NEXT[ctx.actor.restricted], after=last, **scope(ctx))


def these(ctx: Context, ids: list[int]) -> list[Event]:
    return ctx.db.all(_THESE, ids=ids, **scope(ctx)) if ids else []


def latest_id(ctx: Context) -> int:
    return int(ctx.db.value(_LATEST, account_id=ctx.account_id) or 0)


def seen_up_to(ctx: Context) -> int:
    return int(ctx.db.value(_SEEN, user_id=ctx.actor.user_id) or 0)


def mark_seen(ctx: Context, event_id: int) -> None:
    if not ctx.db.update(event_seen, {"user_id": ctx.actor.user_id}, up_to=max(event_id, seen_up_to(ctx))):
        ctx.db.insert(event_seen, user_id=ctx.actor.user_id, up_to=event_id)


def mark_read(ctx: Context, event_id: int) -> None:
    if ctx.db.value(_IS_READ, user_id=ctx.actor.user_id, event_id=event_id) is None:
        ctx.db.insert(event_read, user_id=ctx.actor.user_id, event_id=event_id)


def prune(db: Session, now: int, most: int = 5000) -> int:
    """Remove events that can no longer be read, a bounded number at a time."""
    return db.run(_OLD, since=clock.text(now - WINDOW), most=most)
