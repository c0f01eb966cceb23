"""Public images from the catalogue file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter.catalogue import CatalogueTable, Entry
from crofter.catalogue.table import Text, TomlMoment, written
from crofter.resources.images.store import image

MAKER = "compute"
"""Creator of the public images."""


class ImageEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^compute/[a-z0-9]+([._-][a-z0-9]+)*\Z", max_length=128)]
    label: Annotated[str, Meta(min_length=1, max_length=32)]
    """Short enough to be part of the label of a configuration profile."""
    vendor: Text
    size: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    """MB."""
    filesystem: Literal["ext3", "ext4"] = "ext4"
    description: Annotated[str, Meta(max_length=65000)] = ""
    created: TomlMoment
    eol: TomlMoment | None = None
    deprecated: bool = False


def _columns(entry: ImageEntry) -> dict[str, Any]:
    names = ("label", "vendor", "size", "filesystem", "description", "deprecated")
    created = written(entry.created)
    return {name: getattr(entry, name) for name in names} | {
        "created": created,
        "created_by": MAKER,
        "updated": created,
        "eol": written(entry.eol),
    }


def _alphabet(entry: ImageEntry) -> tuple[str, str]:
    return entry.label.casefold(), entry.id


IMAGES = CatalogueTable("images", ImageEntry, image, _columns, slug="name", order=_alphabet)
