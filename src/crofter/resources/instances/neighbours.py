"""Port for resources that refer to instances: queries and notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from crofter.context import Context
from crofter.db import Session
from crofter.drivers.hypervisor import Rule, VolumeRef
from crofter.errors import Reason
from crofter.resources.instances.store import Instance

Devices = dict[str, dict[str, int | None]]


class InStorage(Struct, frozen=True):
    """Objects of a resource in the storage of regions."""

    expected: frozenset[VolumeRef] = frozenset()
    """Must be there."""
    known: frozenset[VolumeRef] = frozenset()
    """May be there: with what is being made, changed or erased at this moment."""


class Neighbour(Struct, frozen=True):
    """A resource that refers to instances. It knows them; they know it only through this."""

    against_leaving: Callable[[Context, Instance], Iterator[Reason]] = lambda _ctx, _instance: iter(())
    """Why the instance cannot go to another region."""
    has_volume: Callable[[Context, Instance, int, str], bool] = lambda _ctx, _instance, _volume_id, _field: False
    """Return True if a profile of the instance may name the volume. Raises if the caller may not use it, naming the
    field in the last argument.
    """
    booting: Callable[[Context, Instance, Devices], None] = lambda _ctx, _instance, _devices: None
    """The machine is about to be switched on with these devices, by slot. Raises Failed if it cannot be."""
    redeployed: Callable[[Context, Instance, int | None], None] = lambda _ctx, _instance, _config_id: None
    """Profiles of the instance, which is off, were replaced; the next boot uses this one, if any."""
    filter_rules: Callable[[Context, Instance], tuple[Rule, ...]] = lambda _ctx, _instance: ()
    """Rules of the instance's packet filter; empty accepts everything. Called by steps of operations, so the account is
    the instance's. After a change, call ``ips.rules.apply_later``.
    """
    guard: Callable[[Context, Instance, int], None] = lambda _ctx, _instance, _firewall_id: None
    """Put an instance that is created in this transaction behind a firewall. Raises Forbidden for a firewall that the
    caller may not change."""
    deleted: Callable[[Context, Instance], None] = lambda _ctx, _instance: None
    """The instance is deleted in this transaction, so it is referred to no more. It still has its addresses."""
    left: Callable[[Context, Instance], None] = lambda _ctx, _instance: None
    """The instance leaves its region in this transaction, and its addresses there. It still has them."""
    in_storage: Callable[[Session], InStorage] = lambda _db: InStorage()
    """Return all objects in storage, of all accounts, for the sweeper."""


_registered: list[Neighbour] = []


def register(*neighbours: Neighbour) -> None:
    """Register all neighbours once, in the order of their calls."""
    _registered[:] = neighbours


def _all() -> list[Neighbour]:
    """Return all neighbours. Fails before the registration: a partial list would leave references behind."""
    if not _registered:
        raise RuntimeError("no resource that refers to instances is registered: crofter.instance_neighbours does that")
    return _registered


def against_leaving(ctx: Context, instance: Instance) -> Iterator[Reason]:
    for neighbour in _all():
        yield from neighbour.against_leaving(ctx, instance)


def has_volume(ctx: Context, instance: Instance, volume_id: int, field: str) -> bool:
    return any(neighbour.has_volume(ctx, instance, volume_id, field) for neighbour in _all())


def booting(ctx: Context, instance: Instance, devices: Devices) -> None:
    for neighbour in _all():
        neighbour.booting(ctx, instance, devices)


def redeployed(ctx: Context, instance: Instance, config_id: int | None) -> None:
    for neighbour in _all():
        neighbour.redeployed(ctx, instance, config_id)


def filter_rules(ctx: Context, instance: Instance) -> tuple[Rule, ...]:
    return tuple(rule for neighbour in _all() for rule in neighbour.filter_rules(ctx, instance))


def guard(ctx: Context, instance: Instance, firewall_id: int) -> None:
    for neighbour in _all():
        neighbour.guard(ctx, instance, firewall_id)


def deleted(ctx: Context, instance: Instance) -> None:
    for neighbour in _all():
        neighbour.deleted(ctx, instance)


def left(ctx: Context, instance: Instance) -> None:
    for neighbour in _all():
        neighbour.left(ctx, instance)


def in_storage(db: Session) -> InStorage:
    parts = [neighbour.in_storage(db) for neighbour in _all()]
    return InStorage(
        frozenset().union(*(part.expected for part in parts)), frozenset().union(*(part.known for part in parts))
    )
