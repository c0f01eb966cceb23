"""Reading the event log, and what each user has read of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import Id, Query, Row, Session, among, query, table
from crofter.db.collections import Collection
from crofter.db.filters import Field
from crofter.db.sql import (
    Column,
    ColumnElement,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    select,
    type_coerce,
)
from crofter.db.tally import Tally
from crofter.events import EVENTS as TALLY
from crofter.events import WINDOW, event
from crofter.resources.events import visibility
from crofter.resources.events.shapes import EventView

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


_READ = exists(
    select(event_read.c.event_id).where(
        event_read.c.event_id == event.c.id, event_read.c.user_id == bindparam("user_id")
    )
)
_ROWS = select(
    *(event.c[name] for name in Event.__struct_fields__ if name != "read"),
    type_coerce(_READ, Integer).label("read"),  # a number costs SQLite's rows no conversion
).where(event.c.account_id == bindparam("account_id"))
_FIRST = query(
    select(event.c.id)
    .where(event.c.account_id == bindparam("account_id"), event.c.created >= bindparam("since"))
    .order_by(event.c.created, event.c.id)
    .limit(1)
)
NEVER = 1 << 62
"""An id that no event reaches."""
_LATE = clock.MINUTE
"""An event's end takes the time first and may then wait for the account, so its time may be that much earlier."""


def _entity_id(value: Any) -> str:
    if type(value) not in (int, str):
        raise ValueError(value)
    return msgspec.json.encode(value).decode()


_OF_DISKS = and_(
    func.coalesce(event.c.entity_type, "") == literal_column("'compute'"),
    event.c.action.like(literal_column("'disk_%'")),
)
"""Events of disks: they are about the instance, and clients look for them by this type and the id of the instance."""
_COLUMNS: dict[str, ColumnElement[Any] | Field] = {
    "id": event.c.id,
    "action": Field(event.c.action, lower_case=True),
    "created": event.c.created,
    "entity.id": Field(event.c.entity_id, _entity_id, expected="must be an integer or a text"),
    "entity.type": Field(event.c.entity_type, lower_case=True, groups={"disks": _OF_DISKS}),
    "status": Field(event.c.status, lower_case=True),
    "message": event.c.message,
    "username": event.c.username,
}


class Reads(Struct, frozen=True):
    """The statements that read the event log, for one sort of user."""

    newest_first: Collection[Event]
    oldest_first: Collection[Event]
    one: Query[Event]
    following: Query[Event]
    these: Query[Event]


@cache
def reads(*, restricted: bool) -> Reads:
    """Built when first needed: what a restricted user sees is known when every package has registered its rule."""
    rows = _ROWS.where(visibility.condition()) if restricted else _ROWS
    recent = rows.where(event.c.created >= bindparam("since"))
    return Reads(
        newest_first=_collection(rows, None if restricted else TALLY, newest_first=True),
        oldest_first=_collection(rows, None if restricted else TALLY, newest_first=False),
        one=query(recent.where(event.c.id == bindparam("event_id")), Event),
        following=query(rows.where(event.c.id >= bindparam("first")).order_by(event.c.id).limit(100), Event),
        these=query(recent.where(among(event.c.id, "ids")).order_by(event.c.id), Event),
    )


def _collection(statement: Select[Any], tally: Tally | None, *, newest_first: bool) -> Collection[Event]:
    # Ids and moments grow together, so that the window is a range of ids, in which every index is ordered.
    return Collection(
        EventView,
        statement,
        Event,
        key=event.c.id,
        columns=_COLUMNS,
        newest_first=newest_first,
        tally=tally,
        floor="first",
    )


_OPERATION = (
    event.c.account_id == bindparam("account_id"),
    event.c.status != literal_column("'notification'"),  # said as the index has it
    event.c.id <= bindparam("last"),
)
_UNDER_WAY = query(select(event.c.id).where(*_OPERATION, event.c.finished.is_(None)))
_ENDED = query(select(event.c.id).where(*_OPERATION, event.c.finished >= bindparam("since")))
_CREATED = query(
    select(event.c.created)
    .where(event.c.account_id == bindparam("account_id"), event.c.id <= bindparam("last"))
    .order_by(event.c.id.desc())
    .limit(1)
)
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


def window(ctx: Context, after: int = 0) -> dict[str, Any]:
    """The values that bound a list: the account's events of the window, after one of them."""
    first = ctx.db.value(_FIRST, account_id=ctx.account_id, since=_since(ctx))
    first = NEVER if first is None else max(first, min(after, NEVER) + 1)
    return {"account_id": ctx.account_id, "user_id": ctx.actor.user_id, "first": first}


def _since(ctx: Context) -> str:
    return clock.text(ctx.now - WINDOW)


def _recent(ctx: Context) -> dict[str, Any]:
    return {"account_id": ctx.account_id, "user_id": ctx.actor.user_id, "since": _since(ctx)}


def collection(ctx: Context, *, newest_first: bool) -> Collection[Event]:
    """The events that the caller sees."""
    return _reads(ctx).newest_first if newest_first else _reads(ctx).oldest_first


def _reads(ctx: Context) -> Reads:
    return reads(restricted=ctx.actor.restricted)


def one(ctx: Context, event_id: int) -> Event:
    return ctx.db.one(_reads(ctx).one, event_id=event_id, **_recent(ctx))


def after(ctx: Context, last: int) -> list[Event]:
    """The next hundred events in the order of their ids."""
    return ctx.db.all(_reads(ctx).following, **window(ctx, last))


def these(ctx: Context, ids: list[int]) -> list[Event]:
    return ctx.db.all(_reads(ctx).these, ids=ids, **_recent(ctx)) if ids else []


def under_way(ctx: Context, last: int) -> list[int]:
    """Return the ids up to ``last`` of events in progress."""
    return ctx.db.column(_UNDER_WAY, account_id=ctx.account_id, last=last)


def ended_since(ctx: Context, last: int) -> list[int]:
    """Return the ids up to ``last`` of events that were in progress when ``last`` was written and have ended since."""
    created = ctx.db.value(_CREATED, account_id=ctx.account_id, last=last)
    if created is None:
        return []
    since = clock.parse(created) - _LATE
    return ctx.db.column(_ENDED, account_id=ctx.account_id, last=last, since=since)


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
