"""Records of domains."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from crofter.context import Context
from crofter.db import Id, Moment, Row, among, identity, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, Index, Integer, Text, UniqueConstraint, bindparam, delete, func, select, text
from crofter.db.tally import Tally
from crofter.resources.domains.records.checks import Wanted
from crofter.resources.domains.records.shapes import RecordView
from crofter.resources.domains.store import Domain

# No foreign key: a domain is gone at once, and its records are cleared away a few at a time.
record = table(
    "domain_record",
    identity(),
    Column("domain_id", Id, nullable=False),
    Column("type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("weight", Integer, nullable=False),
    Column("port", Integer, nullable=False),
    Column("service", Text),
    Column("protocol", Text),
    Column("ttl_sec", Integer, nullable=False),
    Column("tag", Text),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    Column("digest", Text, nullable=False),  # digest of the distinguishing values
    UniqueConstraint("digest", "domain_id"),  # this order keeps searches by domain off this index
    Index("ix_domain_record_domain_id", "domain_id", "id"),
    Index("ix_domain_record_name", "domain_id", text("lower(name)"), "id"),
    Index("ix_domain_record_type", "domain_id", text("lower(type)"), "id"),
    Index("ix_domain_record_target", "domain_id", text("lower(target)"), "id"),
    Index("ix_domain_record_tag", "domain_id", text("lower(tag)"), "id"),
)
RECORDS = Tally(record, "domain_id")


class Record(Row):
    id: int
    type: str
    name: str
    target: str
    priority: int
    weight: int
    port: int
    service: str | None
    protocol: str | None
    ttl_sec: int
    tag: str | None
    created: str
    updated: str

    @property
    def null_mx(self) -> bool:
        return self.type == "MX" and not self.target


_OWN = record.c.domain_id == bindparam("domain_id")
_ALL = select(*(record.c[name] for name in Record.__struct_fields__)).where(_OWN)
_ONE = query(_ALL.where(record.c.id == bindparam("id")), Record)
_FOLLOWING = query(_ALL.where(record.c.id > bindparam("after")).order_by(record.c.id).limit(bindparam("most")), Record)
_NAMED = _ALL.where(func.lower(record.c.name) == bindparam("lower_name"), record.c.id != bindparam("but"))
_AT_NAME = query(_NAMED.order_by(record.c.id).limit(1), Record)
_MX_AT_NAME = query(_NAMED.where(record.c.type == "MX").order_by(record.c.id).limit(1), Record)
_LONGEST_NAME = query(select(func.max(func.length(record.c.name))).where(_OWN))
_KNOWN = query(select(record.c.digest).where(_OWN, among(record.c.digest, "digests")))
_CLEAR = query(
    delete(record).where(
        record.c.id.in_(select(record.c.id).where(_OWN).order_by(record.c.id).limit(bindparam("most")))
    )
)

ALL = Collection(
    RecordView,
    _ALL,
    Record,
    key=record.c.id,
    columns={name: record.c[name] for name in Record.__struct_fields__},
    tally=RECORDS,
)


def one(ctx: Context, domain: Domain, record_id: int) -> Record:
    return ctx.db.one(_ONE, domain_id=domain.id, id=record_id)


def following(ctx: Context, domain_id: int, after: int, most: int) -> list[Record]:
    """The next few records of a domain, in the order of ids."""
    return ctx.db.all(_FOLLOWING, domain_id=domain_id, after=after, most=most)


def at_name(ctx: Context, domain_id: int, name: str, *, but: int = 0) -> Record | None:
    """Return another record with the name, or None. A CNAME would be the only one."""
    return ctx.db.maybe(_AT_NAME, domain_id=domain_id, lower_name=name.lower(), but=but)


def mx_at_name(ctx: Context, domain_id: int, name: str, *, but: int = 0) -> Record | None:
    return ctx.db.maybe(_MX_AT_NAME, domain_id=domain_id, lower_name=name.lower(), but=but)


def total(ctx: Context, domain_id: int) -> int:
    return RECORDS.total(ctx.db, domain_id)


def longest_name(ctx: Context, domain_id: int) -> int:
    return int(ctx.db.value(_LONGEST_NAME, domain_id=domain_id) or 0)


def insert(ctx: Context, domain_id: int, wanted: Wanted) -> Record:
    """Raises Duplicate if the domain has the same record already."""
    values: dict[str, Any] = msgspec.structs.asdict(wanted)
    values |= {"created": ctx.moment, "updated": ctx.moment}
    number = ctx.db.insert(record, domain_id=domain_id, **values, digest=digest(wanted))
    return Record(number, **values)


def update(ctx: Context, row: Record, wanted: Wanted) -> Record:
    values: dict[str, Any] = msgspec.structs.asdict(wanted)
    ctx.db.update(record, {"id": row.id}, **values, updated=ctx.moment, digest=digest(wanted))
    return Record(row.id, **values, created=row.created, updated=ctx.moment)


def remove(ctx: Context, record_id: int) -> None:
    ctx.db.delete(record, id=record_id)


def clear(ctx: Context, domain_id: int, most: int) -> int:
    """Delete some of the records; how many there were."""
    return ctx.db.run(_CLEAR, domain_id=domain_id, most=most)


def known(ctx: Context, domain_id: int, digests: Sequence[str]) -> set[str]:
    return set(ctx.db.column(_KNOWN, domain_id=domain_id, digests=list(digests)))


def wanted_of(row: Record) -> Wanted:
    return Wanted(*(getattr(row, name) for name in Wanted.__struct_fields__))


def digest(wanted: Wanted) -> str:
    """Return the digest that is equal for records that a name server would not distinguish. The TTL is ignored."""
    target = wanted.target if wanted.type in ("TXT", "CAA") else wanted.target.lower()
    weight, port = (wanted.weight, wanted.port) if wanted.type == "SRV" else (0, 0)
    parts = [wanted.type, wanted.name.lower(), target, wanted.priority, weight, port, wanted.tag]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]


def views(domain: Domain, rows: Sequence[Record]) -> list[RecordView]:
    return [view(domain, row) for row in rows]


def view(domain: Domain, row: Record) -> RecordView:
    shown = RecordView(*(getattr(row, name) for name in RecordView.__struct_fields__))
    if row.type == "SRV" and "." not in row.target:
        shown.target = f"{row.target}.{domain.label}"
    return shown
