"""Longview: clients, the plan of the account, and the plans that there are."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.resources.longview import rules, store
from crofter.resources.longview.shapes import (
    LongviewClientCreate,
    LongviewClientUpdate,
    LongviewClientView,
    LongviewPlanUpdate,
    LongviewSubscriptionView,
)
from crofter.shapes import Page

TheClient = Annotated[store.Client, Lookup(store.one, "longview_id")]
TheSubscription = Annotated[rules.Subscription, Lookup(rules.subscription, "subscription_id")]


@endpoint("GET /v4/longview/clients", scope="longview:read_only", grant="any")
def list_longview_clients(ctx: Context, listing: Listing) -> Page[LongviewClientView]:
    """List the Longview clients that the caller may view, without what they sign in with."""
    bounds = {"account_id": ctx.account_id}
    if ctx.actor.restricted:
        bounds["user_id"] = ctx.actor.user_id
    collection = store.ALL[ctx.actor.restricted]
    return listing.of(ctx, collection, rules.masked, **bounds)


@endpoint(
    "POST /v4/longview/clients",
    scope="longview:read_write",
    grant="add_longview",
    events=("longviewclient_create",),
)
def create_longview_client(ctx: Context, body: LongviewClientCreate) -> LongviewClientView:
    """Create a Longview client, and learn what its agent is installed and signs in with."""
    return rules.create(ctx, body)


@endpoint("GET /v4/longview/clients/{longview_id}", scope="longview:read_only", grant="longview:read_only")
def view_longview_client(ctx: Context, client: TheClient) -> LongviewClientView:
    """View one Longview client, with what its agent is installed and signs in with."""
    return rules.view(ctx, client)


@endpoint(
    "PUT /v4/longview/clients/{longview_id}",
    scope="longview:read_write",
    grant="longview:read_write",
    events=("longviewclient_update",),
)
def update_longview_client(ctx: Context, client: TheClient, body: LongviewClientUpdate) -> LongviewClientView:
    """Rename a Longview client."""
    return rules.update(ctx, client, body)


@endpoint(
    "DELETE /v4/longview/clients/{longview_id}",
    scope="longview:read_write",
    grant="longview:read_write",
    events=("longviewclient_delete",),
)
def delete_longview_client(ctx: Context, client: TheClient) -> None:
    """Delete a Longview client: its agent can sign in no longer."""
    rules.delete(ctx, client)


@endpoint("GET /v4/longview/plan", scope="longview:read_only", grant="any")
def view_longview_plan(ctx: Context) -> LongviewSubscriptionView | None:
    """View the plan of the account; nothing if it is the free one."""
    return rules.plan(ctx)


@endpoint(
    "PUT /v4/longview/plan",
    scope="longview:read_write",
    grant="longview_subscription",
    events=("account_settings_update",),
)
def update_longview_plan(ctx: Context, body: LongviewPlanUpdate) -> LongviewSubscriptionView | None:
    """Change the plan of the account; this may incur a charge."""
    return rules.change_plan(ctx, body)


@endpoint("GET /v4/longview/subscriptions", scope="none", grant="any", catalogue="everybody")
def list_longview_subscriptions(ctx: Context, listing: Listing) -> Page[LongviewSubscriptionView]:
    """List the plans that can be subscribed to."""
    return listing.of_list(rules.subscriptions(), LongviewSubscriptionView)


@endpoint("GET /v4/longview/subscriptions/{subscription_id}", scope="none", grant="any", catalogue="everybody")
def view_longview_subscription(ctx: Context, subscription: TheSubscription) -> LongviewSubscriptionView:
    """View a Longview plan."""
    return subscription.view()
