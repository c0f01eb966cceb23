"""Types, with their prices in micro-dollars: how they are shown, their rows, and what the catalogue file says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from crofter.catalogue import CatalogueTable, Entry, Offered
from crofter.catalogue.table import Text as EntryText
from crofter.context import Context
from crofter.db import Flag, Id, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, ColumnElement, Integer, Text, bindparam, select
from crofter.money import dollars, micros
from crofter.shapes import Filtered, View, Words

# ---- shapes ---------------------------------------------------------------------------------------------------------

TypeClass = Literal["nanode", "standard", "dedicated", "gpu", "highmem"]


class Price(View):
    """Hourly price, and monthly maximum."""

    hourly: Annotated[float, Meta(description="US dollars.", examples=[0.03])]
    monthly: Annotated[float, Meta(description="US dollars.", examples=[20])]


class BackupsAddon(View):
    """The backup service of an instance of the type."""

    price: Price


class Addons(View):
    """Services that an instance of the type can have."""

    backups: BackupsAddon


class TypeView(View):
    """A size that instances come in."""

    addons: Addons
    class_: Annotated[Filtered[TypeClass], Meta(description="What the type is made for.", examples=["standard"])] = (
        field(name="class")
    )
    disk: Annotated[Filtered[int], Meta(description="Storage in MB, for all disks together.", examples=[81920])]
    gpus: Annotated[Filtered[int], Meta(description="Graphics processors.", examples=[0])]
    id: Annotated[str, Meta(description="Identifies the type.", examples=["g6-standard-2"])]
    label: Annotated[Filtered[Words[str]], Meta(examples=["Compute 4GB"])]
    memory: Annotated[Filtered[int], Meta(description="RAM in MB.", examples=[4096])]
    network_out: Annotated[Filtered[int], Meta(description="Outbound bandwidth in Mbit/s.", examples=[4000])]
    price: Price
    successor: Annotated[
        str | None, Meta(description="The type that `mutate` upgrades to; null for a current type.", examples=[None])
    ]
    transfer: Annotated[Filtered[int], Meta(description="Network transfer included per month, in GB.", examples=[4000])]
    vcpus: Annotated[Filtered[int], Meta(description="Virtual processors.", examples=[2])]


# ---- rows -----------------------------------------------------------------------------------------------------------

compute_type = table(
    "compute_type",
    Column("slug", Text, primary_key=True),
    Column("position", Integer, unique=True),
    Column("label", Text, nullable=False),
    Column("class_", Text, nullable=False),
    Column("vcpus", Integer, nullable=False),
    Column("memory", Integer, nullable=False),
    Column("disk", Integer, nullable=False),
    Column("transfer", Integer, nullable=False),
    Column("network_out", Integer, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("price_hourly", Id, nullable=False),
    Column("price_monthly", Id, nullable=False),
    Column("backup_hourly", Id, nullable=False),
    Column("backup_monthly", Id, nullable=False),
    Column("deprecated", Flag, nullable=False),
    Column("successor", Text),
    sqlite_without_rowid=True,
)


class Type(Offered):
    slug: str
    label: str
    class_: str
    vcpus: int
    memory: int
    disk: int
    transfer: int
    network_out: int
    gpus: int
    price_hourly: int
    price_monthly: int
    backup_hourly: int
    backup_monthly: int
    deprecated: bool
    successor: str | None

    def view(self) -> TypeView:
        backups = Price(dollars(self.backup_hourly), dollars(self.backup_monthly))
        return TypeView(
            addons=Addons(BackupsAddon(backups)),
            class_=self.class_,  # type: ignore[arg-type]
            disk=self.disk,
            gpus=self.gpus,
            id=self.slug,
            label=self.label,
            memory=self.memory,
            network_out=self.network_out,
            price=Price(dollars(self.price_hourly), dollars(self.price_monthly)),
            successor=self.successor,
            transfer=self.transfer,
            vcpus=self.vcpus,
        )


_ALL = select(*(compute_type.c[name] for name in Type.__struct_fields__))
_OFFERED = _ALL.where(compute_type.c.position.is_not(None))
_FIND = query(_ALL.where(compute_type.c.slug == bindparam("slug")), Type)
_ONE = query(_OFFERED.where(compute_type.c.slug == bindparam("slug")), Type)


def _collection(condition: ColumnElement[bool]) -> Collection[Type]:
    columns = {
        name: compute_type.c[name] for name in ("label", "disk", "network_out", "memory", "transfer", "vcpus", "gpus")
    }
    return Collection(
        TypeView,
        _OFFERED.where(condition),
        Type,
        key=compute_type.c.position,
        columns={**columns, "class": compute_type.c.class_},
    )


CURRENT = _collection(compute_type.c.deprecated.is_(False))
LEGACY = _collection(compute_type.c.deprecated.is_(True))


def one(ctx: Context, type_id: str) -> Type:
    return ctx.db.one(_ONE, slug=type_id)


def find(ctx: Context, slug: str) -> Type | None:
    """The type, be it offered still or not; None if there never was one."""
    return ctx.db.maybe(_FIND, slug=slug)


# ---- the catalogue file ---------------------------------------------------------------------------------------------

LARGEST = 2**31 - 1
Amount = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]


class EntryPrice(Struct, frozen=True, forbid_unknown_fields=True):
    """In dollars."""

    hourly: Decimal
    monthly: Decimal

    def __post_init__(self) -> None:
        micros(self.hourly)
        micros(self.monthly)


class TypeEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    id: Annotated[str, Meta(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*\Z", max_length=64)]
    label: EntryText
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
    price: EntryPrice
    backups: EntryPrice
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


CATALOGUE = CatalogueTable("types", TypeEntry, compute_type, _columns, problems=_problems)
