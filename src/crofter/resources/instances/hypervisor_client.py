"""How steps use the hypervisor: they order something, and ask until it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import inf

from crofter.context import Context, Runtime
from crofter.drivers.hypervisor import (
    BackupRef,
    DiskRef,
    DomainRef,
    DomainSpec,
    Hypervisor,
    ImageRef,
    Network,
    Order,
    Progress,
    Refused,
    Stale,
    Unreachable,
)
from crofter.engine import Failed, Sleep, StepContext
from crofter.engine.queue import Fenced
from crofter.resources.instances import neighbours, store
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.disks.store import Disk
from crofter.resources.instances.ips import shares
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.networks import Networks
from crofter.resources.instances.store import Instance

ASK_AGAIN, ASK_SELDOM = 5.0, 300.0
"""Seconds of service time between polls of an unreachable host: first and longest."""

NEWS = 1.0
"""Seconds of service time after which the owner hears how far it is."""

STANDING_POLL = 0.25
"""Real seconds between polls of real work while the service clock is frozen."""

SEEN_AS = {"rescue_reboot": "compute_reboot", "rescue_boot": "compute_boot", "backups_automatic": "compute_snapshot"}
"""Operations that their owner sees under another name."""

MOVES = ("compute_migrate", "compute_migrate_datacenter", "compute_resize", "compute_mutate")
"""Operations that move an instance to another host and report a remaining time."""

Call = Callable[[Order], Progress]
Ref = DomainRef | DiskRef | BackupRef | ImageRef


def hypervisor(runtime: Runtime) -> Hypervisor:
    return runtime.hypervisor


def order(work: StepContext) -> Order:
    """An operation on an instance is called what its owner sees it as."""
    return Order(
        operation=work.id,
        step=work.step.name,
        fence=work.epoch,
        action=SEEN_AS.get(work.operation.kind, work.operation.kind),
        until=_until(work),
    )


def _until(work: StepContext) -> int:
    """How far the hypervisor's part of the work is when this step is done: wholly, if only looking is left."""
    steps = work.operation.steps
    left = steps[steps.index(work.step) + 1 :]
    if not any(step.external and step.name != "look" for step in left):
        return 100
    return work.operation.percent(work.step, 100)


def ask_later(work: StepContext) -> Sleep:
    """Return the pause before the next poll of an unreachable host, growing with each try."""
    times = int(work.vars.get("away", 0))
    work.vars["away"] = times + 1
    return Sleep(min(ASK_SELDOM, ASK_AGAIN * 2 ** min(times, 10)))


def carry_out(work: StepContext, calls: Iterable[Call]) -> Sleep | None:
    """Give these orders; done when all are. A step that is repeated gives the same ones, which begins nothing twice."""
    given = order(work)
    try:
        reports = [call(given) for call in calls]
    except Stale as error:
        raise Fenced(error.reason) from error
    except Unreachable:
        return ask_later(work)
    except Refused as error:
        raise Failed(error.reason) from error
    work.vars.pop("away", None)
    for report in reports:
        if report.failure is not None:
            raise Failed(report.failure, percent=report.reached)
    waiting = [report for report in reports if not report.done]
    if not waiting:
        return None
    slowest = max(waiting, key=lambda report: report.remaining)
    percent = sum(report.percent for report in reports) / len(reports)
    rate = None if slowest.rate is None else f"{slowest.rate:.2f} MB/s"
    foreseen = work.operation.kind in MOVES and slowest.remaining != inf
    left = _whole(work, percent, slowest.remaining) if foreseen else None
    limits = [report.reached for report in reports if report.reached is not None]
    work.progress(percent, rate, left, at_most=min(limits, default=100))
    return _waiting(work, slowest)


def move(work: StepContext, source: int, *, live: bool = False) -> Sleep | None:
    """Carry the machine and its disks from a host to the one that was chosen, noted down as ``to``."""
    with work.read() as ctx:
        instance = store.get_unscoped(ctx, work.args.instance_id)
        refs = tuple(DiskRef(source, disk.id) for disk in disks.of(ctx, instance.id))
    ref, target = domain_ref(instance), int(work.vars["to"])
    driver = hypervisor(work.runtime)
    return carry_out(work, [lambda order: driver.ensure_moved(ref, target, refs, order, live=live)])


