"""Rules of the account's data and settings."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from crofter.context import Context
from crofter.errors import Reason
from crofter.events import record
from crofter.resources.account import checks, store
from crofter.resources.account.shapes import AccountUpdate, SettingsUpdate, SettingsView
from crofter.resources.account.store import ENTITY
from crofter.shapes import given


def complaints(ctx: Context, sent: dict[str, Any], wrong: Set[str]) -> Iterator[Reason]:
    """Return problems across fields: state, postal code, telephone and tax id depend on the country."""
    if "country" in wrong:
        return
    country = str(sent.get("country", store.by_id(ctx.db, ctx.account_id).country)).upper()
    for field, complaint in checks.OF_A_COUNTRY.items():
        if sent.get(field) and (reason := complaint(sent[field], country)) is not None:
            yield Reason(reason, field)


def update(ctx: Context, body: AccountUpdate) -> None:
    changes = {name: value for name, value in given(body).items() if name != "active_promotions"}
    if "country" in changes:
        changes["country"] = changes["country"].upper()
    country = changes.get("country", store.by_id(ctx.db, ctx.account_id).country)
    if "state" in changes and country in checks.known_countries().states:
        changes["state"] = changes["state"].upper()
    if changes:
        ctx.db.update(store.account, {"id": ctx.account_id}, **changes)
    record(ctx, "account_update", ENTITY)


def settings(ctx: Context) -> SettingsView:
    account = store.by_id(ctx.db, ctx.account_id)
    return SettingsView(
        account.backups_enabled,
        account.longview_subscription,
        account.managed,
        account.network_helper,
        "disabled",
    )


def update_settings(ctx: Context, body: SettingsUpdate) -> SettingsView:
    changes = given(body)
    if changes:
        ctx.db.update(store.account, {"id": ctx.account_id}, **changes)
    record(ctx, "account_settings_update", ENTITY)
    return settings(ctx)
