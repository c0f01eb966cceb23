"""Services that are monitored, and which credentials help with each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Id, Moment, Row, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, Text, bindparam, func, select
from crofter.resources.account.store import account
from crofter.resources.managed import membership
from crofter.resources.managed.services.shapes import ServiceView

service = table(
    "managed_service",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("service_type", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("host", Text, nullable=False),  # host of the parsed address
    Column("timeout", Integer, nullable=False),
    Column("body", Text),
    Column("consultation_group", Text, nullable=False),
    Column("notes", Text),
    Column("region", Text),
    Column("status", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    # Counts changes to what is looked at, so that a late answer to an old question is recognised.
    Column("revision", Integer, nullable=False),
    Column("issue_id", Id),  # issue of the present outage
    Column("forced", Text),  # up or down by a fault of the sandbox
    Index("ix_managed_service_account_id", "account_id", "id"),
    Index("ix_managed_service_host", "account_id", "host"),
)
service_credential = table(
    "managed_service_credential",
    Column("service_id", Id, ForeignKey("managed_service.id", ondelete="CASCADE"), nullable=False),
    Column("credential_id", Id, ForeignKey("managed_credential.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("service_id", "credential_id"),
    sqlite_without_rowid=True,
)


class Service(Row):
    id: int
    account_id: int
    label: str
    service_type: str
    address: str
    host: str
    timeout: int
    body: str | None
    consultation_group: str
    notes: str | None
    region: str | None
    status: str
    created: str
    updated: str
    revision: int
    issue_id: int | None
    forced: str | None


class Helpful(Row):
    service_id: int
    credential_id: int


_EVERY = select(*(service.c[name] for name in Service.__struct_fields__))
_MINE = _EVERY.where(service.c.account_id == bindparam("account_id"))
_COLUMNS = {name: service.c[name] for name in ("created", "updated")}
SERVICES = Collection(ServiceView, _MINE, Service, key=service.c.id, columns=_COLUMNS)
_ONE = query(_MINE.where(service.c.id == bindparam("id")), Service)
_ANY = query(_EVERY.where(service.c.id == bindparam("id")), Service)
_BLOCK = service.c.id.between(bindparam("first"), bindparam("last"))
_WATCHED = service.c.status != "disabled"
_DUE = query(
    _EVERY.join(account, account.c.id == service.c.account_id)
    .where(_BLOCK, _WATCHED, account.c.managed.is_(True), account.c.closed.is_(False))
    .order_by(service.c.id),
    Service,
)
_IN_BLOCK = query(
    select(service.c.id)
    .join(account, account.c.id == service.c.account_id)
    .where(_BLOCK, _WATCHED, account.c.closed.is_(False))
    .limit(1)
)
_COUNT = query(select(func.count()).where(service.c.account_id == bindparam("account_id")))
_HELPFUL = query(
    select(service_credential.c.service_id, service_credential.c.credential_id)
    .where(among(service_credential.c.service_id, "ids"))
    .order_by(service_credential.c.service_id, service_credential.c.position),
    Helpful,
)
_AT = query(
    select(service.c.id).where(service.c.account_id == bindparam("account_id"), among(service.c.host, "hosts")).limit(1)
)
_UNFORCE = query(service.update().where(service.c.forced.is_not(None)).values(forced=None))


def one(ctx: Context, service_id: int) -> Service:
    membership.required(ctx)
    return reload(ctx, service_id)


def reload(ctx: Context, service_id: int) -> Service:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=service_id)


def service_unscoped(ctx: Context, service_id: int) -> Service | None:
    """Return a service of any account, for monitoring and the sandbox."""
    return ctx.db.maybe(_ANY, id=service_id)


def due(ctx: Context, first: int, last: int) -> list[Service]:
    """Return the services of a block of ids that are due."""
    return ctx.db.all(_DUE, first=first, last=last)


def watched(ctx: Context, first: int, last: int) -> bool:
    """True if a service of the block is enabled, whether its account is managed or not."""
    return ctx.db.value(_IN_BLOCK, first=first, last=last) is not None


def count(ctx: Context) -> int:
    return int(ctx.db.value(_COUNT, account_id=ctx.account_id))


def monitors(ctx: Context, addresses: Sequence[str]) -> bool:
    """True if a service of the caller's account uses one of these addresses."""
    return ctx.db.value(_AT, account_id=ctx.account_id, hosts=list(addresses)) is not None


def credentials(ctx: Context, ids: Sequence[int]) -> dict[int, list[int]]:
    """The credentials of many services at once."""
    by_service: dict[int, list[int]] = {}
    for row in ctx.db.all(_HELPFUL, ids=list(ids)) if ids else ():
        by_service.setdefault(row.service_id, []).append(row.credential_id)
    return by_service


def put_credentials(ctx: Context, service_id: int, ids: Sequence[int]) -> None:
    ctx.db.delete(service_credential, service_id=service_id)
    for position, credential_id in enumerate(dict.fromkeys(ids)):
        ctx.db.insert(service_credential, service_id=service_id, credential_id=credential_id, position=position)


def change(ctx: Context, service_id: int, **values: Any) -> None:
    ctx.db.update(service, {"id": service_id}, **values)


def delete(ctx: Context, service_id: int) -> None:
    ctx.db.delete(service, account_id=ctx.account_id, id=service_id)


def unforce(ctx: Context) -> None:
    ctx.db.run(_UNFORCE)
