"""Volumes as callers see them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Filtered, Id, Moment, View


class VolumeView(View):
    """Block storage that can be attached to an instance."""

    compute_id: Annotated[int | None, Meta(description="The instance it is attached to.")]
    compute_label: str | None
    created: Moment
    filesystem_path: Annotated[str, Meta(examples=["/dev/disk/by-id/scsi-0Compute_Volume_data"])]
    hardware_type: Literal["hdd", "nvme"]
    id: Id
    label: Annotated[Filtered[str], Meta(min_length=1, max_length=32, examples=["data"])]
    region: Annotated[str, Meta(examples=["us-east"])]
    size: Annotated[int, Meta(description="GiB.", le=10240, examples=[20])]
    status: Literal["creating", "active", "resizing", "contact_support"]
    tags: Filtered[list[str]]
    updated: Moment
