"""Request and response bodies of volumes."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.tags.shapes import TagLabel
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View, word

SMALLEST, LARGEST = 10, 10_240
"""GB."""
_ALLOWED = re.compile(r"[A-Za-z0-9_-]+")
_DOUBLED = re.compile(r"--|__")


def label_complaint(label: str) -> str | None:
    """Return the problem of a label, or None."""
    if not (label[0].isascii() and label[0].isalpha()):
        return "Must begin with a letter"
    if not _ALLOWED.fullmatch(label):
        return "Must only use ASCII letters, numbers, dashes and underscores"
    if _DOUBLED.search(label):
        return "Must not have two dashes or underscores in a row"
    return None


VolumeLabel = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=32,
        description="Name of the volume, by which it is found in the instance.",
        examples=["data"],
        extra={"check": label_complaint},
        extra_json_schema={"pattern": "^[A-Za-z][A-Za-z0-9_-]*$"},
    ),
]
Size = Annotated[int, Meta(ge=SMALLEST, le=LARGEST, description="GB.", examples=[20])]
Tags = Annotated[list[TagLabel], Meta(max_length=500, description="Tags; those that are not there yet are made.")]


class VolumeView(View):
    """Block storage that can be attached to an instance."""

    compute_id: Filtered[Annotated[int | None, Meta(description="The instance it is attached to.")]]
    compute_label: Annotated[str | None, Meta(description="What that instance is called.")]
    created: Filtered[Moment]
    filesystem_path: Annotated[
        str,
        word("/dev/disk/by-id/scsi-0", capital=True),
        Meta(
            description="Where it is found in the instance that has it.",
            examples=["/dev/disk/by-id/scsi-0Compute_Volume_data"],
        ),
    ]
    hardware_type: Annotated[Literal["hdd", "nvme"], Meta(description="What it is stored on.")]
    id: Id
    label: Filtered[VolumeLabel]
    region: Filtered[Annotated[str, Meta(description="Where it is.", examples=["us-east"])]]
    size: Size
    status: Filtered[
        Annotated[
            Literal["creating", "active", "resizing", "contact_support"],
            Meta(description="What is being done to it; an active one can be used."),
        ]
    ]
    tags: Filtered[list[str]]
    updated: Filtered[Moment]


class VolumeCreate(Body, kw_only=True):
    region: Annotated[str, Meta(description="Where; that of the instance if one is named.")] | None = None
    compute_id: Annotated[Id, Meta(description="Attach it to this instance.")] | None = None
    size: Size = 20
    label: VolumeLabel
    config_id: Annotated[Id, Meta(description="The profile of the instance that is to have it.")] | None = None
    tags: Tags = []


class VolumeUpdate(Body):
    label: Optional[VolumeLabel] = UNSET
    tags: Optional[Tags] = UNSET


class VolumeAttach(Body):
    compute_id: Annotated[Id, Meta(description="The instance that is to have it.")]
    config_id: Annotated[Id, Meta(description="The profile that is to have it; else the one last booted.")] | None = (
        None
    )
    persist_across_boots: Annotated[bool, Meta(description="False: it is in no profile, and detached by a boot.")] = (
        True
    )


class VolumeClone(Body):
    label: VolumeLabel


class VolumeResize(Body):
    size: Annotated[
        int,
        Meta(
            description="GB, more than it has.",
            examples=[30],
            # Not bounds of the type, which would have other error texts.
            extra_json_schema={"minimum": SMALLEST, "maximum": LARGEST},
        ),
    ]
