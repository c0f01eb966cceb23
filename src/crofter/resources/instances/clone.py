"""Copying an instance's disks and profiles onto another."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from crofter.context import Context
from crofter.db import query
from crofter.db.sql import func, select
from crofter.engine import Operation, Sleep, StepContext, tx_step
from crofter.errors import Forbidden, Invalid, Reason
from crofter.events import about, event
from crofter.resources.instances import purging, rules, states, store, views
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import KEPT, Config
from crofter.resources.instances.configs.vlans import CAPABILITY
from crofter.resources.instances.create import operations as deploying
from crofter.resources.instances.create import rules as create
from crofter.resources.instances.create.operations import DiskPlan, define_if_new, make_disks
from crofter.resources.instances.disks import rules as disk_rules
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.looking import look, look_again
from crofter.resources.instances.power.operations import place
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.shapes import Clone, InstanceCreate, InstanceView
from crofter.resources.instances.states import Job
from crofter.resources.instances.store import Instance
from crofter.resources.regions import store as regions
from crofter.resources.regions.store import Region
from crofter.resources.tags import store as tags
from crofter.resources.users import access

MOST = 5


class CloneArgs(Struct, frozen=True):
    instance_id: int
    """The instance that is copied onto."""
    disks: list[DiskPlan]
    configs: list[int]
    """Profiles created for the clone."""


# ---- the operation --------------------------------------------------------------------------------------------------


@tx_step(weight=1)
def begin(ctx: Context, work: StepContext) -> Sleep | None:
    states.show(ctx, work.args.instance_id, "cloning")
    return None


def unmade(ctx: Context, work: StepContext, reason: str) -> None:
    """Remove the disks that could not be copied; the rest of the target is unchanged."""
    instance = store.find_unscoped(ctx, work.args.instance_id)
    if instance is None:
        return
    for config_id in work.args.configs:
        ctx.db.delete(configs.config, id=config_id)
    purging.forget_disks(ctx, instance, [plan.disk_id for plan in work.args.disks])
    look_again(ctx, work, reason)


CLONE = Job(
    operation=Operation(
        kind="compute_clone",
        args=CloneArgs,
        steps=(begin, place, make_disks, define_if_new, look),
        failed=unmade,
    ),
    action="compute_clone",
    accepts=("offline",),
    later=("cloning",),
)

JOBS = (CLONE,)


# ---- the rules ------------------------------------------------------------------------------------------------------

_UNDER_WAY = query(
    select(func.count()).where(*about(store.KIND, CLONE.action), event.c.status.in_(("scheduled", "started")))
)


class Own(Struct):
    """Disks and profiles that can be copied, by id."""

    disks: dict[int, Disk]
    configs: dict[int, Config]


def clone(ctx: Context, source: Instance, body: Clone) -> InstanceView:
    if not access.permits(ctx, store.KIND, source.id, "read_write"):
        raise Forbidden  # a clone is everything that is on it
    own = Own(
        {disk.id: disk for disk in disks.of(ctx, source.id)},
        {config.id: config for config in configs.of(ctx, source.id)},
    )
    _check(ctx, source, body, own)
    copied = _chosen(body, own)
    if ctx.db.value(_UNDER_WAY, account_id=ctx.account_id, entity_id=str(source.id)) >= MOST:
        raise Invalid(f"At most {MOST} clones of a Compute can be under way at once.")
    target = _existing(ctx, body, own) if body.compute_id is not None else _new(ctx, source, body)
    states.must_be_idle(ctx, source)
    needed = sum(disk.size for disk in copied[0])
    if disks.reserved(ctx, target.id) + needed > target.disk:
        raise Invalid(disk_rules.NO_SPACE)
    args = _written_down(ctx, source, target, *copied)
    # Seen as something that the source does, though it is the target that is kept busy.
    states.start_job(ctx, CLONE, target, args, entity=store.entity(source), secondary=store.entity(target))
    return views.view_now(ctx, target.id)


def _check(ctx: Context, source: Instance, body: Clone, own: Own) -> None:
    choice = _about_choice(body, own)
    if body.compute_id is not None:
        refuse(body, [*_about_existing(source, body), *choice])
        return
    refuse(body, [*_about_new(ctx, body, own), *choice], lambda: rules.about_label(ctx, body.label))


def _about_new(ctx: Context, body: Clone, own: Own) -> Iterator[Reason]:
    plan_type, region, _ = create.offer(ctx, body.type or "", body.region or "")
    for reason in create.about_place(ctx, plan_type, region):
        missing = getattr(body, reason.head) is None
        yield Reason(f"{reason.head} is required", reason.head) if missing else reason
    yield from _about_networks(region, own)


def _about_existing(source: Instance, body: Clone) -> Iterator[Reason]:
    if body.compute_id == source.id:
        yield Reason("A Compute cannot be cloned onto itself", "compute_id")
    for field in ("region", "type", "label", "backups_enabled"):
        if getattr(body, field) is not None:
            yield Reason("Cannot be combined with compute_id", field)


def _about_networks(region: Region | None, own: Own) -> Iterator[Reason]:
    uses_vlan = any(config.networks for config in own.configs.values())
    if uses_vlan and region is not None and CAPABILITY not in region.capabilities:
        yield Reason("VLANs are not available in this region", "region")


def _about_choice(body: Clone, own: Own) -> Iterator[Reason]:
    if set(body.disks or ()) - own.disks.keys():
        yield Reason("disks is not valid", "disks")
    if set(body.configs or ()) - own.configs.keys():
        yield Reason("configs is not valid", "configs")


def _chosen(body: Clone, own: Own) -> tuple[list[Disk], list[Config]]:
    """Return the chosen profiles and disks: all profiles by default, and always the disks of chosen profiles."""
    wanted = set(own.configs if body.configs is None else body.configs)
    numbers = {number for config_id in wanted for number in own.configs[config_id].disks} | set(body.disks or ())
    return [own.disks[number] for number in sorted(numbers)], [own.configs[number] for number in sorted(wanted)]


def _existing(ctx: Context, body: Clone, own: Own) -> Instance:
    assert body.compute_id is not None
    ctx.runtime.kinds.require(ctx, store.KIND, [body.compute_id], "read_write", field="compute_id")
    target = store.one(ctx, body.compute_id)
    if target.status == "running":
        raise Invalid("The Compute that is cloned onto must be powered off.", field="compute_id")
    states.must_be_idle(ctx, target, CLONE.accepts)
    refuse(body, _about_networks(regions.find(ctx, target.region), own))
    return target


def _new(ctx: Context, source: Instance, body: Clone) -> Instance:
    wanted = InstanceCreate(
        type=body.type or "",
        region=body.region or "",
        label=body.label,
        group=body.group or "",
        backups_enabled=body.backups_enabled,
        private_ip=body.private_ip,
        tags=tags.labels(ctx, store.KIND, [source.id]).get(source.id, []),
    )
    target, _ = create.begin(ctx, wanted)
    ctx.db.update(store.instance, {"id": target.id}, image=source.image)
    return target


def _written_down(
    ctx: Context, source: Instance, target: Instance, chosen: list[Disk], profiles: list[Config]
) -> CloneArgs:
    numbers: dict[int, int] = {}
    plans: list[DiskPlan] = []
    for disk in chosen:
        made = disks.insert(
            ctx, target.id, label=disk.label, size=disk.size, filesystem=disk.filesystem, image=disk.image
        )
        numbers[disk.id] = made.id
        plans.append(DiskPlan(made.id, from_disk=disk.id, disk_host=source.host))
    made_configs = []
    for config in profiles:
        kept = {name: getattr(config, name) for name in KEPT}
        if config.memory_limit == source.memory:  # a limit at the plan's maximum stays at the maximum
            kept["memory_limit"] = target.memory
        made_configs.append(deploying.config_again(ctx, target, kept, numbers).id)
    return CloneArgs(target.id, plans, made_configs)
