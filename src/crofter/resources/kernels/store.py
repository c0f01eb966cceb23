"""Kernels, as the catalogue file has them."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Text, bindparam, select

from crofter.catalogue import Offered
from crofter.context import Context
from crofter.db import Flag, Moment, query, table
from crofter.db.collections import Collection
from crofter.resources.kernels.shapes import KernelView

LATEST = "compute/latest-64bit"
"""What a configuration profile boots unless it says otherwise."""
GRUB = "compute/grub2"
"""What a deployment boots: the kernel that is inside the disk."""

kernel = table(
    "kernel",
    Column("slug", Text, primary_key=True),
    Column("position", Integer, unique=True),
    Column("label", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("architecture", Text, nullable=False),
    Column("kvm", Flag, nullable=False),
    Column("xen", Flag, nullable=False),
    Column("pvops", Flag, nullable=False),
    Column("deprecated", Flag, nullable=False),
    Column("built", Moment, nullable=False),
    sqlite_without_rowid=True,
)


class Kernel(Offered):
    slug: str
    label: str
    version: str
    architecture: str
    kvm: bool
    xen: bool
    pvops: bool
    deprecated: bool
    built: str

    def view(self) -> KernelView:
        return KernelView(
            architecture=self.architecture,  # type: ignore[arg-type]
            built=self.built,
            deprecated=self.deprecated,
            id=self.slug,
            kvm=self.kvm,
            label=self.label,
            pvops=self.pvops,
            version=self.version,
            xen=self.xen,
        )


_ALL = select(*(kernel.c[name] for name in Kernel.__struct_fields__))
_OFFERED = _ALL.where(kernel.c.position.is_not(None))
KERNELS = Collection(
    KernelView,
    _OFFERED,
    Kernel,
    key=kernel.c.position,
    columns={
        name: kernel.c[name] for name in ("label", "version", "kvm", "xen", "architecture", "pvops", "deprecated")
    },
)
_FIND = query(_ALL.where(kernel.c.slug == bindparam("slug")), Kernel)
_ONE = query(_OFFERED.where(kernel.c.slug == bindparam("slug")), Kernel)


def one(ctx: Context, kernel_id: str) -> Kernel:
    return ctx.db.one(_ONE, slug=kernel_id)


def find(ctx: Context, slug: str) -> Kernel | None:
    """The kernel, be it offered still or not; None if there never was one."""
    return ctx.db.maybe(_FIND, slug=slug)
