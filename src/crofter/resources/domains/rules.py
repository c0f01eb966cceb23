"""Rules of domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate
from crofter.drivers.probes.addresses import Refused, judge
from crofter.engine import enqueue
from crofter.errors import Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.billing import meters
from crofter.resources.domains import operations, store, zonefile
from crofter.resources.domains.operations import ClearArgs, CopyArgs
from crofter.resources.domains.records import store as records
from crofter.resources.domains.shapes import (
    LONGEST_NAME,
    DomainClone,
    DomainCreate,
    DomainUpdate,
    DomainView,
    ZoneFile,
    rounded,
)
from crofter.resources.domains.store import Domain
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.resources.users import access
from crofter.shapes import UNSET, given

TAKEN = "DNS zone already exists."
LIMIT = "Account Limit reached. Please open a support ticket."
MOST_DOMAINS = 10_000
TIMES = ("retry_sec", "expire_sec", "refresh_sec", "ttl_sec")


# ---- making ---------------------------------------------------------------------------------------------------------


def create(ctx: Context, body: DomainCreate) -> DomainView:
    if body.tags and ctx.actor.restricted:
        raise Forbidden
    values = {
        "type": body.type,
        "group_label": body.group or "",
        "status": body.status,
        "description": body.description or "",
        "soa_email": body.soa_email,
        "master_ips": body.master_ips,
        "axfr_ips": body.axfr_ips,
        **{name: rounded(getattr(body, name)) for name in TIMES},
    }
    _refuse([*about_name(ctx, body.domain), *_about_source(ctx, body.type, body.soa_email, body.master_ips)])
    domain = insert(ctx, body.domain, values)
    if body.tags:
        tagging.put_on(ctx, store.KIND, domain.id, body.tags)
    record(ctx, "dns_zone_create", store.entity(domain.id, domain.label))
    return shown(ctx, domain)


def insert(ctx: Context, label: str, values: dict[str, Any], *, size: int = 0) -> Domain:
    """Insert a domain, grant its creator access, and queue its publication."""
    must_be_few(ctx)
    row = {
        **values,
        "account_id": ctx.account_id,
        "label": label,
        "name": label.lower(),
        "created": ctx.moment,
        "updated": ctx.moment,
        "serial": operations.next_serial(ctx),
        "queued": True,
        "served": meters.any_running(ctx.db, ctx.account_id),
        "size": size,
    }
    try:
        row["id"] = ctx.db.insert(store.domain, **row)
    except Duplicate:
        raise Invalid(TAKEN, field="domain") from None
    domain = Domain(*(row[name] for name in Domain.__struct_fields__))
    access.entrust(ctx, store.KIND, domain.id)
    operations.publish(ctx, domain.name)
    return domain


def must_be_few(ctx: Context) -> None:
    if store.total(ctx) >= MOST_DOMAINS:
        raise Invalid(LIMIT)


def about_name(ctx: Context, label: str) -> Iterator[Reason]:
    """Report a taken name without revealing its account."""
    if store.by_name_unscoped(ctx, label) is not None:
        yield Reason(TAKEN, "domain")


def _about_source(ctx: Context, kind: str, soa_email: str, master_ips: list[str]) -> Iterator[Reason]:
    if kind == "master" and not soa_email:
        yield Reason("SOA_Email required when type=master", "soa_email")
    if kind == "slave" and not master_ips:
        yield Reason("You need at least one master DNS server IP address for this zone.", "master_ips")
    if not ctx.runtime.settings.sandbox:
        for place, address in enumerate(master_ips):
            try:
                judge(address)  # the name servers ask there, from inside our own network
            except (Refused, ValueError):
                yield Reason("Must be a public address", f"master_ips[{place}]")


def _refuse(reasons: Iterable[Reason]) -> None:
    if wrong := list(reasons):
        raise Invalid.all(wrong)


def clone(ctx: Context, domain: Domain, body: DomainClone) -> DomainView:
    """A new domain with the same settings, tags and records. What is too much to copy at once follows."""
    _refuse(about_name(ctx, body.domain))
    if len(body.domain) > len(domain.label):
        _refuse(_about_length(ctx, domain, body.domain))
    names = ("type", "group_label", "status", "description", "soa_email", "master_ips", "axfr_ips", *TIMES)
    made = insert(ctx, body.domain, {name: getattr(domain, name) for name in names})
    if not ctx.actor.restricted and (labels := tags.labels_of(ctx, store.KIND, domain.id)):
        tagging.put_on(ctx, store.KIND, made.id, labels)
    after, size = operations.copy_some(ctx, domain.id, made, 0, operations.AT_ONCE)
    ctx.db.update(store.domain, {"id": made.id}, size=size)
    if after:
        enqueue(ctx, operations.COPY, CopyArgs(domain.id, made.id, after), key=f"domain:{made.id}")
    record(ctx, "dns_zone_create", store.entity(made.id, made.label))
    return shown(ctx, made)


def _about_length(ctx: Context, domain: Domain, label: str) -> Iterator[Reason]:
    if records.longest_name(ctx, domain.id) + len(label) >= LONGEST_NAME:
        yield Reason("The names of its records would be too long", "domain")


# ---- changing -------------------------------------------------------------------------------------------------------


def update(ctx: Context, domain: Domain, body: DomainUpdate) -> DomainView:
    labels = None if body.tags is UNSET or set(body.tags) == set(_tags(ctx, domain)) else body.tags
    if labels is not None and ctx.actor.restricted:
        raise Forbidden
    changes = given(body, "type", "status", "description", "soa_email", "master_ips", "axfr_ips")
    changes |= {name: rounded(seconds) for name, seconds in given(body, *TIMES).items()}
    if body.group is not UNSET:
        changes["group_label"] = body.group
    if body.domain is not UNSET:
        changes |= {"label": body.domain, "name": body.domain.lower()}
    _refuse(_about_changes(ctx, domain, changes))
    try:
        operations.changed(ctx, domain, **changes)
    except Duplicate:
        raise Invalid(TAKEN, field="domain") from None
    name = changes.get("name", domain.name)
    if name != domain.name:
        for either in (domain.name, name):
            operations.publish(ctx, either)
    if labels is not None:
        tagging.put_on(ctx, store.KIND, domain.id, labels)
    record(ctx, "dns_zone_update", store.entity(domain.id, changes.get("label", domain.label)))
    return shown(ctx, domain)


def _about_changes(ctx: Context, domain: Domain, changes: dict[str, Any]) -> Iterator[Reason]:
    after = {name: changes.get(name, getattr(domain, name)) for name in ("type", "name", "soa_email", "master_ips")}
    if after["type"] == "slave" and domain.type != "slave" and records.total(ctx, domain.id):
        yield Reason("A slave domain has no records of its own: delete them first", "type")
    if after["name"] != domain.name:
        yield from about_name(ctx, after["name"])
        yield from _about_length(ctx, domain, after["name"])
    new_masters = changes.get("master_ips", []) if after["type"] == "master" else after["master_ips"]
    yield from _about_source(ctx, after["type"], after["soa_email"], new_masters)


def _tags(ctx: Context, domain: Domain) -> list[str]:
    return tags.labels_of(ctx, store.KIND, domain.id)


def shown(ctx: Context, domain: Domain) -> DomainView:
    return store.view(store.shown(ctx, domain.id))


def zone_file(ctx: Context, domain: Domain) -> ZoneFile:
    return ZoneFile(zonefile.lines(ctx, domain))


# ---- deleting -------------------------------------------------------------------------------------------------------


def delete(ctx: Context, domain: Domain) -> None:
    """The domain is gone at once; many records are cleared away after it, a few at a time."""
    tags.detach(ctx, store.KIND, domain.id)
    access.forget(ctx, store.KIND, domain.id)
    ctx.db.delete(store.domain, account_id=ctx.account_id, id=domain.id)
    if records.clear(ctx, domain.id, operations.AT_ONCE) == operations.AT_ONCE:
        enqueue(ctx, operations.CLEAR, ClearArgs(domain.id))
    operations.publish(ctx, domain.name)
    record(ctx, "dns_zone_delete", store.entity(domain.id, domain.label))
