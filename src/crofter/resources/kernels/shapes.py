"""Kernels as callers see them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Filtered, Moment, View

Architecture = Literal["x86_64", "i386"]


class KernelView(View):
    """What a configuration profile can boot."""

    architecture: Filtered[Architecture]
    built: Moment
    deprecated: Annotated[Filtered[bool], Meta(description="Whether better ones have taken its place.")]
    id: Annotated[str, Meta(description="Identifies the kernel.", examples=["compute/latest-64bit"])]
    kvm: Annotated[Filtered[bool], Meta(description="Whether it runs on KVM.")]
    label: Annotated[Filtered[str], Meta(examples=["Latest 64 bit"])]
    pvops: Annotated[Filtered[bool], Meta(description="Whether it uses paravirtualized operations.")]
    version: Annotated[Filtered[str], Meta(examples=["5.16.13"])]
    xen: Annotated[Filtered[bool], Meta(description="Whether it runs on Xen.")]
