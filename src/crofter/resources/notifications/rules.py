"""Derived from state when somebody looks, never stored: what has no cause any more is not there."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import Row, query
from crofter.resources.billing import store as billing
from crofter.resources.instances.store import instance
from crofter.resources.maintenance import store as maintenance
from crofter.resources.notifications.shapes import NotificationEntity, NotificationView
from crofter.resources.regions.store import region
from crofter.resources.support import store as support
from crofter.resources.users import access


class _Named(Row):
    id: int
    label: str
    region: str


_PENDING = query(
    select(instance.c.id, instance.c.label, instance.c.region)
    .where(instance.c.account_id == bindparam("account_id"), instance.c.migration_pending.is_(True))
    .order_by(instance.c.id),
    _Named,
)
_OUTAGES = query(select(region.c.slug).where(region.c.status == "outage").order_by(region.c.slug))


def all_of(ctx: Context) -> list[NotificationView]:
    found = [*_about_money(ctx), *_about_regions(ctx), *_about_migrations(ctx), *_about_maintenance(ctx)]
    return [*found, *_about_tickets(ctx)]


def _about_money(ctx: Context) -> Iterator[NotificationView]:
    if not access.permits_globally(ctx, "account_access", "read_only") or billing.balance(ctx.db, ctx.account_id) <= 0:
        return
    yield NotificationView(
        body=None,
        entity=None,
        label="Your account is past due",
        message="Your payment is due. Please pay the balance of your account.",
        severity="critical",
        type="payment_due",
        until=None,
        when=None,
    )


def _about_regions(ctx: Context) -> Iterator[NotificationView]:
    for slug in ctx.db.column(_OUTAGES):
        yield NotificationView(
            body=None,
            entity=NotificationEntity(slug, slug, "region", f"/regions/{slug}"),
            label="There is an issue affecting service in this region",
            message=f"We are aware of an issue affecting service in {slug}.",
            severity="major",
            type="outage",
            until=None,
            when=None,
        )


def _about_migrations(ctx: Context) -> Iterator[NotificationView]:
    for row in ctx.db.all(_PENDING, account_id=ctx.account_id):
        if access.permits(ctx, "compute", row.id, "read_only"):
            yield NotificationView(
                body=None,
                entity=NotificationEntity(row.id, row.label, "compute", f"/compute/instances/{row.id}"),
                label="You have a migration pending!",
                message="You have a migration pending! Your Compute must be offline before starting the migration.",
                severity="major",
                type="migration_pending",
                until=None,
                when=None,
            )


def _about_maintenance(ctx: Context) -> Iterator[NotificationView]:
    for row in maintenance.listed(ctx):
        if access.permits(ctx, "compute", row.instance_id, "read_only"):
            entity = NotificationEntity(row.instance_id, row.label, "compute", f"/compute/instances/{row.instance_id}")
            yield NotificationView(
                body=row.reason,
                entity=entity,
                label="Maintenance is scheduled",
                message=f"Maintenance of your Compute is scheduled: {row.type.replace('_', ' ')}.",
                severity="critical",
                type="maintenance",
                until=None,
                when=row.when_,
            )


def _about_tickets(ctx: Context) -> Iterator[NotificationView]:
    for row in support.urgent(ctx):
        abuse = row.nature == "abuse"
        yield NotificationView(
            body=None,
            entity=NotificationEntity(row.id, row.summary, "ticket", f"/support/tickets/{row.id}"),
            label="You have an open abuse ticket!" if abuse else "You have an important ticket open!",
            message=f"Please look at ticket {row.id}: {row.summary}",
            severity="major",
            type="ticket_abuse" if abuse else "ticket_important",
            until=None,
            when=row.opened,
        )
