"""Rules for moves to another plan, host or region."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.instances import costs, neighbours, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.vlans import CAPABILITY as NEXT_GENERATION
from crofter.resources.instances.create.rules import GPUS, NO_TYPE
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.ips import ranges, shares
from crofter.resources.instances.move import operations
from crofter.resources.instances.move.operations import Target
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.shapes import Migrate, Mutate, Resize
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions
from crofter.resources.regions.store import Region
from crofter.resources.types import store as types
from crofter.resources.types.store import Type

TOO_MUCH_DISK = "Compute has allocated more disk than the new service plan allows. Delete or resize disks smaller."
NO_UPGRADE = "This Compute has no upgrade available."


def resize(ctx: Context, instance: Instance, body: Resize) -> None:
    plan = types.find(ctx, body.type)
    if plan is None or not plan.offered or (plan.deprecated and not ctx.runtime.settings.sandbox):
        raise Invalid(NO_TYPE, field="type")
    if plan.slug == instance.type:
        raise Invalid("Compute is already running this service plan.")
    region = regions.find(ctx, instance.region)
    if plan.gpus and region is not None and GPUS not in region.capabilities:
        raise Invalid("The selected plan is not available in this region", field="type")
    if instance.migration_pending:
        raise Invalid("This Compute has a pending migration. Start it first.")
    costs.must_be_paid_up(ctx)
    _must_fit(ctx, instance, plan, auto=body.allow_auto_disk_resize)
    _move(ctx, operations.RESIZE, instance, operations.changed_to(instance, plan, grow=body.allow_auto_disk_resize))


def mutate(ctx: Context, instance: Instance, body: Mutate) -> None:
    plan = _successor(ctx, instance)
    _must_fit(ctx, instance, plan, auto=body.allow_auto_disk_resize)
    _move(ctx, operations.MUTATE, instance, operations.changed_to(instance, plan, grow=body.allow_auto_disk_resize))


def _successor(ctx: Context, instance: Instance) -> Type:
    current = types.find(ctx, instance.type)
    successor = types.find(ctx, current.successor) if current is not None and current.successor else None
    if successor is None:
        raise Invalid(NO_UPGRADE)
    return successor


def _must_fit(ctx: Context, instance: Instance, plan: Type, *, auto: bool) -> None:
    own = disks.of(ctx, instance.id)
    if sum(disk.size for disk in own) <= plan.disk:
        return
    data = operations.data_disk(own)
    # The needs of a raw disk are unknown, so its size stays.
    if not auto or data is None or data.filesystem == "raw" or operations.beside(own, data) >= plan.disk:
        raise Invalid(TOO_MUCH_DISK)


def migrate(ctx: Context, instance: Instance, body: Migrate) -> None:
    """To another region, or to another host of the same one if such a move is pending."""
    region = regions.find(ctx, body.region) if body.region is not None else None
    if body.region is not None:
        refuse(body, _about_region(ctx, instance, region))
    upgrade = _successor(ctx, instance) if body.upgrade else None
    if upgrade is not None:
        _must_fit(ctx, instance, upgrade, auto=False)
    if region is not None:
        secondary = Entity("region", region.slug, region.slug, f"/v4/regions/{region.slug}")
        target = operations.changed_to(instance, upgrade, region=region.slug)
        _move(ctx, operations.MIGRATE_REGION, instance, target, secondary)
    elif instance.migration_pending or upgrade is not None:
        _move(ctx, operations.MIGRATE, instance, operations.changed_to(instance, upgrade))
    else:
        raise Invalid("There is no pending migration for this Compute.")


def _about_region(ctx: Context, instance: Instance, region: Region | None) -> Iterator[Reason]:
    if region is None or not region.offered or "Computes" not in region.capabilities:
        yield Reason("region is not valid", "region")
    elif region.slug == instance.region:
        yield Reason("The Compute is in this region already", "region")
    elif region.status != "ok":
        yield Reason("Cross data center migrations are currently disabled for this region", "region")
    elif instance.gpus and GPUS not in region.capabilities:
        yield Reason("The plan of the Compute is not available in this region", "region")
    elif NEXT_GENERATION in region.capabilities and any(config.networks for config in configs.of(ctx, instance.id)):
        yield Reason("A Compute with a VLAN cannot be migrated to this region", "region")
    else:
        yield from _about_addresses(ctx, instance)
        yield from neighbours.against_leaving(ctx, instance)


def _about_addresses(ctx: Context, instance: Instance) -> Iterator[Reason]:
    """Refuse shared and routed addresses: these cannot be replaced automatically."""
    if shares.sharing(ctx, [instance.id]):
        yield Reason("A Compute that shares an IP address cannot be migrated to another region", "region")
    if ranges.of(ctx, instance.id) is not None:
        yield Reason("A Compute with an IPv6 range cannot be migrated to another region", "region")


def _move(ctx: Context, job: Job, instance: Instance, target: Target, secondary: Entity | None = None) -> None:
    states.must_be_idle(ctx, instance)
    if job is operations.MIGRATE_REGION and instance.migration_pending:
        ctx.db.update(store.instance, {"id": instance.id}, migration_pending=False)
    if job is not operations.MIGRATE:
        record(ctx, f"{job.action}_create", store.entity(instance), secondary)
    states.start_job(ctx, job, instance, operations.arguments(instance, target), secondary=secondary)
