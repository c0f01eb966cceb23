"""``Prefer: plan``: what a write would do, found by doing it and leaving no trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from crofter import events
from crofter.context import Context
from crofter.db import Row, among, query
from crofter.db.sql import select
from crofter.edge.endpoint import Endpoint
from crofter.money import dollars
from crofter.results import TwoPhaseWrite
from crofter.shapes import Address, EntityId, View, Word, Words

PREFERENCE = b"plan"
APPLIED = (b"preference-applied", PREFERENCE)

RateChange = Callable[[Context], tuple[int, int]]
"""How much more the caller's account pays since the transaction began: micro-dollars by the hour, and by the month."""


class Undone(Exception):
    """Carries what was found out through the end of a transaction that leaves nothing behind."""

    def __init__(self, body: bytes) -> None:
        self.body = body


class PlannedObject(View):
    """Something that an event would be about."""

    id: EntityId[int | str | None]
    label: str | None
    type: Word[str]
    url: Address[str | None]


class PriceChange(View):
    """How much more, or less, the account would pay; US dollars, before tax."""

    hourly: float
    monthly: float


class Plan(View):
    """Effects of a request."""

    events: Words[list[str]]
    objects: list[PlannedObject]
    price: PriceChange
    valid: bool


class PlanView(View):
    """The answer to a write with `Prefer: plan`, unless it would be refused."""

    plan: Plan


class _EventRow(Row):
    action: str
    entity_id: str | None
    entity_label: str | None
    entity_type: str | None
    entity_url: str | None


_EVENTS = query(
    select(*(events.event.c[name] for name in _EventRow.__struct_fields__))
    .where(among(events.event.c.id, "ids"))
    .order_by(events.event.c.id),
    _EventRow,
)
_encode = msgspec.json.Encoder().encode


def wanted(headers: Mapping[bytes, bytes]) -> bool:
    """True if the caller requests a plan only. ``Prefer`` is a list, and each item may have parameters."""
    asked = headers.get(b"prefer")
    return asked is not None and any(
        item.partition(b";")[0].strip().lower() == PREFERENCE for item in asked.split(b",")
    )


def plan(
    ctx: Context, endpoint: Endpoint, run: Callable[[], TwoPhaseWrite[Any] | None], rate_change: RateChange
) -> bytes:
    """Run the handler, and say what came of it. The caller undoes it."""
    two_phase = run()
    costs = [rate_change(ctx)]
    costs += [operation.cost(ctx, args) for operation, args in ctx.db.operations if operation.cost is not None]
    if two_phase is not None:
        costs.append(two_phase.cost(ctx))
    rows = ctx.db.all(_EVENTS, ids=ctx.db.events)
    changed = (sum(cost[place] for cost in costs) for place in (0, 1))
    planned = Plan(
        events=list(endpoint.events) if two_phase is not None else [event.action for event in rows],
        objects=_objects(rows),
        price=PriceChange(*(dollars(amount) for amount in changed)),
        valid=True,
    )
    return _encode(PlanView(planned))


def _objects(rows: list[_EventRow]) -> list[PlannedObject]:
    """Each once, in the order of the events."""
    named = {
        (event.entity_type, event.entity_id): PlannedObject(
            None if event.entity_id is None else msgspec.json.decode(event.entity_id),
            event.entity_label,
            event.entity_type,
            event.entity_url,
        )
        for event in rows
        if event.entity_type is not None
    }
    return list(named.values())
