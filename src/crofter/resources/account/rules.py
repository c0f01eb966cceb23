"""The account: what it says of itself, its settings, and its end."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.edge.endpoint import Outside
from crofter.errors import Conflict, Invalid, Reason
from crofter.journal import record
from crofter.kinds import Entity
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
from crofter.resources.account.store import Account
from crofter.resources.billing import charging, invoicing, metering
from crofter.resources.billing import store as billing
from crofter.resources.instances import rules as instances
from crofter.resources.instances import store as instance_store
from crofter.resources.instances import usage
from crofter.shapes import given

ENTITY = Entity("account", None, None, "/v4/account")
UNPAID = "The account cannot be cancelled until the outstanding balance is paid: the card on file could not be charged."
SURVEY = "https://example.com/survey/"
GIGABYTE = 10**9


def view(ctx: Context) -> AccountView:
    found = store.one(ctx.db, ctx.account_id)
    return AccountView(
        active_promotions=[],
        active_since=found.active_since,
        address_1=found.address_1,
        address_2=found.address_2,
        balance=dollars(billing.balance(ctx.db, found.id)),
        balance_uninvoiced=dollars(_cents(metering.uninvoiced(ctx.db, found.id, ctx.now))),
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


def _cents(micros: int) -> int:
    return micros // 10_000 * 10_000


def _card(ctx: Context) -> CreditCard:
    method = billing.default_method(ctx.db, ctx.account_id)
    return CreditCard(None, None) if method is None else CreditCard(method.expiry, int(method.last_four))


def update(ctx: Context, body: AccountUpdate) -> AccountView:
    found = store.one(ctx.db, ctx.account_id)
    changes = {name: value for name, value in given(body).items() if name != "active_promotions"}
    if "country" in changes:
        changes["country"] = changes["country"].upper()
    if "state" in changes and (changes.get("country") or found.country) in ("US", "CA"):
        changes["state"] = changes["state"].upper()
    reasons = list(_complaints(found, changes))
    if reasons:
        raise Invalid.all(reasons)
    if changes:
        ctx.db.update(store.account, {"id": found.id}, **changes)
    record(ctx, "account_update", ENTITY)
    return view(ctx)


def _complaints(found: Account, changes: dict[str, str]) -> Iterator[Reason]:
    """What only makes sense together: a state, a postal code and a tax id are of a country."""
    country = changes.get("country", found.country)
    for field, check in (
        ("phone", checks.phone_complaint),
        ("state", checks.state_complaint),
        ("tax_id", checks.tax_complaint),
        ("zip", checks.zip_complaint),
    ):
        if field in changes and (reason := check(changes[field], country)) is not None:
            yield Reason(reason, field)


def settings(ctx: Context) -> SettingsView:
    found = store.one(ctx.db, ctx.account_id)
    return SettingsView(found.backups_enabled, None, found.managed, found.network_helper, "disabled")


def update_settings(ctx: Context, body: SettingsUpdate) -> SettingsView:
    changes = given(body)
    if changes:
        ctx.db.update(store.account, {"id": ctx.account_id}, **changes)
    record(ctx, "account_settings_update", ENTITY)
    return settings(ctx)


def enable_managed(ctx: Context) -> None:
    if store.one(ctx.db, ctx.account_id).managed:
        raise Invalid("Managed service is already enabled for this account.")
    ctx.db.update(store.account, {"id": ctx.account_id}, managed=True)
    record(ctx, "managed_enabled", ENTITY)


def transfer(ctx: Context) -> AccountTransfer:
    """The traffic of all instances together; what one leaves over, another may use."""
    rows = instance_store.these(ctx, [number for number, _ in instance_store.labels(ctx)])
    used = sum(usage.transfer(ctx, row).used for row in rows) // GIGABYTE
    quota = sum(row.transfer for row in rows)
    return AccountTransfer(billable=max(0, used - quota), quota=quota, used=used)


def cancel(ctx: Context) -> Outside[Cancelled]:
    """The last invoice is made and charged; only if that works is the account closed."""
    ctx.actor.must_be_unrestricted()
    invoicing.make(ctx, ctx.account_id, f"final@{ctx.now}", ctx.now)
    owed = billing.balance(ctx.db, ctx.account_id)
    key = charging.intend(ctx, ctx.account_id, f"cancel:{ctx.account_id}:{ctx.now}:{ctx.dice.hex(8)}")
    if owed > 0 and key is None:
        raise Conflict(UNPAID)
    world = ctx.world

    def ask() -> object:
        return None if key is None else charging.ask(world, key)

    return Outside(ask, lambda after, outcome: _closed(after, key, outcome))


def _closed(ctx: Context, key: str | None, outcome: object) -> Cancelled | Conflict:
    if key is not None:
        charging.settle(ctx, key, outcome)  # type: ignore[arg-type]
    found = store.one(ctx.db, ctx.account_id)
    if billing.balance(ctx.db, found.id) > 0:
        return Conflict(UNPAID)
    for row in instance_store.these(ctx, [number for number, _ in instance_store.labels(ctx)]):
        instances.delete(ctx, row)
    ctx.db.update(store.account, {"id": found.id}, closed=True)
    return Cancelled(SURVEY + found.euuid)
