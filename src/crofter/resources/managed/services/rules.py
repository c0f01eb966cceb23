"""Rules of monitored services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.errors import Invalid
from crofter.events import record
from crofter.kinds import Entity, inaccessible
from crofter.resources.managed.credentials import store as credentials
from crofter.resources.managed.services import monitoring, policy, rounds, store
from crofter.resources.managed.services.shapes import ServiceCreate, ServiceUpdate, ServiceView
from crofter.resources.managed.services.store import Service
from crofter.shapes import UNSET, given

MOST = 250
"""Services of one account; in a sandbox as many as one likes."""
LOOKED_AT = ("service_type", "address", "timeout", "body", "region")
"""Fields that affect the result of a probe."""


def views(ctx: Context, rows: Sequence[Service]) -> list[ServiceView]:
    helpful = store.credentials(ctx, [row.id for row in rows])
    return [_view(row, helpful.get(row.id, [])) for row in rows]


def view(ctx: Context, row: Service) -> ServiceView:
    return views(ctx, [row])[0]


def _view(row: Service, helpful: list[int]) -> ServiceView:
    return ServiceView(
        address=row.address,
        body=row.body,
        consultation_group=row.consultation_group,
        created=row.created,
        credentials=helpful,
        id=row.id,
        label=row.label,
        notes=row.notes,
        region=row.region,
        service_type=row.service_type,  # type: ignore[arg-type]
        status=row.status,  # type: ignore[arg-type]
        timeout=row.timeout,
        updated=row.updated,
    )


def create(ctx: Context, body: ServiceCreate) -> ServiceView:
    target = policy.target(ctx, body.service_type, body.address, body.region)
    _check_credentials(ctx, body.credentials)
    if store.count(ctx) >= MOST and not ctx.runtime.settings.sandbox:
        raise Invalid("Account Limit reached. Please open a support ticket.")
    names = ("address", "label", "service_type", "timeout", "body", "consultation_group", "notes", "region")
    service_id = ctx.db.insert(
        store.service,
        account_id=ctx.account_id,
        host=target.host,
        status="pending",
        created=ctx.moment,
        updated=ctx.moment,
        revision=1,
        **given(body, *names),
    )
    store.put_credentials(ctx, service_id, body.credentials)
    rounds.watch(ctx, service_id)
    made = store.reload(ctx, service_id)
    record(ctx, "managed_service_create", entity(made))
    return view(ctx, made)


def update(ctx: Context, service: Service, body: ServiceUpdate) -> ServiceView:
    changes = given(body)
    helpful = changes.pop("credentials", UNSET)
    if any(name in changes for name in LOOKED_AT):
        changes |= _retargeted(ctx, service, changes)
    if helpful is not UNSET:
        _check_credentials(ctx, helpful)
        store.put_credentials(ctx, service.id, helpful)
    store.change(ctx, service.id, updated=ctx.moment, **changes)
    if "revision" in changes and service.status != "disabled":
        rounds.watch(ctx, service.id)
    return view(ctx, store.reload(ctx, service.id))


def _retargeted(ctx: Context, service: Service, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the changes that follow from a new target. A region is removed with the private address that needed it."""
    after = {name: changes.get(name, getattr(service, name)) for name in LOOKED_AT}
    moved = "address" in changes and "region" not in changes and changes["address"] != service.address
    try:
        target = policy.target(ctx, after["service_type"], after["address"], after["region"])
    except Invalid:
        if not moved or service.region is None:
            raise
        after["region"] = None
        target = policy.target(ctx, after["service_type"], after["address"], None)
    if after == {name: getattr(service, name) for name in LOOKED_AT}:
        return {}
    return {"host": target.host, "region": after["region"], "revision": service.revision + 1}


def _check_credentials(ctx: Context, ids: Sequence[int]) -> None:
    if ids and credentials.existing(ctx, ids) != set(ids):
        raise inaccessible("Managed Credential", "credentials")


def enable(ctx: Context, service: Service) -> ServiceView:
    if service.status == "disabled":
        store.change(ctx, service.id, status="pending", revision=service.revision + 1, updated=ctx.moment)
        rounds.watch(ctx, service.id)
    return view(ctx, store.reload(ctx, service.id))


def disable(ctx: Context, service: Service) -> ServiceView:
    if service.status != "disabled":
        monitoring.end_outage(ctx, service, "It is no longer monitored.")
        store.change(
            ctx, service.id, status="disabled", issue_id=None, revision=service.revision + 1, updated=ctx.moment
        )
    return view(ctx, store.reload(ctx, service.id))


def delete(ctx: Context, service: Service) -> None:
    monitoring.end_outage(ctx, service, "It is no longer monitored.")
    store.delete(ctx, service.id)
    record(ctx, "managed_service_delete", entity(service))


def entity(service: Service) -> Entity:
    return Entity("managed_service", service.id, service.label, f"/v4/managed/services/{service.id}")
