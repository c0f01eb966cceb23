"""Removal of deleted objects from hosts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from crofter import clock
from crofter.context import Context
from crofter.drivers.hypervisor import BackupRef, DiskRef, ImageRef
from crofter.engine import Operation, Sleep, StepContext, enqueue, step
from crofter.resources.instances import hypervisor_client
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.backups.store import Backup
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.store import Instance

TRIES = 20
PAUSE = 10 * clock.MINUTE
"""After the first time; then twice as long, and so on up to a day. All in all about two weeks."""


class PurgeArgs(Struct, frozen=True):
    """Host and number of each thing."""

    disks: list[tuple[int, int]] = []
    backups: list[tuple[int, int]] = []
    tried: int = 0
    images: list[tuple[int | None, int]] = []
    """Private images; the host is None for an image that was never stored."""


@step(retries=50)
def purge(work: StepContext) -> Sleep | None:
    refs: list[hypervisor_client.Ref] = [DiskRef(*pair) for pair in work.args.disks]
    refs += [BackupRef(*pair) for pair in work.args.backups]
    refs += [ImageRef(host, number) for host, number in work.args.images if host is not None]
    for _, number in work.args.images:
        work.runtime.uploads.discard(str(number))
    return hypervisor_client.remove(work, refs)


def try_again(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry the removal. Leftovers after the last try are reported by the sweeper."""
    if work.args.tried < TRIES:
        args = replace(work.args, tried=work.args.tried + 1)
        enqueue(ctx, PURGE, args, due=ctx.now + min(clock.DAY, PAUSE * 2**work.args.tried))


PURGE = Operation(kind="compute_purge", args=PurgeArgs, steps=(purge,), failed=try_again, keep=False)


def forget_disks(ctx: Context, instance: Instance, ids: Sequence[int]) -> None:
    """Disks are gone at once for their owner, and from their host as soon as can be."""
    without_disks(ctx, instance, ids)
    if ids and instance.host is not None:
        enqueue(ctx, PURGE, PurgeArgs(disks=[(instance.host, disk_id) for disk_id in ids]))


def without_disks(ctx: Context, instance: Instance, ids: Sequence[int]) -> None:
    """Delete the rows of disks, and empty their slots in configuration profiles."""
    for disk_id in ids:
        configs.without_disk(ctx, instance.id, disk_id)
        ctx.db.delete(disks.disk, id=disk_id)


def forget_backups(ctx: Context, old: Sequence[Backup]) -> None:
    """The same for backups."""
    for backup in old:
        ctx.db.delete_later(backups.backup, id=backup.id)
    refs = [(backup.host, backup.id) for backup in old if backup.host is not None]
    if refs:
        enqueue(ctx, PURGE, PurgeArgs(backups=refs))
