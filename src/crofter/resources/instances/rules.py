"""Rules for changes of labels and settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crofter.context import Context
from crofter.db import Duplicate
from crofter.errors import Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.instances import costs, store, views
from crofter.resources.instances.backups import schedule
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.shapes import InstanceUpdate, InstanceView
from crofter.resources.instances.store import Instance
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.shapes import UNSET, given

TAKEN = "Label must be unique among your Computes"


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
    refuse(body, _about_schedule(instance, new_schedule), lambda: about_label(ctx, renamed))
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
    return views.view_new(ctx, changed, ips.texts(ctx, instance.id), _tags(ctx, instance))


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
    """Pre-check for requests that already failed validation; other clashes are reported by the unique constraint."""
    if label is not None and store.has_label(ctx, label):
        yield Reason(TAKEN, "label")
