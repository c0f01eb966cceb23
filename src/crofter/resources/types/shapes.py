"""Types as callers see them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from crofter.shapes import Filtered, View

TypeClass = Literal["nanode", "standard", "dedicated", "gpu", "highmem"]


class Price(View):
    """What is charged by the hour, and at most in a month."""

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
    label: Annotated[Filtered[str], Meta(examples=["Compute 4GB"])]
    memory: Annotated[Filtered[int], Meta(description="RAM in MB.", examples=[4096])]
    network_out: Annotated[Filtered[int], Meta(description="Outbound bandwidth in Mbit/s.", examples=[4000])]
    price: Price
    successor: Annotated[
        str | None, Meta(description="The type that `mutate` upgrades to; null for a current type.", examples=[None])
    ]
    transfer: Annotated[Filtered[int], Meta(description="Network transfer included per month, in GB.", examples=[4000])]
    vcpus: Annotated[Filtered[int], Meta(description="Virtual processors.", examples=[2])]
