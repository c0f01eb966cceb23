"""Moving machines to other hosts: those that are off by copying their disks, those that are on while they run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.entries import Disk, Domain
from crofter.drivers.hypervisor.libvirt import migration, names
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, is_broken_connection, is_passing
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.hosts import HostLost
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext, TakenOver
from crofter.drivers.hypervisor.libvirt.machine_jobs import put_definition
from crofter.drivers.hypervisor.libvirt.media import MB
from crofter.drivers.hypervisor.libvirt.migration import Route
from crofter.drivers.hypervisor.libvirt.performing import Work
from crofter.drivers.hypervisor.libvirt.sampling import Sampling
from crofter.drivers.hypervisor.libvirt.volume_transfer import transfer
from crofter.drivers.hypervisor.specs import DiskRef, DomainRef

log = logging.getLogger("crofter")

GIVES_UP = (Dropped, Refused, LibvirtError, migration.MigrationFailed)


def move(ref: DomainRef, to: int, disks: tuple[DiskRef, ...], sampling: Sampling) -> Work:
    def work(job: JobContext) -> None:
        target, entry = job.host(to), job.entry(Domain, ref.id)
        if entry.host != to:
            source = job.host(ref.host)
            if source.platform.architecture != target.platform.architecture:
                raise Refused("The two hosts have different processors.")
            if entry.doc is not None and entry.doc.on:
                _move_running(job, Route(source, target, ref.id), disks, sampling)
            else:
                _move_idle(job, source, target, ref, disks)
        _define_there(job, target, ref)
        try:
            _leave(job.host(ref.host), ref, disks)
        except HostLost:
            return  # and with it all that was left there

    return work


def _define_there(job: JobContext, target: HostClient, ref: DomainRef) -> None:
    """Define the settings of the machine's next boot on the target. The move counts as done even if this fails."""
    doc = job.entry(Domain, ref.id).doc
    if doc is None or not doc.on:
        return
    try:
        put_definition(job, target, ref.id, doc.spec)
    except (LibvirtError, Refused) as error:
        if isinstance(error, LibvirtError) and (is_broken_connection(error) or is_passing(error)):
            raise
        log.warning("machine %s has moved, and was not defined anew: %s", ref.id, error)


def _move_idle(
    job: JobContext, source: HostClient, target: HostClient, ref: DomainRef, disks: tuple[DiskRef, ...]
) -> None:
    try:
        for disk in disks:
            _transfer_disk(job, source, target, disk.id)
        put_definition(job, target, ref.id, job.planned(Domain, ref.id).spec)
        job.settle_now()  # from here on it is there
    except GIVES_UP as error:
        if _goes_on(job, error):
            raise
        _leave(target, ref, disks)
        raise


def _goes_on(job: JobContext, error: Exception) -> bool:
    """True if the job continues after this error: it is retried, or another process has taken over."""
    if isinstance(error, LibvirtError):
        if is_broken_connection(error) or is_passing(error):
            return True
        try:
            job.check()
        except TakenOver:
            return True
        except Dropped:
            return False
    return False


def _transfer_disk(job: JobContext, source: HostClient, target: HostClient, disk: int) -> None:
    doc = job.entry(Disk, disk).doc
    if doc is None:
        raise Dropped
    transfer(source, target, names.disk(disk), names.disk(disk), doc.size * MB, job.check)


def _move_running(job: JobContext, route: Route, disks: tuple[DiskRef, ...], sampling: Sampling) -> None:
    try:
        if not migration.has_arrived(route):
            domain = migration.ready_to_go(job, route)
            sampling.last(route.source, route.number, domain)  # its counters begin anew over there
            attached = migration.attached(route, domain)
            for disk in disks:
                if disk.id not in attached:
                    _transfer_disk(job, route.source, route.target, disk.id)
            migration.migrate(job, route, domain, [disk.id for disk in disks if disk.id in attached])
        sampling.begin_anew(route.number)
        job.settle_now()
    except GIVES_UP as error:
        if _goes_on(job, error):
            raise
        _stay(route, disks)
        raise


def _stay(route: Route, disks: tuple[DiskRef, ...]) -> None:
    """Restore the state of the ledger after a failed move: the machine must never run on both hosts.

    Other work on the machine waits until this job has ended.
    """
    while True:
        try:
            if migration.has_arrived(route):
                migration.bring_back(route)
        except LibvirtError as error:
            if is_broken_connection(error):
                time.sleep(1)
                continue
            log.error("machine %s could not be brought back, and loses its power: %s", route.number, error)
        except Unreachable:
            time.sleep(1)
            continue
        try:
            return _leave(route.target, DomainRef(route.source.entry.id, route.number), disks)
        except (LibvirtError, Unreachable):
            time.sleep(1)


def _leave(host: HostClient, ref: DomainRef, disks: tuple[DiskRef, ...]) -> None:
    """Remove the machine from the source. Leftovers are retried, and finally left to the periodic cleanup."""
    calls: list[Callable[[], None]] = [partial(host.undefine, ref.id)]
    calls += [partial(host.drop, names.disk(disk.id)) for disk in disks]
    for clear in calls:
        for last in (False, False, True):
            try:
                clear()
                break
            except LibvirtError as error:
                if is_broken_connection(error):
                    raise
                if last:
                    log.warning("host %s does not let go of machine %s: %s", host.entry.id, ref.id, error)
                time.sleep(0.1)
