"""Rules of tickets."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid, Reason
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.account.store import account
from crofter.resources.regions import store as regions
from crofter.resources.support import store
from crofter.resources.support.shapes import (
    ReplyCreate,
    ReplyView,
    TicketCreate,
    TicketEntity,
    TicketView,
)
from crofter.resources.support.store import Reply, Ticket
from crofter.resources.users.store import gravatar, user
from crofter.shapes import Raw

ABOUT = {
    "domain_id": "domain",
    "compute_id": "compute",
    "lkecluster_id": "lkecluster",
    "longviewclient_id": "longview",
    "nodebalancer_id": "nodebalancer",
    "volume_id": "volume",
}
"""The fields that name what a ticket is about, and the kind of object that each names."""
MOST_FILES = 20
_EMAIL = query(select(user.c.email).where(user.c.id == bindparam("user_id")))
_MANAGED = query(select(account.c.managed).where(account.c.id == bindparam("account_id")))


# views


def views(ctx: Context, rows: Sequence[Ticket]) -> list[TicketView]:
    files = store.attached(ctx, [row.id for row in rows])
    return [_view(row, files.get(row.id, [])) for row in rows]


def view(ctx: Context, row: Ticket) -> TicketView:
    return views(ctx, [row])[0]


def _view(row: Ticket, files: list[str]) -> TicketView:
    entity = None
    if row.entity_type is not None:
        entity = TicketEntity(Raw(row.entity_id or "null"), row.entity_label, row.entity_type, row.entity_url)
    return TicketView(
        attachments=files,
        closable=row.closable and row.closed is None,
        closed=row.closed,
        description=row.description,
        entity=entity,
        gravatar_id=row.gravatar_id,
        id=row.id,
        opened=row.opened,
        opened_by=row.opened_by,
        status=row.status,  # type: ignore[arg-type]
        summary=row.summary,
        updated=row.updated,
        updated_by=row.updated_by,
    )


def reply_views(rows: Sequence[Reply]) -> list[ReplyView]:
    return [
        ReplyView(row.created, row.created_by, row.description, row.from_staff, row.gravatar_id, row.id) for row in rows
    ]


def entity_of(ticket_id: int, summary: str) -> Entity:
    return Entity("ticket", ticket_id, summary, f"/v4/support/tickets/{ticket_id}")


# ---- opening --------------------------------------------------------------------------------------------------------


def create(ctx: Context, body: TicketCreate) -> TicketView:
    _check(ctx, body)
    about = _about(ctx, body)
    actor = ctx.actor
    ticket_id = ctx.db.insert(
        store.ticket,
        account_id=actor.account_id,
        summary=body.summary,
        description=body.description,
        status="new",
        opened=ctx.moment,
        opened_by=actor.username,
        opener_id=actor.user_id,
        gravatar_id=gravatar(ctx.db.value(_EMAIL, user_id=actor.user_id) or ""),
        closable=True,
        updated=ctx.moment,
        nature="managed" if body.managed_issue else "customer",
        **entity_columns(about),
    )
    record(ctx, "ticket_create", entity_of(ticket_id, body.summary))
    return view(ctx, store.one(ctx, ticket_id))


def entity_columns(about: Entity | None) -> dict[str, str | None]:
    if about is None:
        return {}
    return {
        "entity_type": about.type,
        "entity_id": about.id_document,
        "entity_label": about.label,
        "entity_url": about.url,
    }


def _check(ctx: Context, body: TicketCreate) -> None:
    reasons: list[Reason] = []
    named = [name for name in (*ABOUT, "vlan") if getattr(body, name) is not None]
    if len(named) > 1:
        reasons.append(Reason(f"Only one of {', '.join(named)} may be set"))
    if body.managed_issue:
        if named:
            reasons.append(Reason(f"{named[0]} must not be set for a managed issue", "managed_issue"))
        if not ctx.db.value(_MANAGED, account_id=ctx.account_id):
            reasons.append(Reason("Managed service is not enabled on this account", "managed_issue"))
    if body.vlan is not None and body.region is None:
        reasons.append(Reason("region is required", "region"))
    elif body.region is not None and body.vlan is None:
        reasons.append(Reason("region may only be set together with vlan", "region"))
    elif body.region is not None and regions.find(ctx, body.region) is None:
        reasons.append(Reason("region is not valid", "region"))
    if reasons:
        raise Invalid.all(reasons)


def _about(ctx: Context, body: TicketCreate) -> Entity | None:
    """Return the object of the ticket, if the caller may see it."""
    if body.vlan is not None:
        return Entity("vlan", body.vlan, body.vlan, f"/v4beta/networking/vlans?region={body.region}")
    for field, name in ABOUT.items():
        number: int | None = getattr(body, field)
        if number is None:
            continue
        ctx.runtime.kinds.require(ctx, name, [number], "read_only", field=field)
        kind = ctx.runtime.kinds.get(name)
        assert kind is not None  # or it would not have been found
        shown = kind.views(ctx, [number]).get(number)
        return kind.entity(number, getattr(shown, "label", None) or getattr(shown, "domain", None))
    return None


# ---- going on -------------------------------------------------------------------------------------------------------


def reply(ctx: Context, ticket: Ticket, body: ReplyCreate) -> ReplyView:
    if ticket.closed is not None:
        raise Invalid("The ticket is closed")
    actor = ctx.actor
    mark = gravatar(ctx.db.value(_EMAIL, user_id=actor.user_id) or "")
    number = ctx.db.insert(
        store.reply,
        account_id=actor.account_id,
        ticket_id=ticket.id,
        created=ctx.moment,
        created_by=actor.username,
        description=body.description,
        from_staff=False,
        gravatar_id=mark,
    )
    answered = ticket.status == "new" and ticket.opener_id != actor.user_id
    _update(ctx, ticket, status="open" if answered else ticket.status)
    return ReplyView(ctx.moment, actor.username, body.description, False, mark, number)


def close(ctx: Context, ticket: Ticket) -> None:
    if ticket.closed is not None:
        raise Invalid("The ticket is closed already")
    if not ticket.closable:
        raise Invalid("This ticket can only be closed by support")
    _update(ctx, ticket, status="closed", closed=ctx.moment)


def attach(ctx: Context, ticket: Ticket, filename: str, data: bytes) -> None:
    if ticket.closed is not None:
        raise Invalid("The ticket is closed")
    known = store.attached(ctx, [ticket.id]).get(ticket.id, [])
    if len(known) >= MOST_FILES:
        raise Invalid(f"A ticket has at most {MOST_FILES} attachments", field="file")
    actor = ctx.actor
    store.attach(ctx, ticket, free_name(filename, known), data, actor.username)
    ctx.db.update(store.ticket, {"id": ticket.id}, updated=ctx.moment, updated_by=actor.username)
    record(ctx, "ticket_attachment_upload", entity_of(ticket.id, ticket.summary))


def free_name(filename: str, known: Sequence[str]) -> str:
    """The name itself, or one with a number if the ticket has such a file: by its name it is fetched."""
    stem, _, extension = filename.rpartition(".")
    number = 1
    name = filename
    while name in known:
        number += 1
        name = f"{stem}-{number}.{extension}"
    return name


def _update(ctx: Context, ticket: Ticket, **changes: str) -> None:
    actor = ctx.actor
    ctx.db.update(store.ticket, {"id": ticket.id}, updated=ctx.moment, updated_by=actor.username, **changes)
    record(ctx, "ticket_update", entity_of(ticket.id, ticket.summary))
