"""Jobs of the verbs on disks, backups and images."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Image
from crofter.drivers.hypervisor.libvirt import blank, helper, names, scripts
from crofter.drivers.hypervisor.libvirt.binding import virt
from crofter.drivers.hypervisor.libvirt.copying import copy_disk, push, user_of
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext
from crofter.drivers.hypervisor.libvirt.media import MB
from crofter.drivers.hypervisor.libvirt.performing import Work
from crofter.drivers.hypervisor.libvirt.volume_transfer import at_most_once_a_second, transfer
from crofter.drivers.hypervisor.specs import (
    BackupRef,
    DiskRef,
    DiskSpec,
    Empty,
    FromBackup,
    FromDisk,
    FromImage,
    FromUpload,
    ImageRef,
    ImageSource,
    Seed,
    Source,
)

EXT = ("ext3", "ext4")


def make(ref: DiskRef, spec: DiskSpec, source: Source) -> Work:
    def work(job: JobContext) -> None:
        host, name = job.host(ref.host), names.disk(ref.id)
        try:
            _fill(job, host, name, spec, source)
            job.check()
        except Dropped:
            host.drop(name)
            raise

    return work


def _fill(job: JobContext, host: HostClient, name: str, spec: DiskSpec, source: Source) -> None:
    match source:
        case FromImage(kept=ImageRef() as kept):
            transfer(job.host(kept.host), host, names.image(kept.id), name, spec.size * MB, job.check)
        case FromImage():
            _from_catalogue(job, host, name, spec, source)
        case FromDisk():
            copy_disk(job, source.disk, host, name, spec.size)
        case FromBackup():
            _from_backup(job, host, name, spec, source)
        case Empty():
            blank.make(job, host, name, spec)


def _from_catalogue(job: JobContext, host: HostClient, name: str, spec: DiskSpec, source: FromImage) -> None:
    known = job.media.image(source.image)
    if known is None:
        raise Refused(f"The image {source.image} is not on this cloud's hosts.")
    base = host.have(job.media.image_file(source.image), "qcow2", known.size * MB)
    host.copy(base, name, spec.size * MB)


def _from_backup(job: JobContext, host: HostClient, name: str, spec: DiskSpec, source: FromBackup) -> None:
    backup = job.entry(Backup, source.backup.id).doc
    saved = next((disk for disk in backup.disks if disk.disk == source.disk), None) if backup else None
    if saved is None:
        raise Dropped
    if saved.filesystem == "swap":
        blank.make(job, host, name, DiskSpec(spec.size, "swap"))
        return
    file = names.saved(source.backup.id, source.disk)
    transfer(job.host(source.backup.host), host, file, name, max(spec.size, saved.size) * MB, job.check)
    if spec.size < saved.size:
        _resize(job, host, name, saved.size, spec.size, saved.filesystem)


def resize(ref: DiskRef, size: int) -> Work:
    def work(job: JobContext) -> None:
        host, doc, before = job.host(ref.host), job.planned(Disk, ref.id), job.entry(Disk, ref.id).doc
        if before is None:
            raise Dropped
        if doc.filesystem == "swap":
            blank.make(job, host, names.disk(ref.id), DiskSpec(size, "swap"))
            return
        used = _resize(job, host, names.disk(ref.id), before.size, size, doc.filesystem)
        job.becomes["disk", ref.id] = replace(doc, used=doc.used if used is None else used)

    return work


def _resize(job: JobContext, host: HostClient, name: str, before: int, size: int, filesystem: str) -> int | None:
    """The file system first, if the disk becomes smaller, and else the disk; what its files need now, in MB.

    ``before`` is its size by the ledger. The volume may be larger already, if a process has died over this.
    """
    volume, used = host.volume(name), None
    if volume.info()[1] < size * MB:
        volume.resize(size * MB)
    if filesystem in EXT:
        try:
            script = scripts.resize_script(size, grows=before < size)
            used = _needed(helper.run(job, host, name, script))
        except helper.HelperFailed as error:
            if before < size and scripts.left_alone(error.answer):
                job.check()
                host.volume(name).resize(before * MB, virt.VIR_STORAGE_VOL_RESIZE_SHRINK)
            raise
    if before > size:
        job.check()
        host.volume(name).resize(size * MB, virt.VIR_STORAGE_VOL_RESIZE_SHRINK)
    return used


def _needed(answer: str) -> int | None:
    blocks = re.search(r"minimum size of the filesystem: (\d+)", answer)
    block = re.search(r"Block size:\s+(\d+)", answer)
    return int(blocks[1]) * int(block[1]) // MB + 1 if blocks and block else None


def seed(ref: DiskRef, written: Seed) -> Work:
    def work(job: JobContext) -> None:
        script = scripts.seed_script(written)
        helper.run(job, job.host(ref.host), names.disk(ref.id), script)

    return work


def remove(ref: DiskRef) -> Work:
    def work(job: JobContext) -> None:
        job.host(job.entry(Disk, ref.id).host).drop(names.disk(ref.id))

    return work


# ---- backups and images ---------------------------------------------------------------------------------------------


def save(ref: BackupRef) -> Work:
    def work(job: JobContext) -> None:
        host, backup = job.host(ref.host), job.planned(Backup, ref.id)
        files = {disk.disk: names.saved(ref.id, disk.disk) for disk in backup.disks if disk.filesystem != "swap"}
        try:
            _save_all(job, host, files)
        except Dropped:
            for name in files.values():
                host.drop(name)
            raise

    return work


def _save_all(job: JobContext, host: HostClient, files: dict[int, str]) -> None:
    users: dict[int | None, dict[int, str]] = {}
    for disk, name in files.items():
        users.setdefault(user_of(job, disk), {})[disk] = name
    for user, disks in users.items():
        if user is not None:
            push(job, host, user, {disk: host.path(name) for disk, name in disks.items()})
            continue
        for disk, name in disks.items():
            doc = job.entry(Disk, disk).doc
            if doc is None:
                raise Dropped
            host.copy(names.disk(disk), name, doc.size * MB)
            job.check()


def remove_backup(ref: BackupRef) -> Work:
    def work(job: JobContext) -> None:
        host = job.host(job.entry(Backup, ref.id).host)
        for name in host.listed():
            if name.startswith(f"bk{ref.id}-d"):
                host.drop(name)

    return work


def make_image(ref: ImageRef, source: ImageSource) -> Work:
    def work(job: JobContext) -> None:
        host, name = job.host(ref.host), names.image(ref.id)
        try:
            if isinstance(source, FromDisk):
                copy_disk(job, source.disk, host, name, job.planned(Image, ref.id).size)
            else:
                _from_file(job, host, name, source)
            job.check()
        except Dropped:
            host.drop(name)
            raise

    return work


def _from_file(job: JobContext, host: HostClient, name: str, source: FromUpload) -> None:
    """Unpack an uploaded file into the disk as raw bytes. The upload was checked."""
    part, length = job.scratch("upload"), source.size * MB
    sent, check_sometimes = 0, at_most_once_a_second(job.check)
    with gzip.open(Path(source.file), "rb") as content:

        def take(count: int) -> bytes:
            nonlocal sent
            check_sometimes()
            chunk = content.read(min(count, length - sent))
            if not chunk and sent < length:
                chunk = bytes(min(count, length - sent))
            sent += len(chunk)
            return chunk

        host.send(part, take, length, "raw", length)
    job.check()
    host.copy(part, name, length)
    host.drop(part)


def remove_image(ref: ImageRef) -> Work:
    def work(job: JobContext) -> None:
        job.host(job.entry(Image, ref.id).host).drop(names.image(ref.id))

    return work
