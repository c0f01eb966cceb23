"""Kernels, as the catalogue file has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta

from crofter.catalogue import CatalogueTable, Entry
from crofter.catalogue.table import Text, TomlMoment, written
from crofter.resources.kernels.shapes import Architecture
from crofter.resources.kernels.store import GRUB, LATEST, kernel

NEEDED = {LATEST: "what a configuration profile boots by default", GRUB: "what a deployment boots"}


class KernelEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^compute/[A-Za-z0-9]+([._+-][A-Za-z0-9]+)*\Z", max_length=128)]
    label: Text
    version: Text
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


KERNELS = CatalogueTable("kernels", KernelEntry, kernel, _columns, order=lambda entry: entry.id, problems=_problems)
