"""Types, with their prices in micro-dollars."""

from __future__ import annotations

from sqlalchemy import Column, ColumnElement, Integer, Text, bindparam, select

from crofter.catalogue import Offered
from crofter.context import Context
from crofter.db import Flag, Id, query, table
from crofter.db.collections import Collection
from crofter.money import dollars
from crofter.resources.types.shapes import Addons, BackupsAddon, Price, TypeView

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
