"""The account: what it says of itself, its settings, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from msgspec import Struct

from crofter import audit
from crofter.context import Context
from crofter.db.database import TransactionConflict
from crofter.errors import Conflict, Invalid, Problem, Reason, Unauthenticated, Unavailable
from crofter.events import record
from crofter.money import dollars
from crofter.resources.account import checks, closing, store
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
from crofter.results import TwoPhaseWrite
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


def update(ctx: Context, body: AccountUpdate) -> None:
    changes = {name: value for name, value in given(body).items() if name != "active_promotions"}
    if "country" in changes:
        changes["country"] = changes["country"].upper()
    country = changes.get("country", store.one(ctx.db, ctx.account_id).country)
    if "state" in changes and country in checks.BY_CODE:
        changes["state"] = changes["state"].upper()
    if changes:
        ctx.db.update(store.account, {"id": ctx.account_id}, **changes)
    record(ctx, "account_update", ACCOUNT)


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


class _Last(Struct, frozen=True):
    """What the end of an account has come to."""

    until: int
    invoices: list[int]
    charge: str | None


def cancel(ctx: Context, sent: list[str]) -> TwoPhaseWrite[Cancelled]:
    """The last invoice is made and charged; only if that works is the account closed.

    All that comes after this transaction. What it takes grows with the account, and who only plans can do without.
    """
    _must_not_be_paying(ctx)

    def ask() -> tuple[_Last, Any]:
        last = _made_last(ctx, sent)
        return last, None if last.charge is None else charging.ask(ctx.runtime, last.charge)

    return TwoPhaseWrite(ask, lambda after, found: _charged(after, *found), cost=_cost_of_all)


def _must_not_be_paying(ctx: Context) -> None:
    if charging.pending(ctx.db, ctx.account_id):
        raise Conflict(charging.UNDER_WAY)


def _made_last(begun: Context, sent: list[str]) -> _Last:
    """The last invoices, and the intent to take what is owed: in a transaction of their own."""
    runtime, actor = begun.runtime, begun.actor
    with runtime.database.read() as db:
        stretches = invoicing.last_stretches(Context(runtime, db, actor), actor.account_id)
    try:
        with runtime.database.write() as db:
            db.lock_account(actor.account_id)
            ctx = Context(runtime, db, actor, address=begun.address, request_id=begun.request_id)
            if store.one(db, actor.account_id).closed:
                raise Unauthenticated  # somebody else was quicker
            _must_not_be_paying(ctx)
            numbers = invoicing.make_last(ctx, actor.account_id, stretches)
            key = charging.intend_balance(ctx, actor.account_id, f"cancel:{ctx.rng.hex(32)}")
            if key is not None:  # a promise goes on record, whatever comes of it
                audit.write(ctx, "cancel_account", "/v4/account/cancel", sent)
    except TransactionConflict:
        raise Unavailable from None
    return _Last(stretches[-1].until, numbers, key)


def _charged(ctx: Context, last: _Last, outcome: Any) -> Cancelled | Problem:
    if last.charge is not None:
        charging.settle(ctx, last.charge, outcome)
    for number in last.invoices:
        invoicing.tell(ctx, ctx.account_id, number)
    return _closed(ctx, last.until)


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
    ctx.db.update(store.account, {"id": found.id}, closed=True)
    closing.clear_away(ctx)
    return Cancelled(SURVEY + found.euuid)
