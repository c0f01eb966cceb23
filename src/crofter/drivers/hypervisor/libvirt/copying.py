"""Copies of disks: of those that nothing uses, and of those that a running machine writes to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from crofter.drivers.hypervisor.errors import Unreachable
from crofter.drivers.hypervisor.ledger.entries import Disk, Domain, Volume
from crofter.drivers.hypervisor.libvirt import names
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext
from crofter.drivers.hypervisor.libvirt.media import MB
from crofter.drivers.hypervisor.libvirt.volume_transfer import transfer
from crofter.drivers.hypervisor.specs import DiskRef


class CopyBroke(Exception):
    """QEMU gave up copying."""


def user_of(job: JobContext, disk: int) -> int | None:
    """The machine that has the disk open now."""
    with job.hosts.store.reading() as ledger:
        entry = ledger.find(Disk, disk)
        user = None if entry is None else ledger.user(entry)
    if user is None:
        return None
    domain = job.host(user.host).domain(user.id)
    return user.id if domain is not None and domain.isActive() else None


def copy_disk(job: JobContext, disk: DiskRef, target: HostClient, name: str, size: int) -> None:
    """The disk's bytes as they are now, in a new volume on any host."""
    source, user = job.host(disk.host), user_of(job, disk.id)
    if user is None:
        transfer(source, target, names.disk(disk.id), name, size * MB, job.check)
        return
    if source.entry.id == target.entry.id:
        push(job, source, user, {disk.id: target.path(name)})
        made = target.volume(name)
        if made.info()[1] < size * MB:
            made.resize(size * MB)
        return
    part = job.scratch(names.disk(disk.id))
    push(job, source, user, {disk.id: source.path(part)})
    try:
        transfer(source, target, part, name, size * MB, job.check)
    finally:
        source.drop(part)


def push(job: JobContext, host: HostClient, user: int, targets: dict[int, str], *, volumes: bool = False) -> None:
    """Copy disks, or volumes, of a running machine into files, all as they are at one moment."""
    domain = host.domain(user)
    with job.hosts.store.reading() as ledger:
        machine = ledger.find(Domain, user)
    if domain is None or machine is None or machine.doc is None or machine.doc.active is None:
        raise Dropped
    with _alone(job, user):
        _end_earlier(job, domain, machine.doc)
        for path in targets.values():
            host.drop(path.rpartition("/")[2], volumes=volumes)
        described = _described(domain, host, targets, volumes=volumes)
        _thaw(domain)  # a process that died over this job may have left it frozen, and then it cannot be frozen anew
        try:
            _freeze(domain)
            _begin(domain, described)
        finally:
            _thaw(domain)
        _await_copy(job, domain)
    pool = host.pool(host.work_connection, volumes=volumes)
    pool.refresh()


@contextmanager
def _alone(job: JobContext, machine: int) -> Iterator[None]:
    """Copy a machine once at a time in this process: libvirt reports the result of the last copy only."""
    lock = job.hosts.copy_lock(machine)
    while not lock.acquire(timeout=0.2):
        job.check()
    try:
        yield
    finally:
        lock.release()


def _end_earlier(job: JobContext, domain: Any, machine: Domain) -> None:
    """A machine is copied once at a time. A copy for a process that has died is broken off; others are waited for."""
    while has_job(domain):
        job.check()
        if _is_backup(domain) and not _is_copied(job, machine):
            abort(domain)
        time.sleep(0.05)


def has_job(domain: Any) -> bool:
    """True if libvirt runs a job on the machine, such as a backup or a migration."""
    try:
        return bool(domain.jobInfo()[0] != virt.VIR_DOMAIN_JOB_NONE)
    except LibvirtError as error:
        if not _is_between(error):
            raise
        return True


def _is_backup(domain: Any) -> bool:
    try:
        return domain.jobStats().get("operation") in (None, virt.VIR_DOMAIN_JOB_OPERATION_BACKUP)
    except LibvirtError as error:
        if not _is_between(error):
            raise
        return False


def _is_between(error: Any) -> bool:
    """True if a backup is beginning or ending and libvirt cannot report progress. No error code is specific to this
    state.
    """
    return code(error) == virt.VIR_ERR_INTERNAL_ERROR and "backup job data missing" in str(error)


def _is_copied(job: JobContext, machine: Domain) -> bool:
    """True if a job of a live process may be copying the machine."""
    own = {(Disk.kind, number) for number in machine.spec.disks} | {(Volume.kind, number) for number in machine.plugged}
    if machine.active is not None:
        own |= {(Disk.kind, number) for number in machine.active.disks}
    with job.hosts.store.reading() as ledger:
        readers = [row for row in ledger.jobs() if row.id != job.number and row.meets(own, set())]
        return bool(ledger.living(readers))


def abort(domain: Any) -> None:
    try:
        domain.abortJob()
    except LibvirtError as error:
        if code(error) != virt.VIR_ERR_OPERATION_INVALID:  # the job has ended, or cannot be cancelled yet
            raise


def _begin(domain: Any, described: str) -> None:
    try:
        domain.backupBegin(described, None)
    except LibvirtError as error:
        if code(error) != virt.VIR_ERR_OPERATION_INVALID:
            raise
        raise Unreachable("The machine is being copied already.") from None  # since the moment before: tried again


def _described(domain: Any, host: HostClient, targets: dict[int, str], *, volumes: bool) -> str:
    """libvirt's word for a backup: which of the machine's drives go where."""
    wanted = {}
    for number, path in targets.items():
        file = host.volume_path(number) if volumes else host.path(names.disk(number))
        wanted[file] = path
    drives = ""
    for target, file in drives_of(domain):
        if file in wanted:
            drives += f"<disk name='{target}' type='file'><target file='{wanted[file]}'/><driver type='qcow2'/></disk>"
        else:
            drives += f"<disk name='{target}' backup='no'/>"
    return f"<domainbackup><disks>{drives}</disks></domainbackup>"


def drives_of(domain: Any) -> list[tuple[str, str]]:
    """Each drive that a machine has now: its name inside, and its file."""
    from xml.etree import ElementTree  # noqa: PLC0415 - only jobs need it

    described = ElementTree.fromstring(domain.XMLDesc(0))
    drives = []
    for element in described.findall("./devices/disk"):
        target, source = element.find("target"), element.find("source")
        if target is not None and source is not None:
            drives.append((target.get("dev", ""), source.get("file", "")))
    return drives


def _freeze(domain: Any) -> None:
    """Have the guest write down what it holds in memory. Without an agent the copy is as after a power cut."""
    with suppress(LibvirtError):
        domain.fsFreeze()


def _thaw(domain: Any) -> None:
    """Also where freezing seems to have failed: the guest may have frozen, and only the answer got lost."""
    with suppress(LibvirtError):
        domain.fsThaw()


def _await_copy(job: JobContext, domain: Any) -> None:
    while has_job(domain):
        try:
            job.check()
        except Dropped:
            abort(domain)
            raise
        time.sleep(0.05)
    done = domain.jobStats(virt.VIR_DOMAIN_JOB_STATS_COMPLETED)
    if done.get("type") == virt.VIR_DOMAIN_JOB_NONE:
        raise Unreachable("Another process copies the machine since, so nobody knows how this copy ended: tried again.")
    if done.get("type") not in (None, virt.VIR_DOMAIN_JOB_COMPLETED):
        raise CopyBroke(str(done.get("errmsg", done)))
