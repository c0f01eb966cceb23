"""Instances, backups and images on a host that an operator has declared dead, or has taken out of the fleet."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context, Runtime
from crofter.db import Query, Session, query
from crofter.db.sql import Column, bindparam, select
from crofter.drivers.hypervisor import BackupRef, DomainRef, Hypervisor, ImageRef
from crofter.events import record
from crofter.resources.images import store as images
from crofter.resources.instances import costs, states, store
from crofter.resources.instances.backups import store as backups
from crofter.resources.instances.capture import operations as capture
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.purging import without_disks
from crofter.resources.instances.store import Instance
from crofter.resources.instances.watchdog import system_context

FAILED_FOR_GOOD = "The host of this instance has failed for good."
"""Message of the event that the owner of an instance gets."""


def _on_host(number: Column[int], host: Column[int]) -> Query[int]:
    return query(select(number).where(host == bindparam("host")).order_by(number))


_INSTANCES = _on_host(store.instance.c.id, store.instance.c.host)
_BACKUPS = _on_host(backups.backup.c.id, backups.backup.c.host)
_IMAGES = _on_host(images.image.c.id, images.image.c.host)


def named(db: Session, host: int) -> Iterator[str]:
    """Yield the names of all that the database says is on this host, as the host would name it."""
    for kind, numbers in ((DomainRef, _INSTANCES), (BackupRef, _BACKUPS), (ImageRef, _IMAGES)):
        for number in db.column(numbers, host=host):
            yield kind(host, number).name


def switch_off_all(runtime: Runtime, driver: Hypervisor, host: int) -> list[int]:
    """Show each instance of a dead host as offline and stop billing it; return their ids. May be repeated."""
    return [number for number in _numbers(runtime, _INSTANCES, host) if _is_lost(runtime, driver, number, host)]


def _is_lost(runtime: Runtime, driver: Hypervisor, number: int, host: int) -> bool:
    """True if the machine went with the host; False if a move to another host had ended before."""
    where = driver.observe(DomainRef(host, number))
    with runtime.database.write() as db:
        instance = store.find_unscoped(Context(runtime, db), number)
        if instance is None or instance.host != host:
            return False
        ctx = system_context(runtime, db, instance)
        if where.power == "absent":
            _switch_off(ctx, instance)
        elif where.ref.host != host:
            ctx.db.update(store.instance, {"id": number}, host=where.ref.host)
    return where.power == "absent"


def _switch_off(ctx: Context, instance: Instance) -> None:
    if instance.status == "deleting":
        return
    if instance.status != "offline" or costs.is_billed(ctx, instance.id):
        states.show(ctx, instance.id, "offline")
        costs.end(ctx, instance)
        record(ctx, "compute_shutdown", store.entity(instance), message=FAILED_FOR_GOOD)


def forget_all(runtime: Runtime, driver: Hypervisor, host: int) -> None:
    """Forget disks, backups and images of a dead host. Its instances stay, and may be deployed on other hosts."""
    for number in switch_off_all(runtime, driver, host):
        with runtime.database.write() as db:
            instance = store.find_unscoped(Context(runtime, db), number)
            if instance is not None and instance.host == host:
                ctx = system_context(runtime, db, instance)
                without_disks(ctx, instance, [disk.id for disk in disks.of(ctx, number)])
                ctx.db.update(store.instance, {"id": number}, host=None)
    with runtime.database.write() as db:
        db.delete(backups.backup, host=host)
    for number in _numbers(runtime, _IMAGES, host):
        with runtime.database.write() as db:
            _forget_image(runtime, db, number, host)


def _forget_image(runtime: Runtime, db: Session, number: int, host: int) -> None:
    image = images.find_unscoped(Context(runtime, db), number)
    if image is None or image.account_id is None or image.host != host:
        return
    db.lock_account(image.account_id)
    ctx = Context.of_system(runtime, db, image.account_id)
    capture.forget(ctx, image)
    record(ctx, "image_delete", images.entity(image))


def _numbers(runtime: Runtime, numbers: Query[int], host: int) -> list[int]:
    with runtime.database.read() as db:
        return db.column(numbers, host=host)
