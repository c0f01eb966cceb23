"""Unordered changes of instances: detected, shown, and reversed where configured."""

from __future__ import annotations

import logging

from msgspec import Struct

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import Session, meta, query, unindexed
from crofter.db.sql import bindparam, func, select
from crofter.drivers.hypervisor import Change, DomainRef, ObservedDomain
from crofter.engine import Operation, Sleep, StepContext, admit, enqueue, step
from crofter.errors import Busy, Invalid
from crofter.events import about, event
from crofter.resources.instances import hypervisor_client, looking, states, store
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.power.operations import WATCHDOG_BOOT, BootArgs
from crofter.resources.instances.power.rules import bootable
from crofter.resources.instances.store import Instance

log = logging.getLogger("crofter")


class WatchArgs(Struct, frozen=True):
    instance_id: int
    by_itself: bool
    """True if the machine went off without an order."""


BOOTS = 5
PERIOD = 15 * clock.MINUTE
_CURSOR = "hypervisor_changes"
_BOOTED = query(
    select(func.count()).where(
        *about(store.KIND, WATCHDOG_BOOT.action), unindexed(event.c.created) > bindparam("since")
    )
)
_ON_HOST = query(
    select(store.instance.c.id).where(store.instance.c.host == bindparam("host")).order_by(store.instance.c.id)
)


def attend(runtime: Runtime) -> int:
    """Look at every machine that went on or off by itself since the last time; how many there were."""
    with runtime.database.read() as db:
        last = int(meta.get(db, _CURSOR, 0))
    seen = 0
    while changes := hypervisor_client.hypervisor(runtime).changes(last):
        for change in changes:
            _look(runtime, change)
            last = change.number
            seen += 1
    return seen


def _look(runtime: Runtime, change: Change) -> None:
    # Observed before the transaction begins: a driver may keep its own tables in the same database.
    observed = hypervisor_client.hypervisor(runtime).observe(change.ref)
    with runtime.database.write() as db:
        meta.put(db, _CURSOR, change.number)
        apply_observation(runtime, db, observed)


def apply_observation(runtime: Runtime, db: Session, observed: ObservedDomain) -> None:
    """Show what is so; boot what went off by itself, unless it does that all the time."""
    instance = store.find_unscoped(Context(runtime, db), observed.ref.id)
    if instance is None or observed.power in ("unknown", "absent") or instance.status == "deleting":
        return
    ctx = system_context(runtime, db, instance)
    try:
        admit(ctx, states.key(instance.id))
    except Busy:
        # A running job may not check the state at its end, and would not know that the guest caused the change.
        # Internal work without a job: a job may result, which is queued behind it.
        args = WatchArgs(instance.id, by_itself=_by_itself(observed))
        enqueue(ctx, WATCH, args, key=states.key(instance.id))
        return
    _show(ctx, instance, observed, by_itself=_by_itself(observed) and instance.status == "running")


def _by_itself(observed: ObservedDomain) -> bool:
    return observed.power == "off" and observed.reason in ("guest", "crashed")


def _show(
    ctx: Context, instance: Instance, observed: ObservedDomain, *, by_itself: bool, after: Operation | None = None
) -> None:
    shown = looking.status(observed)
    if shown != instance.status:
        states.show(ctx, instance.id, shown)
    if by_itself and shown == "offline":
        _bring_back(ctx, store.get_unscoped(ctx, instance.id), after)


def system_context(runtime: Runtime, db: Session, instance: Instance) -> Context:
    """The server acting on an account of its own accord."""
    db.lock_account(instance.account_id)
    return Context.of_system(runtime, db, instance.account_id)


def _bring_back(ctx: Context, instance: Instance, after: Operation | None) -> None:
    if not instance.watchdog_enabled:
        return
    booted = ctx.db.value(
        _BOOTED,
        account_id=instance.account_id,
        entity_id=str(instance.id),
        since=clock.text(ctx.now - PERIOD),
    )
    if int(booted) >= BOOTS:
        log.info("watchdog gives up on instance %s", instance.id)
        return
    try:
        config = bootable(instance, configs.of(ctx, instance.id))
    except Invalid:
        return
    args = BootArgs(instance.id, config.id)
    states.start_job(ctx, WATCHDOG_BOOT, instance, args, secondary=configs.entity(config), after=after)


def look_at(runtime: Runtime, instance_id: int) -> None:
    """Check a machine now."""
    with runtime.database.read() as db:
        instance = store.find_unscoped(Context(runtime, db), instance_id)
    if instance is None or instance.host is None:
        return
    observed = hypervisor_client.hypervisor(runtime).observe(DomainRef(instance.host, instance.id))
    with runtime.database.write() as db:
        apply_observation(runtime, db, observed)


def look_at_host(runtime: Runtime, host: int) -> None:
    """Look at every machine of a host that has come or gone."""
    with runtime.database.read() as db:
        numbers = db.column(_ON_HOST, host=host)
    for number in numbers:
        look_at(runtime, number)


@step()
def watch(work: StepContext) -> Sleep | None:
    """Look once what was under way is over."""
    instance = hypervisor_client.current_or_none(work)
    if instance is None or instance.host is None or instance.status == "deleting":
        return None
    observed = hypervisor_client.hypervisor(work.runtime).observe(hypervisor_client.domain_ref(instance))
    if observed.power == "unknown":
        return hypervisor_client.ask_later(work)
    by_itself = work.args.by_itself and _by_itself(observed)
    work.then(lambda ctx: _show(ctx, instance, observed, by_itself=by_itself, after=work.operation))
    return None


WATCH = Operation(kind="compute_watch", args=WatchArgs, steps=(watch,), failed=looking.look_again, keep=False)
