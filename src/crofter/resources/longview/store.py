"""Longview clients. What an agent signs in with is sealed, each bound to its row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate, Moment, Row, Sealed, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, Index, Text, UniqueConstraint, bindparam, func, select, text
from crofter.db.tally import Tally
from crofter.errors import Invalid
from crofter.kinds import Entity
from crofter.resources.longview.shapes import LongviewClientView
from crofter.resources.users.store import by_restricted

KIND = "longview"

longview_client = table(
    "longview_client",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("api_key", Sealed),
    Column("install_code", Sealed),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    UniqueConstraint("label", "account_id"),  # in this order it tempts no search by account alone
    Index("ix_longview_client_account_id", "account_id", "id"),
    Index("ix_longview_client_label", "account_id", text("lower(label)"), "id"),
)
_TALLY = Tally(longview_client)


class Client(Row):
    id: int
    account_id: int
    label: str
    created: str
    updated: str


class _Sealed(Row):
    api_key: bytes
    install_code: bytes


_MINE = select(*(longview_client.c[name] for name in Client.__struct_fields__)).where(
    longview_client.c.account_id == bindparam("account_id")
)
_ONE = query(_MINE.where(longview_client.c.id == bindparam("id")), Client)
_THESE = query(_MINE.where(among(longview_client.c.id, "ids")), Client)
_SECRETS = query(
    select(longview_client.c.api_key, longview_client.c.install_code).where(
        longview_client.c.account_id == bindparam("account_id"), longview_client.c.id == bindparam("id")
    ),
    _Sealed,
)
_COUNT = query(select(func.count()).where(longview_client.c.account_id == bindparam("account_id")))
_LABEL = query(
    select(longview_client.c.id).where(
        longview_client.c.account_id == bindparam("account_id"), longview_client.c.label == bindparam("label")
    )
)
_COLUMNS = {name: longview_client.c[name] for name in ("created", "id", "label", "updated")}
ALL = by_restricted(
    Collection(LongviewClientView, _MINE, Client, key=longview_client.c.id, columns=_COLUMNS, tally=_TALLY), KIND
)


def one(ctx: Context, longview_id: int) -> Client:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=longview_id)


def these(ctx: Context, ids: Sequence[int]) -> list[Client]:
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def count(ctx: Context) -> int:
    return int(ctx.db.value(_COUNT, account_id=ctx.account_id))


def has_label(ctx: Context, label: str) -> bool:
    return ctx.db.value(_LABEL, account_id=ctx.account_id, label=label) is not None


def insert(ctx: Context, label: str) -> int:
    values = {"account_id": ctx.account_id, "label": label, "created": ctx.moment, "updated": ctx.moment}
    try:
        return ctx.db.insert(longview_client, **values)
    except Duplicate:
        raise _taken() from None


def update(ctx: Context, client_id: int, **values: Any) -> None:
    try:
        ctx.db.update(longview_client, {"account_id": ctx.account_id, "id": client_id}, **values)
    except Duplicate:
        raise _taken() from None


def _taken() -> Invalid:
    return Invalid("Label must be unique among your Longview Clients", field="label")


def delete(ctx: Context, client_id: int) -> None:
    ctx.db.delete(longview_client, account_id=ctx.account_id, id=client_id)


def seal(ctx: Context, client_id: int, secrets: Mapping[str, str]) -> None:
    keyring = ctx.runtime.keyring
    update(
        ctx,
        client_id,
        **{name: keyring.seal(value.encode(), _associated_data(client_id, name)) for name, value in secrets.items()},
    )


def opened(ctx: Context, client_id: int) -> dict[str, str]:
    """Return the keys for the agent in plain text."""
    row = ctx.db.one(_SECRETS, account_id=ctx.account_id, id=client_id)
    keyring = ctx.runtime.keyring
    return {
        name: keyring.open(bytes(getattr(row, name)), _associated_data(client_id, name)).decode()
        for name in _Sealed.__struct_fields__
    }


def entity(row: Client) -> Entity:
    return Entity(KIND, row.id, row.label, f"/v4/longview/clients/{row.id}")


def _associated_data(client_id: int, name: str) -> str:
    return f"longview_client:{client_id}:{name}"
