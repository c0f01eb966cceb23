"""From rows of the event log to what is shown, and the marks that a user leaves on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from crofter.context import Context
from crofter.events import topic
from crofter.resources.events import store
from crofter.resources.events.shapes import EventEntity, EventView, SecondaryEntity
from crofter.resources.events.store import Event
from crofter.results import Frame, Stream
from crofter.shapes import Raw

E = TypeVar("E")

_NULL = Raw(b"null")
OPEN = ("scheduled", "started")

_encode = msgspec.json.Encoder().encode


def views(ctx: Context, rows: list[Event]) -> list[EventView]:
    seen = store.seen_up_to(ctx) if rows else 0
    now = ctx.now
    return [_view(row, seen, now) for row in rows]


def _view(row: Event, seen: int, now: int) -> EventView:
    return EventView(
        action=row.action,
        created=row.created,
        duration=None if row.started is None else ((row.finished or now) - row.started) / 1000,
        entity=_entity(EventEntity, row.entity_type, row.entity_id, row.entity_label, row.entity_url),
        id=row.id,
        message=row.message,
        percent_complete=row.percent,
        rate=row.rate,
        read=bool(row.read),
        secondary_entity=_entity(
            SecondaryEntity, row.secondary_type, row.secondary_id, row.secondary_label, row.secondary_url
        ),
        seen=row.id <= seen,
        status=row.status,  # type: ignore[arg-type]
        time_remaining=None if row.remaining is None else _clock_face(row.remaining),
        username=row.username or None,
    )


def _entity(
    shape: Callable[..., E], kind: str | None, document: str | None, label: str | None, url: str | None
) -> E | None:
    if kind is None:
        return None
    return shape(_NULL if document is None else Raw(document), label, kind, url)


def _clock_face(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}"


class Position(msgspec.Struct, frozen=True):
    """Where a stream stands: the last event sent, and those sent that may still change."""

    last: int
    open: dict[int, bytes] = {}


def stream(ctx: Context, after: int | None) -> Stream:
    """Stream new events, from ``after`` or from now on, and changes of earlier events in progress.

    A client that was away since ``after`` gets the present state of the events that were in progress then.
    """
    if after is None:
        start = store.latest_id(ctx)
        shown = views(ctx, store.these(ctx, store.under_way(ctx, start)))
        under_way = {view.id: _mark(view) for view in shown}
    else:
        start = after
        under_way = dict.fromkeys((*store.under_way(ctx, after), *store.ended_since(ctx, after)), b"")
    return Stream(topic(ctx.account_id), _news, Position(start, under_way))


def _news(ctx: Context, position: Position) -> tuple[list[Frame], Position]:
    frames: list[Frame] = []
    still_open: dict[int, bytes] = {}
    for view in views(ctx, store.these(ctx, list(position.open))):
        mark = _mark(view)
        if mark != position.open[view.id]:
            frames.append((None, "update", _encode(view)))
        if view.status in OPEN:
            still_open[view.id] = mark
    last = position.last
    for view in views(ctx, store.after(ctx, last)):
        frames.append((str(view.id), "event", _encode(view)))
        last = view.id
        if view.status in OPEN:
            still_open[view.id] = _mark(view)
    return frames, Position(last, still_open)


def _mark(view: EventView) -> bytes:
    """Return the values whose change makes an event worth sending again; its duration changes all the time."""
    changing: Any = (view.status, view.percent_complete, view.message, view.rate, view.time_remaining)
    return _encode(changing)
