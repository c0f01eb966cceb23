"""Transfers: list, create, view, cancel, accept; under their present name and under their former one."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.transfers import rules, store
from crofter.resources.transfers.shapes import TransferCreate, TransferView
from crofter.shapes import Page

TheTransfer = Annotated[store.Transfer, Lookup(store.one, "token")]
TheSentTransfer = Annotated[store.Transfer, Lookup(store.sent, "token")]


@endpoint("GET /v4/account/service-transfers", scope="account:read_only", grant="unrestricted")
def list_service_transfers(ctx: Context, listing: Listing) -> Page[TransferView]:
    """List the transfers that the account has sent or received."""
    return listing.of(
        ctx, store.TRANSFERS, lambda rows: [rules.view(ctx, row) for row in rows], account_id=ctx.account_id
    )


@endpoint(
    "POST /v4/account/service-transfers",
    scope="account:read_write",
    grant="unrestricted",
    events=("entity_transfer_create",),
)
def create_service_transfer(ctx: Context, body: TransferCreate) -> TransferView:
    """Offer instances to another account."""
    return rules.create(ctx, body)


@endpoint("GET /v4/account/service-transfers/{token}", scope="account:read_only", grant="unrestricted")
def view_service_transfer(ctx: Context, transfer: TheTransfer) -> TransferView:
    """View a transfer."""
    return rules.view(ctx, transfer)


@endpoint(
    "DELETE /v4/account/service-transfers/{token}",
    scope="account:read_write",
    grant="unrestricted",
    events=("entity_transfer_cancel",),
)
def cancel_service_transfer(ctx: Context, transfer: TheSentTransfer) -> None:
    """Cancel a transfer that was not accepted yet."""
    rules.cancel(ctx, transfer)


@endpoint(
    "POST /v4/account/service-transfers/{token}/accept",
    scope="account:read_write",
    grant="unrestricted",
    rate="transfers",
    events=("entity_transfer_accept",),
)
def accept_service_transfer(ctx: Context, transfer: TheTransfer) -> None:
    """Take over the instances of a transfer."""
    rules.accept(ctx, transfer)


# ---- under the former name ------------------------------------------------------------------------------------------


@endpoint(
    "GET /v4/account/entity-transfers",
    scope="account:read_only",
    grant="unrestricted",
    deprecated="/v4/account/service-transfers",
)
def list_entity_transfers(ctx: Context, listing: Listing) -> Page[TransferView]:
    """List the transfers that the account has sent or received."""
    return listing.of(
        ctx, store.TRANSFERS, lambda rows: [rules.view(ctx, row) for row in rows], account_id=ctx.account_id
    )


@endpoint(
    "POST /v4/account/entity-transfers",
    scope="account:read_write",
    grant="unrestricted",
    events=("entity_transfer_create",),
    deprecated="/v4/account/service-transfers",
)
def create_entity_transfer(ctx: Context, body: TransferCreate) -> TransferView:
    """Offer instances to another account."""
    return rules.create(ctx, body)


@endpoint(
    "GET /v4/account/entity-transfers/{token}",
    scope="account:read_only",
    grant="unrestricted",
    deprecated="/v4/account/service-transfers",
)
def view_entity_transfer(ctx: Context, transfer: TheTransfer) -> TransferView:
    """View a transfer."""
    return rules.view(ctx, transfer)


@endpoint(
    "DELETE /v4/account/entity-transfers/{token}",
    scope="account:read_write",
    grant="unrestricted",
    events=("entity_transfer_cancel",),
    deprecated="/v4/account/service-transfers",
)
def cancel_entity_transfer(ctx: Context, transfer: TheSentTransfer) -> None:
    """Cancel a transfer that was not accepted yet."""
    rules.cancel(ctx, transfer)


@endpoint(
    "POST /v4/account/entity-transfers/{token}/accept",
    scope="account:read_write",
    grant="unrestricted",
    rate="transfers",
    events=("entity_transfer_accept",),
    deprecated="/v4/account/service-transfers",
)
def accept_entity_transfer(ctx: Context, transfer: TheTransfer) -> None:
    """Take over the instances of a transfer."""
    rules.accept(ctx, transfer)
