"""Background work on domains: publishing to name servers, copying, and deletion in parts."""

from __future__ import annotations

import logging

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.drivers.dns import NotPublished, Zone
from crofter.engine import Nothing, Operation, Sleep, StepContext, enqueue, step, tx_step
from crofter.events import Author
from crofter.resources.billing import meters
from crofter.resources.domains import store, zonefile
from crofter.resources.domains.records import store as records
from crofter.resources.domains.store import Domain

log = logging.getLogger("crofter")

GATHERED = 1.0
"""Seconds in which changes to a zone are collected before it is published."""
FIRST_WAIT, LONGEST_WAIT = 2, 1800
"""Seconds between attempts to publish: first and longest."""
TRY_AGAIN = clock.HOUR
AT_ONCE = 500
"""Records that are copied or cleared away in one transaction."""
DOMAINS_AT_ONCE = 100


# publishing


class ZoneArgs(Struct, frozen=True):
    name: str


def changed(ctx: Context, domain: Domain, *, size: int = 0, **more: object) -> None:
    """Write down that a zone has changed, and that it is to be published. ``size``: bytes that have come or gone."""
    ctx.db.update(
        store.domain,
        {"id": domain.id},
        **more,
        serial=next_serial(ctx, domain.serial),
        size=max(0, domain.size + size),
        queued=True,
        updated=ctx.moment,
    )
    if not domain.queued:
        publish(ctx, domain.name)


def next_serial(ctx: Context, serial: int = 0) -> int:
    """Always higher than before, and higher than that of an earlier zone of the same name."""
    return max(serial + 1, ctx.now // clock.SECOND)


def publish(ctx: Context, name: str) -> None:
    """Publish a zone in its future state. Later requests for the zone wait their turn."""
    enqueue(ctx, PUBLISH, ZoneArgs(name), key=f"zone:{name}")


@tx_step(weight=1)
def gather(ctx: Context, work: StepContext) -> Sleep | None:
    """Wait for more changes. Later changes queue another operation."""
    if not work.vars.get("gathered"):
        work.vars["gathered"] = True
        return Sleep(GATHERED)
    ctx.db.update(store.domain, {"name": work.args.name}, queued=False)
    return None


@step(deadline=120.0)
def tell(work: StepContext) -> Sleep | None:
    """Publish the zone in its present state, or withdraw it if it should not be served."""
    name: str = work.args.name
    with work.read() as ctx:
        domain = store.by_name_unscoped(ctx, name)
        zone = _zone(ctx, domain) if domain is not None else None
    try:
        if zone is None:
            work.runtime.name_server.withdraw(name)
        else:
            work.runtime.name_server.publish(zone)
    except NotPublished as error:
        tries = int(work.vars.get("tries", 0))
        work.vars["tries"] = tries + 1
        log.warning("the zone %s could not be published: %s", name, error)
        return Sleep(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries, 20)))
    if domain is not None:
        published = {"id": domain.id, "serial": domain.serial}
        work.then(lambda ctx: _published(ctx, **published))
    return None


def _zone(ctx: Context, domain: Domain) -> Zone | None:
    """Return the zone to serve; None for a disabled domain, and while the account has nothing billed."""
    if domain.status != "active" or not meters.any_running(ctx.db, domain.account_id):
        return None
    masters = tuple(domain.master_ips) if domain.type == "slave" else ()
    return Zone(
        domain.name, domain.serial, tuple(zonefile.lines(ctx, domain)), masters, transfers=tuple(domain.axfr_ips)
    )


def _published(ctx: Context, id: int, serial: int) -> None:
    ctx.db.update(store.domain, {"id": id}, published=serial)


def tell_later(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry after an unexpected failure: the zone must not stay outdated."""
    enqueue(ctx, PUBLISH, work.args, key=work.key, due=ctx.now + TRY_AGAIN)


PUBLISH = Operation(
    kind="domain.publish", args=ZoneArgs, queue="bulk", steps=(gather, tell), failed=tell_later, keep=False
)


# eligibility of an account


def watch_services(ctx: Context, account_id: int) -> None:
    """Something that costs money has started or stopped: with the first, zones are served; with the last, no more."""
    served = store.served(ctx.db, account_id)
    if served is not None and served != meters.any_running(ctx.db, account_id):
        enqueue(ctx, REPUBLISH, Nothing(), key=f"zones:{account_id}", author=Author(account_id, None, ""))


@tx_step()
def republish_some(ctx: Context, work: StepContext) -> Sleep | None:
    served = meters.any_running(ctx.db, ctx.account_id)
    domains = store.following(ctx, work.vars.get("after", 0), DOMAINS_AT_ONCE)
    for domain in domains:
        if bool(domain.served) != served:
            changed(ctx, domain, served=served)
    if not domains:
        return None
    work.vars["after"] = domains[-1].id
    return Sleep(0)


REPUBLISH = Operation(kind="domain.republish", args=Nothing, queue="bulk", steps=(republish_some,), keep=False)


# ---- records --------------------------------------------------------------------------------------------------------


class CopyArgs(Struct, frozen=True):
    source_id: int
    domain_id: int
    after: int
    """The last record that was copied already."""


def copy_some(ctx: Context, source_id: int, domain: Domain, after: int, most: int) -> tuple[int, int]:
    """Copy the next few records to another domain: the last of them, or 0 if there are no more; and their bytes."""
    rows = records.following(ctx, source_id, after, most)
    wanted = [records.wanted_of(row) for row in rows]
    known = records.known(ctx, domain.id, [records.digest(record) for record in wanted]) if rows else set()
    size = 0
    for record in wanted:
        if records.digest(record) not in known:  # or its owner has made the same one meanwhile
            records.insert(ctx, domain.id, record)
            size += len(record.target)
    return (rows[-1].id if len(rows) == most else 0), size


@tx_step()
def copy(ctx: Context, work: StepContext) -> Sleep | None:
    domain = store.find(ctx, work.args.domain_id)
    if domain is None:
        return None
    after = work.vars.get("after", work.args.after)
    after, size = copy_some(ctx, work.args.source_id, domain, after, AT_ONCE)
    changed(ctx, domain, size=size)
    work.vars["after"] = after
    return Sleep(0) if after else None


COPY = Operation(kind="domain.copy", args=CopyArgs, queue="bulk", steps=(copy,), keep=False)


class ClearArgs(Struct, frozen=True):
    domain_id: int


@tx_step()
def clear(ctx: Context, work: StepContext) -> Sleep | None:
    return Sleep(0) if records.clear(ctx, work.args.domain_id, AT_ONCE) == AT_ONCE else None


CLEAR = Operation(kind="domain.clear", args=ClearArgs, queue="bulk", steps=(clear,), keep=False)

OPERATIONS = (PUBLISH, REPUBLISH, COPY, CLEAR)
