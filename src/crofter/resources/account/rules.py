"""The account: what it says of itself, its settings, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from crofter.context import Context
from crofter.edge.endpoint import Outside
from crofter.errors import Conflict, Invalid, Problem, Reason, Unauthenticated
from crofter.journal import record
from crofter.money import dollars
from crofter.resources.account import checks, store
from crofter.resources.account.shapes import (
    CAPABILITIES,
    AccountTransfer,
    AccountUpdate,
    AccountView,
    Cancelled,
    CreditCard,
    SettingsUpdate,
    SettingsView,
)
from crofter.resources.billing import charging, invoicing, metering, meters, promotions, traffic
from crofter.resources.billing import store as billing
from crofter.resources.billing.charging import ACCOUNT
from crofter.resources.instances import costs
from crofter.resources.instances import store as instances
from crofter.resources.transfers import rules as transfers
from crofter.shapes import given

ENTITY = ACCOUNT
UNPAID = "The account cannot be cancelled until the outstanding balance is paid: the card on file could not be charged."
SURVEY = "https://example.com/survey/"


def view(ctx: Context) -> AccountView:
    found = store.one(ctx.db, ctx.account_id)
    return AccountView(
        active_promotions=promotions.views(ctx),
        active_since=found.active_since,
        address_1=found.address_1,
        address_2=found.address_2,
        balance=dollars(billing.balance(ctx.db, found.id)),
        balance_uninvoiced=dollars(metering.uninvoiced(ctx.db, found.id, ctx.now)),
        capabilities=CAPABILITIES,
        city=found.city,
        company=found.company,
        country=found.country,
        credit_card=_card(ctx),
        email=found.email,
        euuid=found.euuid,
        first_name=found.first_name,
        last_name=found.last_name,
        phone=found.phone,
        state=found.state,
        tax_id=found.tax_id,
        zip=found.zip,
    )


def _card(ctx: Context) -> CreditCard:
    method = billing.default_method(ctx.db, ctx.account_id)
    return CreditCard(None, None) if method is None else CreditCard(method.expiry, int(method.last_four))


# ---- contact data ---------------------------------------------------------------------------------------------------


def complaints(ctx: Context, sent: dict[str, Any], wrong: Set[str]) -> Iterator[Reason]:
    """What only makes sense together: a state, a postal code, a telephone and a tax id are of a country."""
    if "country" in wrong:
        return
    country = str(sent.get("country", store.one(ctx.db, ctx.account_id).country)).upper()
    for field, complaint in checks.OF_A_COUNTRY.items():
        if sent.get(field) and (reason := complaint(sent[field], country)) is not None:
            yield Reason(reason, field)


def update(ctx: Context, body: AccountUpdate) -> AccountView:
    changes = {name: value for name, value in given(body).items() if name != "active_promotions"}
    if "country" in changes:
        changes["country"] = changes["country"].upper()
    country = changes.get("country", store.one(ctx.db, ctx.account_id).country)
    if "state" in changes and country in checks.BY_CODE:
        changes["state"] = changes["state"].upper()
    if changes:
        ctx.db.update(store.account, {"id": ctx.account_id}, **changes)
    record(ctx, "account_update", ACCOUNT)
    return view(ctx)


# ---- settings -------------------------------------------------------------------------------------------------------


def settings(ctx: Context) -> SettingsView:
    found = store.one(ctx.db, ctx.account_id)
    return SettingsView(found.backups_enabled, None, found.managed, found.network_helper, "disabled")


def update_settings(ctx: Context, body: SettingsUpdate) -> SettingsView:
    changes = given(body)
    if changes:
        ctx.db.update(store.account, {"id": ctx.account_id}, **changes)
    record(ctx, "account_settings_update", ACCOUNT)
    return settings(ctx)


def enable_managed(ctx: Context) -> None:
    if store.one(ctx.db, ctx.account_id).managed:
        raise Invalid("Managed service is already enabled for this account.")
    ctx.db.update(store.account, {"id": ctx.account_id}, managed=True)
    own = instances.these(ctx, [number for number, _ in instances.labels(ctx)])
    for row in sorted(own, key=lambda row: row.id):
        if row.status != "deleting":
            costs.begin_managed(ctx, row)
    record(ctx, "managed_enabled", ACCOUNT)


def disable_managed(ctx: Context, account_id: int) -> bool:
    """For the support staff, since no account can do it by itself; whether it was enabled."""
    meters.stop_kind(ctx.db, account_id, costs.MANAGED, ctx.now)
    return ctx.db.update(store.account, {"id": account_id, "managed": True}, managed=False) > 0


def transfer(ctx: Context) -> AccountTransfer:
    found = traffic.pool(ctx, ctx.account_id, ctx.now)
    return AccountTransfer(billable=found.billable, quota=found.quota, used=found.used)


# ---- the end --------------------------------------------------------------------------------------------------------


def cancel(ctx: Context) -> Outside[Cancelled]:
    """The last invoice is made and charged; only if that works is the account closed."""
    if charging.pending(ctx.db, ctx.account_id):
        raise Conflict(charging.UNDER_WAY)
    numbers = invoicing.make_last(ctx, ctx.account_id)
    key = charging.intend_balance(ctx, ctx.account_id, f"cancel:{ctx.dice.hex(32)}")
    world, until = ctx.world, ctx.now

    def ask() -> object:
        return None if key is None else charging.ask(world, key)

    def close(after: Context, outcome: Any) -> Cancelled | Problem:
        if key is not None:
            charging.settle(after, key, outcome)
        for number in numbers:
            invoicing.tell(after, after.account_id, number)
        return _closed(after, until)

    return Outside(ask, close, cost=_cost_of_all)


def _cost_of_all(ctx: Context) -> tuple[int, int]:
    hourly, monthly = meters.rates(ctx.db, ctx.account_id)
    return -hourly, -monthly


def _closed(ctx: Context, until: int) -> Cancelled | Problem:
    found = store.one(ctx.db, ctx.account_id)
    if found.closed:
        return Unauthenticated()  # somebody else was quicker
    if billing.balance(ctx.db, found.id) > 0:
        return Conflict(UNPAID)
    meters.stop_all(ctx.db, found.id, until)  # paid for up to then, and free while it is being removed
    transfers.cancel_all(ctx)
    ctx.world.kinds.remove_all(ctx)
    ctx.db.update(store.account, {"id": found.id}, closed=True)
    return Cancelled(SURVEY + found.euuid)
