"""Events: what happened on an account, written in the transaction that made it happen."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import Id, Moment, Query, Row, Time, identity, owned, partial_index, query, table, unindexed
from crofter.db.session import Session
from crofter.db.sql import (
    Column,
    ColumnElement,
    Index,
    Integer,
    Text,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    update,
)
from crofter.db.tally import Tally
from crofter.kinds import Entity

WINDOW = 90 * clock.DAY
"""How long an event can be read."""

event = table(
    "event",
    identity(),
    owned(),
    Column("user_id", Id),
    Column("username", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("percent", Integer),
    Column("started", Time),
    Column("finished", Time),
    Column("message", Text, nullable=False, server_default=""),
    Column("rate", Text),
    Column("remaining", Integer),
    # Ids are kept as JSON scalars: 123 of an instance, "web" of a tag. They are shown without a second thought.
    Column("entity_type", Text),
    Column("entity_id", Text),
    Column("entity_label", Text),
    Column("entity_url", Text),
    Column("secondary_type", Text),
    Column("secondary_id", Text),
    Column("secondary_label", Text),
    Column("secondary_url", Text),
    Index("ix_event_account_id", "account_id", "id"),
    Index("ix_event_created", "account_id", "created", "id"),
    Index("ix_event_action", "account_id", "action", "id"),
    Index("ix_event_entity_type", "account_id", "entity_type", "id"),
    Index("ix_event_entity_id", "account_id", "entity_id", "entity_type", "id"),
    # Running and recently ended operations: a stream that resumes after a break must report both.
    partial_index("ix_event_operation", "account_id", "finished", "id", where="status <> 'notification'"),
)
EVENTS = Tally(event)


class Author(Struct, frozen=True):
    """Account and user that an event names."""

    account_id: int
    user_id: int | None
    username: str


def about(entity_type: str, action: str) -> tuple[ColumnElement[bool], ...]:
    """Conditions: what happened to one object. Found by the object alone: its account may have a million events."""
    return (
        event.c.account_id == bindparam("account_id"),
        event.c.entity_id == bindparam("entity_id"),
        event.c.entity_type == entity_type,
        unindexed(event.c.action) == action,
    )


def topic(account_id: int) -> str:
    """Return the topic of an account's events."""
    return f"events:{account_id}"


def record(
    ctx: Context, action: str, entity: Entity | None = None, secondary: Entity | None = None, **more: Any
) -> int:
    """Write a notification: something that is done already. Returns the event's id."""
    actor = ctx.actor
    author = Author(actor.account_id, actor.user_id, actor.username)
    return write(ctx.db, ctx.now, author, action, "notification", entity, secondary, **more)


def write(
    db: Session,
    now: int,
    author: Author,
    action: str,
    status: str,
    entity: Entity | None = None,
    secondary: Entity | None = None,
    **more: Any,
) -> int:
    """Write an event of any status and author."""
    db.lock_account(author.account_id)  # so that ids commit in order, and a cursor never skips an event
    values = {**_named("entity", entity), **_named("secondary", secondary), **more}
    event_id = db.insert(
        event,
        account_id=author.account_id,
        user_id=author.user_id,
        username=author.username,
        action=action,
        status=status,
        created=clock.text(now),
        **values,
    )
    db.signal(topic(author.account_id))
    db.events.append(event_id)
    return event_id


# An event of an operation goes scheduled, started, finished or failed, and no way back. Who moves it holds
# the account first, as for writing one.
_OPEN = event.c.status.in_([literal_column("'scheduled'"), literal_column("'started'")])
_MINE = (event.c.id == bindparam("event_id")) & (event.c.account_id == bindparam("account"))
ENDED = ("finished", "failed")


class Followed(Row):
    """An event of an operation, as far as it has come."""

    action: str
    status: str


_FOLLOWED = query(select(event.c.action, event.c.status).where(event.c.id == bindparam("id")), Followed)
_STARTED = query(
    update(event)
    .where(_MINE, event.c.status == literal_column("'scheduled'"))
    .values(status="started", percent=0, started=bindparam("now"))
)
_PROGRESS = query(
    update(event)
    .where(_MINE, _OPEN)
    .values(
        # A step that is repeated starts over; what the user has read does not.
        percent=case(
            (or_(event.c.percent.is_(None), event.c.percent < bindparam("reached")), bindparam("reached")),
            else_=event.c.percent,
        ),
        rate=bindparam("new_rate", type_=Text),
        remaining=bindparam("new_remaining", type_=Integer),
    )
)
_FINISHED = query(
    update(event)
    .where(_MINE, _OPEN)
    .values(status="finished", percent=100, finished=bindparam("now"), rate=None, remaining=None)
)
_FAILED = query(
    update(event)
    .where(_MINE, _OPEN)
    .values(
        status="failed",
        message=bindparam("text"),
        percent=func.coalesce(bindparam("reached", type_=Integer), event.c.percent),
        finished=bindparam("now"),
        rate=None,
        remaining=None,
    )
)


def started(db: Session, now: int, account_id: int, event_id: int) -> None:
    """The work behind a scheduled event has begun."""
    _move(db, _STARTED, account_id, event_id, now=now)


def look(db: Session, event_id: int) -> Followed:
    return db.one(_FOLLOWED, id=event_id)


def progress(
    db: Session, account_id: int, event_id: int, percent: int, rate: str | None = None, remaining: float | None = None
) -> None:
    """The work has come so far."""
    _move(
        db,
        _PROGRESS,
        account_id,
        event_id,
        reached=percent,
        new_rate=rate,
        new_remaining=None if remaining is None else int(remaining),
    )


def finished(db: Session, now: int, account_id: int, event_id: int) -> None:
    """The work is done."""
    _move(db, _FINISHED, account_id, event_id, now=now)


def failed(db: Session, now: int, account_id: int, event_id: int, message: str, percent: int | None = None) -> None:
    """The work has ended without success. How far it had come stays visible."""
    _move(db, _FAILED, account_id, event_id, now=now, text=message, reached=percent)


def _move(db: Session, statement: Query[Any], account_id: int, event_id: int, **values: Any) -> None:
    db.run_later(statement, event_id=event_id, account=account_id, **values)
    db.signal(topic(account_id))  # a hint: who hears it looks for itself


def _named(prefix: str, entity: Entity | None) -> dict[str, Any]:
    if entity is None:
        return {}
    return {
        f"{prefix}_type": entity.type,
        f"{prefix}_id": entity.id_document,
        f"{prefix}_label": entity.label,
        f"{prefix}_url": entity.url,
    }
