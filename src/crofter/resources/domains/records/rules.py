"""Rules of the records of a domain."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Duplicate
from crofter.errors import Invalid
from crofter.events import record
from crofter.resources.domains import operations
from crofter.resources.domains import store as domains
from crofter.resources.domains.records import checks, store
from crofter.resources.domains.records.checks import Place, Wanted
from crofter.resources.domains.records.shapes import RecordCreate, RecordUpdate, RecordView
from crofter.resources.domains.records.store import Record
from crofter.resources.domains.store import Domain
from crofter.shapes import given

CNAME_CONFLICT = "Record conflict - CNAMES must be unique"
NULL_MX_CONFLICT = "Record conflict - a null MX record must be the only MX record"
SAME = "Record conflict - the domain has this record already"
SLAVE = "Records cannot be added to a slave domain: they are copied from its masters"
TOO_MANY = "Account Limit reached. Please open a support ticket."
MOST_RECORDS = 100_000
MOST_BYTES = 16 * 1024 * 1024
"""Maximum total size of the targets of a domain. A zone is written and sent as a whole."""
MOST_WORDS = 200
"""Characters of a target that an event repeats."""


def create(ctx: Context, domain: Domain, body: RecordCreate) -> RecordView:
    if domain.type != "master":
        raise Invalid(SLAVE)
    wanted = Wanted(
        type=body.type,
        name=body.name,
        target=body.target,
        priority=body.priority,
        weight=body.weight,
        port=body.port or 0,
        service=body.service,
        protocol=body.protocol,
        ttl_sec=body.ttl_sec,
        tag=body.tag,
    )
    made, reasons = checks.completed(wanted, Place(domain.name, ctx.address))
    if body.type == "SRV" and body.port is None:
        reasons.append(checks.no_port())
    if reasons:
        raise Invalid.all(checks.in_order(reasons))
    _must_fit(ctx, domain, made)
    _must_not_clash(ctx, domain, made)
    try:
        row = store.insert(ctx, domain.id, made)
    except Duplicate:
        raise Invalid(SAME) from None
    operations.changed(ctx, domain, size=len(made.target))
    _tell(ctx, "dns_record_create", domain, row)
    return store.view(domain, row)


def update(ctx: Context, domain: Domain, row: Record, body: RecordUpdate) -> RecordView:
    """Update a record. Fields that are not sent stay, and the result is validated like a new record."""
    before = store.wanted_of(row)
    sent = given(body)
    wanted = Wanted(**{name: sent.get(name, getattr(before, name)) for name in Wanted.__struct_fields__})
    made, reasons = checks.completed(wanted, Place(domain.name, ctx.address), name=checks.renamed(before, wanted))
    if reasons:
        raise Invalid.all(checks.in_order(reasons))
    _must_not_clash(ctx, domain, made, but=row.id)
    try:
        changed = store.update(ctx, row, made)
    except Duplicate:
        raise Invalid(SAME) from None
    operations.changed(ctx, domain, size=len(made.target) - len(row.target))
    _tell(ctx, "dns_record_update", domain, changed)
    return store.view(domain, changed)


def delete(ctx: Context, domain: Domain, row: Record) -> None:
    store.remove(ctx, row.id)
    operations.changed(ctx, domain, size=-len(row.target))
    _tell(ctx, "dns_record_delete", domain, row)


def _must_fit(ctx: Context, domain: Domain, wanted: Wanted) -> None:
    if domain.size + len(wanted.target) > MOST_BYTES or store.total(ctx, domain.id) >= MOST_RECORDS:
        raise Invalid(TOO_MANY)


def _must_not_clash(ctx: Context, domain: Domain, wanted: Wanted, *, but: int = 0) -> None:
    """A CNAME stands alone at its name, and a null MX among the MX records of its name."""
    other = store.at_name(ctx, domain.id, wanted.name, but=but)
    if other is not None and "CNAME" in (other.type, wanted.type):
        raise Invalid(CNAME_CONFLICT)
    if other is None or wanted.type != "MX":
        return
    mx = store.mx_at_name(ctx, domain.id, wanted.name, but=but)
    if mx is not None and (mx.null_mx or not wanted.target):
        raise Invalid(SAME if mx.null_mx and not wanted.target else NULL_MX_CONFLICT)


def _tell(ctx: Context, action: str, domain: Domain, row: Record) -> None:
    name = f"{row.name}.{domain.label}" if row.name else domain.label
    words = f"{row.type} {name} {row.target}".strip()
    if len(words) > MOST_WORDS:
        words = words[:MOST_WORDS] + "…"
    record(ctx, action, domains.entity(domain.id, domain.label), message=words)
