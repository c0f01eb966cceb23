"""Kernels: list and view, for all callers."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.kernels import store
from crofter.resources.kernels.store import KernelView
from crofter.shapes import Page

TheKernel = Annotated[store.Kernel, Lookup(store.one, "kernel_id")]


@endpoint("GET /v4/compute/kernels", scope="none", grant="any", catalogue="everybody")
def list_kernels(ctx: Context, listing: Listing) -> Page[KernelView]:
    """List the kernels that a configuration profile can boot."""
    return listing.of(ctx, store.KERNELS, lambda rows: [row.view() for row in rows])


@endpoint("GET /v4/compute/kernels/{kernel_id:path}", scope="none", grant="any", catalogue="everybody")
def view_kernel(ctx: Context, kernel: TheKernel) -> KernelView:
    """View a kernel."""
    return kernel.view()
