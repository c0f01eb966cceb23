"""Response bodies of instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.resources.instances import store
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.shapes import Alerts, BackupsView, InstanceView, Schedule, Specs
from crofter.resources.instances.store import Instance, Shown
from crofter.shapes import Raw


def views(ctx: Context, rows: Sequence[Shown]) -> list[InstanceView]:
    return [view(ctx, row) for row in rows]


def view(ctx: Context, row: Shown) -> InstanceView:
    # Stored JSON in its displayed form is copied to the response without parsing.
    return _view(ctx, row, Raw(row.alerts), Raw(row.ipv4), Raw(row.tags))


def view_now(ctx: Context, instance_id: int) -> InstanceView:
    """Return the instance's present state."""
    return view(ctx, store.shown(ctx, instance_id))


def view_new(ctx: Context, instance: Instance, addresses: list[str], labels: list[str]) -> InstanceView:
    """An instance of which everything is known."""
    return _view(ctx, instance, Alerts(**instance.alerts), addresses, labels)


def _view(ctx: Context, row: Shown | Instance, alerts: Any, addresses: Any, labels: Any) -> InstanceView:
    planned = Schedule(row.backup_day, row.backup_window)  # type: ignore[arg-type]
    last = row.last_successful
    return InstanceView(
        alerts=alerts,
        backups=BackupsView(last is not None, bool(row.backups_enabled), last, planned),
        created=row.created,
        group=row.group_label,
        hypervisor="kvm",
        id=row.id,
        image=row.image,
        ipv4=addresses,
        ipv6=f"{ips.slaac(ctx, row.region, row.id)}/128",
        label=row.label,
        region=row.region,
        specs=Specs(row.disk, row.memory, row.transfer, row.vcpus, row.gpus),
        status=row.status,  # type: ignore[arg-type]
        tags=labels,
        type=row.type,
        updated=row.updated,
        watchdog_enabled=bool(row.watchdog_enabled),
    )
