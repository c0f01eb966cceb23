"""What may be done with an instance, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate
from crofter.errors import Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.instances import costs, deployment, states, store
from crofter.resources.instances.backups import schedule
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import Config
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.operations import deletion, power
from crofter.resources.instances.operations.looking import Args
from crofter.resources.instances.operations.power import BootArgs
from crofter.resources.instances.shapes import Alerts, BackupsView, InstanceUpdate, InstanceView, Schedule, Specs
from crofter.resources.instances.store import Instance, Shown
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.shapes import UNSET, Raw, given

TAKEN = "Label must be unique among your Computes"


def views(rows: Sequence[Shown]) -> list[InstanceView]:
    return [view(row) for row in rows]


def view(row: Shown) -> InstanceView:
    # What is kept as it is shown goes from the database to the answer without being looked at.
    return _view(row, Raw(row.alerts), Raw(row.ipv4), Raw(row.tags))


def view_now(ctx: Context, instance_id: int) -> InstanceView:
    """The instance as it is by now."""
    return view(store.shown(ctx, instance_id))


def view_new(instance: Instance, addresses: list[str], labels: list[str]) -> InstanceView:
    """An instance of which everything is known."""
    return _view(instance, Alerts(**instance.alerts), addresses, labels)


def _view(row: Shown | Instance, alerts: Any, addresses: Any, labels: Any) -> InstanceView:
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
        ipv6=f"{ips.slaac(row.region, row.id)}/128",
        label=row.label,
        region=row.region,
        specs=Specs(row.disk, row.memory, row.transfer, row.vcpus, row.gpus),
        status=row.status,  # type: ignore[arg-type]
        tags=labels,
        type=row.type,
        updated=row.updated,
        watchdog_enabled=bool(row.watchdog_enabled),
    )


def update(ctx: Context, instance: Instance, body: InstanceUpdate) -> InstanceView:
    labels = None if body.tags is UNSET or set(body.tags) == set(_tags(ctx, instance)) else body.tags
    if labels is not None and ctx.actor.restricted:
        raise Forbidden
    changes = given(body, "label", "watchdog_enabled")
    if body.group is not UNSET:
        changes["group_label"] = body.group
    if body.alerts is not UNSET:
        changes["alerts"] = {**instance.alerts, **given(body.alerts)}
    new_schedule = _new_schedule(instance, body)
    renamed = body.label if body.label is not UNSET and body.label != instance.label else None
    deployment.refuse(body, _about_schedule(instance, new_schedule), lambda: about_label(ctx, renamed))
    changes |= {f"backup_{name}": value for name, value in new_schedule.items()}
    try:
        ctx.db.update(store.instance, {"id": instance.id}, **changes, updated=ctx.moment)
    except Duplicate:
        raise Invalid(TAKEN, field="label") from None
    if labels is not None:
        tagging.put_on(ctx, store.KIND, instance.id, labels)
    changed = store.one(ctx, instance.id)
    schedule.changed(ctx, instance, changed)
    if changed.label != instance.label:
        costs.rename(ctx, changed)
    record(ctx, "compute_update", store.entity(changed))
    return view_new(changed, ips.texts(ctx, instance.id), _tags(ctx, instance))


def _tags(ctx: Context, instance: Instance) -> list[str]:
    return tags.labels_of(ctx, store.KIND, instance.id)


def _new_schedule(instance: Instance, body: InstanceUpdate) -> dict[str, str]:
    """Sent back as it was shown, a schedule changes nothing, even where there are no backups. Null leaves it to us."""
    if body.backups is UNSET or body.backups.schedule is UNSET:
        return {}
    now = {"day": instance.backup_day, "window": instance.backup_window}
    sent = {name: value for name, value in given(body.backups.schedule).items() if value != now[name]}
    if not instance.backups_enabled:
        return {name: value for name, value in sent.items() if value is not None}
    return {name: value or schedule.UNDECIDED for name, value in sent.items()}


def _about_schedule(instance: Instance, changed: Iterable[str]) -> Iterator[Reason]:
    if not instance.backups_enabled:
        for name in changed:
            yield Reason("Backups must be enabled to set a schedule", f"backups.schedule.{name}")


def about_label(ctx: Context, label: str | None) -> Iterator[Reason]:
    """Asked only of who is refused anyway; the database says it of the others."""
    if label is not None and store.has_label(ctx, label):
        yield Reason(TAKEN, "label")


def delete(ctx: Context, instance: Instance) -> None:
    """Accepted at any time: whatever is going on is stopped, and the instance goes as soon as it can."""
    if instance.status == "deleting":
        return
    costs.end(ctx, instance)
    states.start_job(ctx, deletion.DELETE, instance, Args(instance.id))


def boot(ctx: Context, instance: Instance, config_id: int | None) -> None:
    config = _startable(ctx, instance, config_id)
    if instance.status == "running":
        raise Invalid("Compute is already booted.")
    states.start_job(ctx, power.BOOT, instance, BootArgs(instance.id, config.id), secondary=configs.entity(config))


def reboot(ctx: Context, instance: Instance, config_id: int | None) -> None:
    """An instance that is off is booted."""
    config = _startable(ctx, instance, config_id)
    job = power.REBOOT if instance.status == "running" else power.BOOT
    args = BootArgs(instance.id, config.id)
    states.start_job(ctx, job, instance, args, secondary=configs.entity(config))


def shutdown(ctx: Context, instance: Instance) -> None:
    """Of an instance that is off, a job that finds nothing to do."""
    states.must_be_idle(ctx, instance)
    if instance.status == "offline":
        states.finish_at_once(ctx, power.SHUTDOWN, instance)
    else:
        states.start_job(ctx, power.SHUTDOWN, instance, Args(instance.id))


def _startable(ctx: Context, instance: Instance, config_id: int | None) -> Config:
    """What it will boot with. That it is busy is said before what it lacks: it may have that when it is idle again."""
    known = configs.of(ctx, instance.id)
    if config_id is not None and all(config_id != config.id for config in known):
        raise Invalid("config_id is not valid", field="config_id")
    states.must_be_idle(ctx, instance)
    return bootable(instance, known, config_id)


def bootable(instance: Instance, profiles: Sequence[Config], config_id: int | None = None) -> Config:
    """The profile that was asked for; else the one last booted; else the only one."""
    known = {config.id: config for config in profiles}
    if config_id is not None:
        chosen = known[config_id]
    elif instance.booted_config in known:
        chosen = known[instance.booted_config]
    elif len(known) == 1:
        (chosen,) = known.values()
    elif not known:
        raise Invalid("This Compute has no configuration profile. Create one first.", field="config_id")
    else:
        raise Invalid("Multiple configuration profiles are present. Specify config_id.", field="config_id")
    if not chosen.devices:
        raise Invalid("The configuration profile has no devices to boot from.", field="config_id")
    return chosen
