"""Public scripts of the server, read from the catalogue file."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from crofter.catalogue import CatalogueTable, Entry
from crofter.catalogue.table import TomlMoment, written
from crofter.resources.stackscripts import udf
from crofter.resources.stackscripts.store import ANY_IMAGE, MAKER, stackscript

EntryImage = Annotated[str, Meta(pattern=r"^(any/all|compute/[a-z0-9]+([._-][a-z0-9]+)*)\Z", max_length=128)]


class StackScriptEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\Z", max_length=64)]
    label: Annotated[str, Meta(min_length=3, max_length=128)]
    description: Annotated[str, Meta(max_length=65000)] = ""
    images: Annotated[tuple[EntryImage, ...], Meta(min_length=1, max_length=200)] = (ANY_IMAGE,)
    script: Annotated[str, Meta(pattern=r"^#!", max_length=65535)]
    rev_note: Annotated[str, Meta(max_length=512)] = ""
    created: TomlMoment
    updated: TomlMoment | None = None

    def __post_init__(self) -> None:
        udf.parse(self.script)


def _columns(entry: StackScriptEntry) -> dict[str, Any]:
    return {
        "username": MAKER,
        "label": entry.label,
        "description": entry.description,
        "images": list(entry.images),
        "script": entry.script,
        "user_defined_fields": msgspec.to_builtins(udf.parse(entry.script)),
        "rev_note": entry.rev_note,
        "is_public": True,
        "created": written(entry.created),
        "updated": written(entry.updated or entry.created),
    }


STACKSCRIPTS = CatalogueTable("stackscripts", StackScriptEntry, stackscript, _columns, may_be_empty=True)
