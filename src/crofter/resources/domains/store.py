"""Domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, Session, among, identity, owned, partial_index, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    bindparam,
    func,
    select,
    text,
    type_coerce,
)
from crofter.db.tally import Tally
from crofter.kinds import Entity
from crofter.resources.domains.shapes import DomainView
from crofter.resources.tags import store as tags
from crofter.resources.users.store import by_restricted
from crofter.shapes import Raw

KIND = "domain"
BEHIND = "published IS NULL OR published < serial"

domain = table(
    "domain",
    identity(),
    owned(),
    Column("label", Text, nullable=False),  # the name as its owner writes it
    Column("name", Text, nullable=False),  # in lower case, as name servers compare it
    Column("type", Text, nullable=False),
    Column("group_label", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("soa_email", Text, nullable=False),
    Column("retry_sec", Integer, nullable=False),
    Column("master_ips", Json, nullable=False),
    Column("axfr_ips", Json, nullable=False),
    Column("expire_sec", Integer, nullable=False),
    Column("refresh_sec", Integer, nullable=False),
    Column("ttl_sec", Integer, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    # For name servers: the zone's current serial, and the last published one.
    Column("serial", Id, nullable=False),
    Column("published", Id),
    Column("queued", Flag, nullable=False),  # true while an operation will publish the zone and has not read it yet
    Column("served", Flag, nullable=False),  # true if the account had running meters at the last check
    Column("size", Id, nullable=False),  # total bytes of the targets
    UniqueConstraint("name"),
    Index("ix_domain_account_id", "account_id", "id"),
    Index("ix_domain_label", "account_id", text("lower(label)"), "id"),
    Index("ix_domain_group", "account_id", text("lower(group_label)"), "id"),
    partial_index("ix_domain_behind", "id", where=BEHIND),
)
DOMAINS = Tally(domain)


class Domain(Row):
    id: int
    account_id: int
    label: str
    name: str
    type: str
    group_label: str
    status: str
    description: str
    soa_email: str
    retry_sec: int
    master_ips: list[str]
    axfr_ips: list[str]
    expire_sec: int
    refresh_sec: int
    ttl_sec: int
    created: str
    serial: int
    queued: bool
    served: bool
    size: int


class Shown(Row):
    """Displayed fields of a domain as stored, so that lists need no conversion."""

    id: int
    type: str
    label: str
    group_label: str
    status: str
    description: str
    soa_email: str
    retry_sec: int
    master_ips: str
    axfr_ips: str
    expire_sec: int
    refresh_sec: int
    ttl_sec: int
    tags: str
    created: str
    updated: str


def _shown(name: str) -> Any:
    if name == "tags":
        return tags.labels_beside(KIND, "domain.id").label(name)
    return type_coerce(domain.c[name], Text).label(name) if name.endswith("_ips") else domain.c[name]


_OWN = domain.c.account_id == bindparam("account_id")
_SHOWN = select(*(_shown(name) for name in Shown.__struct_fields__)).where(_OWN)
_ONE_SHOWN = query(_SHOWN.where(domain.c.id == bindparam("id")), Shown)
_THESE_SHOWN = query(_SHOWN.where(among(domain.c.id, "ids")), Shown)
_ALL = select(*(domain.c[name] for name in Domain.__struct_fields__))
_ONE = query(_ALL.where(_OWN, domain.c.id == bindparam("id")), Domain)
_BY_NAME = query(_ALL.where(domain.c.name == bindparam("name")), Domain)
_FOLLOWING = query(
    _ALL.where(_OWN, domain.c.id > bindparam("after")).order_by(domain.c.id).limit(bindparam("most")), Domain
)
_SERVED = query(select(domain.c.served).where(_OWN).order_by(domain.c.id.desc()).limit(1))
_BEHIND = query(select(func.count()).select_from(domain).where(text(BEHIND)))

_COLUMNS: dict[str, Any] = {
    "domain": domain.c.label,
    "group": domain.c.group_label,
    **{name: domain.c[name] for name in ("created", "id", "status", "type", "updated")},
    "tags": tags.field_of(KIND, domain.c.id),
}
ALL = by_restricted(Collection(DomainView, _SHOWN, Shown, key=domain.c.id, columns=_COLUMNS, tally=DOMAINS), KIND)


def one(ctx: Context, domain_id: int) -> Domain:
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=domain_id)


def find(ctx: Context, domain_id: int) -> Domain | None:
    """Return the domain, or None."""
    return ctx.db.maybe(_ONE, account_id=ctx.account_id, id=domain_id)


def shown(ctx: Context, domain_id: int) -> Shown:
    return ctx.db.one(_ONE_SHOWN, account_id=ctx.account_id, id=domain_id)


def these_shown(ctx: Context, ids: Sequence[int]) -> list[Shown]:
    return ctx.db.all(_THESE_SHOWN, account_id=ctx.account_id, ids=list(ids))


def by_name_unscoped(ctx: Context, name: str) -> Domain | None:
    """Return the domain of this name on any account: a name is unique on the whole server."""
    return ctx.db.maybe(_BY_NAME, name=name.lower())


def following(ctx: Context, after: int, most: int) -> list[Domain]:
    """The next few domains of the account, in the order of ids."""
    return ctx.db.all(_FOLLOWING, account_id=ctx.account_id, after=after, most=most)


def served(db: Session, account_id: int) -> bool | None:
    """Return whether the domains of an account were served at the last check; None if it has none."""
    is_served: bool | None = db.value(_SERVED, account_id=account_id)
    return is_served


def behind(db: Session) -> int:
    """Return the number of zones whose published state is outdated."""
    return int(db.value(_BEHIND))


def total(ctx: Context) -> int:
    return DOMAINS.total(ctx.db, ctx.account_id)


def views(rows: Sequence[Shown]) -> list[DomainView]:
    return [view(row) for row in rows]


def view(row: Shown) -> DomainView:
    return DomainView(
        id=row.id,
        type=row.type,  # type: ignore[arg-type]
        domain=row.label,
        group=row.group_label,
        status=row.status,  # type: ignore[arg-type]
        description=row.description,
        soa_email=row.soa_email,
        retry_sec=row.retry_sec,
        master_ips=Raw(row.master_ips),  # type: ignore[arg-type]
        axfr_ips=Raw(row.axfr_ips),  # type: ignore[arg-type]
        expire_sec=row.expire_sec,
        refresh_sec=row.refresh_sec,
        ttl_sec=row.ttl_sec,
        tags=Raw(row.tags),  # type: ignore[arg-type]
        created=row.created,
        updated=row.updated,
    )


def entity(domain_id: int, label: str) -> Entity:
    return Entity(KIND, domain_id, label, f"/v4/domains/{domain_id}")
