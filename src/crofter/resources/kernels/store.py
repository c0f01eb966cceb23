"""Kernels: how they are shown, their rows, and what the catalogue file says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter.catalogue import CatalogueTable, Entry, Offered
from crofter.catalogue.table import Text as EntryText
from crofter.catalogue.table import TomlMoment, written
from crofter.context import Context
from crofter.db import Flag, query, table
from crofter.db import Moment as MomentColumn
from crofter.db.collections import Collection
from crofter.db.sql import Column, Integer, Text, bindparam, select
from crofter.shapes import Filtered, Moment, View, Words

# ---- shapes ---------------------------------------------------------------------------------------------------------

Architecture = Literal["x86_64", "i386"]


class KernelView(View):
    """A kernel that a configuration profile can boot."""

    architecture: Filtered[Architecture]
    built: Moment
    deprecated: Annotated[Filtered[bool], Meta(description="Whether better ones have taken its place.")]
    id: Annotated[Words[str], Meta(description="Identifies the kernel.", examples=["compute/latest-64bit"])]
    kvm: Annotated[Filtered[bool], Meta(description="Whether it runs on KVM.")]
    label: Annotated[Filtered[Words[str]], Meta(examples=["Latest 64 bit"])]
    pvops: Annotated[Filtered[bool], Meta(description="Whether it uses paravirtualized operations.")]
    version: Annotated[Filtered[str], Meta(examples=["5.16.13"])]
    xen: Annotated[Filtered[bool], Meta(description="Whether it runs on Xen.")]


# ---- rows -----------------------------------------------------------------------------------------------------------

LATEST = "compute/latest-64bit"
"""Default kernel of a configuration profile."""
GRUB = "compute/grub2"
"""Kernel of a deployment: the kernel inside the disk."""

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
    Column("built", MomentColumn, nullable=False),
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


# ---- the catalogue file ---------------------------------------------------------------------------------------------

NEEDED = {LATEST: "what a configuration profile boots by default", GRUB: "what a deployment boots"}


class KernelEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^compute/[A-Za-z0-9]+([._+-][A-Za-z0-9]+)*\Z", max_length=128)]
    label: EntryText
    version: EntryText
    architecture: Architecture
    kvm: bool = True
    xen: bool = False
    pvops: bool = True
    deprecated: bool = False
    built: TomlMoment


def _columns(entry: KernelEntry) -> dict[str, Any]:
    names = ("label", "version", "architecture", "kvm", "xen", "pvops", "deprecated")
    return {name: getattr(entry, name) for name in names} | {"built": written(entry.built)}


def _problems(entries: Sequence[KernelEntry]) -> Iterator[str]:
    present = {entry.id for entry in entries}
    for slug, purpose in NEEDED.items():
        if slug not in present:
            yield f"{slug} is missing: it is {purpose}"


CATALOGUE = CatalogueTable("kernels", KernelEntry, kernel, _columns, order=lambda entry: entry.id, problems=_problems)