def _waiting(work: StepContext, slowest: Progress) -> Sleep:
    pause = _pause(slowest.remaining)
    if slowest.real_time and work.runtime.clock.setting.mode == "frozen":
        time.sleep(min(pause, STANDING_POLL))  # due again at once, which would keep a processor busy
    return Sleep(pause, real_time=slowest.real_time)


def _whole(work: StepContext, percent: float, remaining: float) -> float:
    """How long all of the operation will still take, if the rest goes as fast as this step."""
    now, then = work.operation.percent(work.step, percent), work.operation.percent(work.step, 100)
    return remaining * (100 - now) / max(1, then - now)


def _pause(remaining: float) -> float:
    """Return the pause before the next poll: short work is polled at its expected end, long work more often."""
    return max(0.05, min(remaining, max(NEWS, remaining / 10), ASK_SELDOM if remaining == inf else remaining))


def place(
    work: StepContext, region: str, instance_id: int, spec: DomainSpec, *, avoid: int | None = None
) -> int | Sleep:
    """A host with space for the machine; or wait, while none of the region answers."""
    try:
        return hypervisor(work.runtime).place(region, instance_id, spec, avoid=avoid)
    except Unreachable:
        return ask_later(work)
    except Refused as error:
        raise Failed(error.reason) from error


def remove(work: StepContext, refs: Iterable[Ref]) -> Sleep | None:
    """Remove these objects from all hosts."""
    driver = hypervisor(work.runtime)
    return carry_out(work, [lambda order, ref=ref: driver.ensure_gone(ref, order) for ref in refs])  # type: ignore[misc]


def current(work: StepContext) -> Instance:
    """The instance that this is about, as it is now."""
    with work.read() as ctx:
        return store.get_unscoped(ctx, work.args.instance_id)


def current_or_none(work: StepContext) -> Instance | None:
    """Return the instance, or None."""
    with work.read() as ctx:
        return store.find_unscoped(ctx, work.args.instance_id)


def domain_ref(instance: Instance) -> DomainRef:
    if instance.host is None:
        raise Failed("The instance was never placed on a host.")
    return DomainRef(instance.host, instance.id)


def disk_ref(instance: Instance, disk: Disk | int) -> DiskRef:
    if instance.host is None:
        raise Failed("The instance was never placed on a host.")
    return DiskRef(instance.host, disk if isinstance(disk, int) else disk.id)


def backup_ref(backup: Backup) -> BackupRef:
    if backup.host is None:
        raise Failed("The backup was never begun.")
    return BackupRef(backup.host, backup.id)


def network_of(ctx: Context, instance: Instance) -> Network:
    """The addresses that the machine may use, and the filter in front of it."""
    # Read first: a change that commits in between has a later generation, and an operation of its own.
    generation = store.network_generation(ctx, instance.id)
    own = ips.of(ctx, instance.id)
    slaac = ips.slaac(ctx, instance.region, instance.id)
    usable = (*(held.address for held in own), slaac, *shares.usable(ctx, instance.id))
    known = Networks(ctx)
    around = [known.around(held.address, held.region, public=held.public) for held in own]
    guest = tuple(f"{held.address}/{network.prefix}" for held, network in zip(own, around, strict=True))
    gateway = around[0].gateway if around else None
    return Network(usable, neighbours.filter_rules(ctx, instance), generation, guest, gateway)


def apply_network(work: StepContext, instance: Instance) -> Call:
    """Apply addresses and filter. If a later operation has done so already, there is nothing left to do.

    They are read when the call is made, so after the machine was defined by the call before: a change that found no
    machine to apply itself to is among what is read.
    """

    def call(given: Order) -> Progress:
        with work.read() as ctx:
            network = network_of(ctx, instance)
        try:
            return hypervisor(work.runtime).ensure_network(domain_ref(instance), network, given)
        except Stale:
            return Progress()

    return call
