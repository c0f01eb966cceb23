"""Types, as the catalogue file has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta, Struct

from crofter.catalogue import CatalogueTable, Entry
from crofter.catalogue.table import Text
from crofter.money import micros
from crofter.resources.types.shapes import TypeClass
from crofter.resources.types.store import compute_type

LARGEST = 2**31 - 1
Amount = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """In dollars."""

    hourly: Decimal
    monthly: Decimal

    def __post_init__(self) -> None:
        micros(self.hourly)
        micros(self.monthly)


class TypeEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    id: Annotated[str, Meta(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*\Z", max_length=64)]
    label: Text
    class_: TypeClass
    vcpus: Positive
    memory: Positive
    """MB."""
    disk: Positive
    """MB."""
    transfer: Amount
    """GB per month."""
    network_out: Amount
    """Mbit/s."""
    gpus: Amount = 0
    price: Price
    backups: Price
    deprecated: bool = False
    successor: str | None = None


def _columns(entry: TypeEntry) -> dict[str, Any]:
    names = ("label", "class_", "vcpus", "memory", "disk", "transfer", "network_out", "gpus", "deprecated", "successor")
    return {name: getattr(entry, name) for name in names} | {
        "price_hourly": micros(entry.price.hourly),
        "price_monthly": micros(entry.price.monthly),
        "backup_hourly": micros(entry.backups.hourly),
        "backup_monthly": micros(entry.backups.monthly),
    }


def _problems(entries: Sequence[TypeEntry]) -> Iterator[str]:
    current = {entry.id: entry for entry in entries if not entry.deprecated}
    if not current:
        yield "every type is deprecated: nothing could be created"
    for entry in entries:
        if entry.successor is None:
            continue
        successor = current.get(entry.successor)
        if not entry.deprecated:
            yield f"{entry.id}: successor: only a deprecated type has one"
        elif successor is None:
            yield f"{entry.id}: successor: no current type of this file is called {entry.successor}"
        elif successor.disk < entry.disk:
            yield f"{entry.id}: successor: {successor.id} has less disk, so instances could not be upgraded to it"


TYPES = CatalogueTable("types", TypeEntry, compute_type, _columns, problems=_problems)
