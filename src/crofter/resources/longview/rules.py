"""How many Longview clients there may be, who is shown what they sign in with, and what the plan costs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from msgspec import Struct

from crofter.context import Context
from crofter.errors import Invalid, NotFound
from crofter.events import record
from crofter.money import dollars
from crofter.resources.account import store as accounts
from crofter.resources.billing import meters
from crofter.resources.billing.meters import Metered
from crofter.resources.billing.meters import Price as Rate
from crofter.resources.longview import store
from crofter.resources.longview.shapes import (
    LongviewApps,
    LongviewClientCreate,
    LongviewClientUpdate,
    LongviewClientView,
    LongviewPlanUpdate,
    LongviewSubscriptionView,
    SubscriptionId,
)
from crofter.resources.longview.store import Client
from crofter.resources.types.store import Price
from crofter.resources.users import access
from crofter.shapes import UNSET

MASKED = "<REDACTED>"
FREE = 10
"""Clients of an account that subscribes to nothing."""
METER = "longview"


class Subscription(Struct, frozen=True):
    id: SubscriptionId
    clients: int
    rate: Rate

    @property
    def label(self) -> str:
        return f"Longview Pro {self.clients} pack"

    def view(self) -> LongviewSubscriptionView:
        return LongviewSubscriptionView(
            self.clients, self.id, self.label, Price(dollars(self.rate.hourly), dollars(self.rate.monthly))
        )


SUBSCRIPTIONS = (
    Subscription("longview-3", 3, Rate(30_000, 20_000_000)),
    Subscription("longview-10", 10, Rate(60_000, 40_000_000)),
    Subscription("longview-40", 40, Rate(150_000, 100_000_000)),
    Subscription("longview-100", 100, Rate(300_000, 200_000_000)),
)
_BY_ID: dict[str, Subscription] = {subscription.id: subscription for subscription in SUBSCRIPTIONS}


# ---- clients --------------------------------------------------------------------------------------------------------


def masked(rows: Sequence[Client]) -> list[LongviewClientView]:
    return [_view(row, MASKED, MASKED) for row in rows]


def view(ctx: Context, row: Client) -> LongviewClientView:
    """With what the agent signs in with: the owner needs it whenever a machine is set up anew."""
    return _view(row, **store.opened(ctx, row.id))


def _view(row: Client, api_key: str, install_code: str) -> LongviewClientView:
    # No agent reports here, so none has found an application.
    apps = LongviewApps(apache=False, mysql=False, nginx=False)
    return LongviewClientView(api_key, apps, row.created, row.id, install_code, row.label, row.updated)


def create(ctx: Context, body: LongviewClientCreate) -> LongviewClientView:
    most = _most_clients(_plan(ctx))
    if store.count(ctx) >= most:
        raise Invalid(f"Your Longview plan includes {most} clients. Change the plan to add more.")
    secrets = {name: ctx.rng.uuid().upper() for name in ("api_key", "install_code")}
    client_id = store.insert(ctx, _unused_label(ctx) if body.label is UNSET else body.label)
    store.seal(ctx, client_id, secrets)
    access.entrust(ctx, store.KIND, client_id)
    row = store.one(ctx, client_id)
    record(ctx, "longviewclient_create", store.entity(row))
    return _view(row, **secrets)


def _unused_label(ctx: Context) -> str:
    free = (number for number in itertools.count(1) if not store.has_label(ctx, f"longview{number}"))
    return f"longview{next(free)}"


def update(ctx: Context, row: Client, body: LongviewClientUpdate) -> LongviewClientView:
    if body.label is not UNSET and body.label != row.label:
        store.update(ctx, row.id, label=body.label, updated=ctx.moment)
        row = store.one(ctx, row.id)
    record(ctx, "longviewclient_update", store.entity(row))
    return masked([row])[0]


def delete(ctx: Context, row: Client) -> None:
    remove(ctx, row.id)
    record(ctx, "longviewclient_delete", store.entity(row))


def remove(ctx: Context, client_id: int) -> None:
    """Remove without an event: a closing account has no readers."""
    store.delete(ctx, client_id)
    access.forget(ctx, store.KIND, client_id)


# ---- the plan -------------------------------------------------------------------------------------------------------


def subscriptions() -> list[LongviewSubscriptionView]:
    return [subscription.view() for subscription in SUBSCRIPTIONS]


def subscription(ctx: Context, subscription_id: str) -> Subscription:
    plan = _BY_ID.get(subscription_id)
    if plan is None:
        raise NotFound
    return plan


def plan(ctx: Context) -> LongviewSubscriptionView | None:
    """Return the subscribed plan of the account, or None."""
    current = _plan(ctx)
    return None if current is None else current.view()


def _plan(ctx: Context) -> Subscription | None:
    return _BY_ID.get(accounts.by_id(ctx.db, ctx.account_id).longview_subscription or "")


def _most_clients(current: Subscription | None) -> int:
    return FREE if current is None else current.clients


def change_plan(ctx: Context, body: LongviewPlanUpdate) -> LongviewSubscriptionView | None:
    current = _plan(ctx)
    wanted = current if body.longview_subscription is UNSET else _BY_ID.get(body.longview_subscription or "")
    if wanted is not current:
        _must_hold_all_clients(ctx, wanted)
        chosen = None if wanted is None else wanted.id
        ctx.db.update(accounts.account, {"id": ctx.account_id}, longview_subscription=chosen)
        _meter(ctx, current, wanted)
    record(ctx, "account_settings_update", accounts.ENTITY)
    return None if wanted is None else wanted.view()


def _must_hold_all_clients(ctx: Context, wanted: Subscription | None) -> None:
    clients, most = store.count(ctx), _most_clients(wanted)
    if clients > most:
        raise Invalid(
            f"This plan includes {most} clients, and you have {clients}. Delete some first.",
            field="longview_subscription",
        )


def _meter(ctx: Context, current: Subscription | None, wanted: Subscription | None) -> None:
    """An account has one plan, so its meter is known by the account's number."""
    if wanted is None:
        meters.stop(ctx, METER, ctx.account_id)
        return
    thing = Metered(METER, ctx.account_id, f"Longview - {wanted.label} ({wanted.id})", wanted.rate)
    if current is None:
        meters.start(ctx, ctx.account_id, thing)
    else:
        meters.change(ctx, ctx.account_id, thing)
