"""Notifications, derived from the present state at each request and not stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.db.sql import bindparam, select
from crofter.events import event
from crofter.kinds import Entity
from crofter.resources.billing import standing
from crofter.resources.instances.hypervisor_client import MOVES
from crofter.resources.instances.store import KIND, instance
from crofter.resources.maintenance import store as maintenance
from crofter.resources.regions.store import region
from crofter.resources.support import store as support
from crofter.resources.users import access
from crofter.shapes import Moment, View, Word, word

NotificationType = Literal[
    "migration_scheduled",
    "migration_imminent",
    "migration_pending",
    "reboot_scheduled",
    "outage",
    "payment_due",
    "ticket_important",
    "ticket_abuse",
    "notice",
    "maintenance",
    "promotion",
]


Severity = Literal["minor", "major", "critical"]


class NotificationEntity(View):
    """Object of a notification."""

    id: int | str | None
    label: str | None
    type: Word[str]
    url: Annotated[str | None, word("/")]


class NotificationView(View):
    """Something that the account should know; it goes when its cause does."""

    body: str | None
    entity: NotificationEntity | None
    label: str
    message: Annotated[str, word("Maintenance of your ", capital=True)]
    severity: Severity
    type: NotificationType
    until: Moment | None
    when: Moment | None


class _Named(Row):
    id: int
    label: str


_PENDING = query(
    select(instance.c.id, instance.c.label)
    .where(instance.c.account_id == bindparam("account_id"), instance.c.migration_pending.is_(True))
    .order_by(instance.c.id),
    _Named,
)
_MOVING = query(
    select(event.c.entity_id).where(
        event.c.account_id == bindparam("account_id"),
        event.c.action.in_(MOVES),
        event.c.entity_type == KIND,
        event.c.status.in_(("scheduled", "started")),
    )
)
_THESE = query(
    select(instance.c.id, instance.c.label)
    .where(instance.c.account_id == bindparam("account_id"), among(instance.c.id, "ids"))
    .order_by(instance.c.id),
    _Named,
)
_OUTAGES = query(
    select(region.c.slug).where(region.c.status == "outage", region.c.position.is_not(None)).order_by(region.c.position)
)


def all_of(ctx: Context) -> list[NotificationView]:
    """Most urgent things first."""
    return [
        *_about_money(ctx),
        *_about_maintenance(ctx),
        *_about_tickets(ctx),
        *_about_regions(ctx),
        *_about_migrations(ctx),
    ]


def _notice(
    kind: NotificationType, severity: Severity, label: str, message: str, about: Entity | None = None, **more: Any
) -> NotificationView:
    entity = None if about is None else NotificationEntity(about.id, about.label, about.type, about.url)
    return NotificationView(
        body=more.get("body"),
        entity=entity,
        label=label,
        message=message,
        severity=severity,
        type=kind,
        until=None,
        when=more.get("when"),
    )


def _about_money(ctx: Context) -> Iterator[NotificationView]:
    if not access.permits_globally(ctx, "account_access", "read_only") or not standing.owes(ctx.db, ctx.account_id):
        return
    if standing.past_due(ctx.db, ctx.account_id):
        text = "Your account has a past due balance. Please pay it to keep your services."
        yield _notice("payment_due", "critical", "Your account is past due", text)
    else:
        text = "A payment is due, and is being collected from your payment method."
        yield _notice("payment_due", "major", "A payment is due", text)


def _about_maintenance(ctx: Context) -> Iterator[NotificationView]:
    for row in maintenance.listed(ctx):
        if access.permits(ctx, KIND, row.instance_id, "read_only"):
            text = f"Maintenance of your Compute is scheduled: {row.type.replace('_', ' ')}."
            about = _compute(row.instance_id, row.label)
            more = {"body": row.reason, "when": row.when_}
            yield _notice("maintenance", "critical", "Maintenance is scheduled", text, about, **more)


def _about_tickets(ctx: Context) -> Iterator[NotificationView]:
    for row in support.urgent(ctx):
        about = Entity("ticket", row.id, row.summary, f"/support/tickets/{row.id}")
        if row.nature == "abuse":
            yield _notice("ticket_abuse", "major", "You have an open abuse ticket!", row.summary, about)
        else:
            yield _notice("ticket_important", "major", "You have an important ticket open!", row.summary, about)


def _about_regions(ctx: Context) -> Iterator[NotificationView]:
    for slug in ctx.db.column(_OUTAGES):
        text = f"We are aware of an issue affecting service in {slug}."
        about = Entity("region", slug, slug, f"/regions/{slug}")
        yield _notice("outage", "major", "There is an issue affecting service in this region", text, about)


def _about_migrations(ctx: Context) -> Iterator[NotificationView]:
    waiting = {row.id: row for row in ctx.db.all(_PENDING, account_id=ctx.account_id)}
    moving = [int(number) for number in ctx.db.column(_MOVING, account_id=ctx.account_id)]
    under_way = {row.id: row for row in ctx.db.all(_THESE, account_id=ctx.account_id, ids=moving)}
    for number, row in sorted({**waiting, **under_way}.items()):
        if access.permits(ctx, KIND, number, "read_only"):
            text = "It is being moved." if number in under_way else "It moves when you start the migration."
            about = _compute(number, row.label)
            yield _notice("migration_pending", "major", "You have a migration pending!", text, about)


def _compute(number: int, label: str) -> Entity:
    return Entity(KIND, number, label, f"/compute/instances/{number}")
