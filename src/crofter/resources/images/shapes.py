"""Request and response bodies of images."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, Revealed, View, Word, word

Status = Literal["creating", "pending_upload", "available"]
ImageLabel = Annotated[str, Meta(min_length=1, max_length=50, description="Name of the image.", examples=["Debian 12"])]
Description = Annotated[str, Meta(max_length=65000, description="What the owner wants to know about it.")]


MAKER = word("", where='"id":"compute/')


class ImageView(View):
    """A source for new disks."""

    created: Filtered[Moment]
    created_by: Annotated[str, MAKER, Meta(description="A username, or `compute` for an official image.")]
    deprecated: Annotated[Filtered[bool], Meta(description="Whether its distribution is no longer cared for.")]
    description: str | None
    eol: Annotated[Moment | None, Meta(description="When its distribution reaches the end of its life.")]
    expiry: Annotated[Moment | None, Meta(description="When an automatic image vanishes.")]
    id: Annotated[Word[str], Meta(description="Identifies the image.", examples=["compute/debian12"])]
    is_public: Filtered[bool]
    label: Annotated[Filtered[str], Meta(examples=["Debian 12"])]
    size: Annotated[Filtered[int], Meta(description="The least size of a disk made from it, in MB.", examples=[1300])]
    status: Status
    type: Filtered[Literal["manual", "automatic"]]
    updated: Filtered[Moment]
    vendor: Annotated[Filtered[str | None], Meta(description="The distribution; null for an own image.")]


class ImageCreate(Body):
    disk_id: Annotated[Id, Meta(description="The disk that becomes an image; 6144 MB at most.")]
    label: ImageLabel | None = None
    """Default: the label of the disk."""
    description: Description | None = None


class ImageUpload(Body):
    region: Annotated[str, Meta(description="Where the image is kept.", examples=["us-east"])]
    label: ImageLabel
    description: Description | None = None


class ImageUploadView(View):
    """An image that waits for its file, and where that is to be sent."""

    image: ImageView
    upload_to: Revealed[
        Annotated[
            str,
            Meta(
                description="Takes one gzip file, sent with PUT within 24 hours, by whoever knows it.",
                examples=["https://cloud.example/uploads/5f0c"],
            ),
        ]
    ]


class ImageUpdate(Body):
    label: Optional[ImageLabel] = UNSET
    description: Optional[Annotated[str, Meta(min_length=1, max_length=65000)] | None] = UNSET
    status: Optional[Status] = UNSET
    """Accepted, and changes nothing."""
