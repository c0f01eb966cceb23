"""What the support staff does: answers tickets, looks after managed accounts. Works beside a running server."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import bindparam, or_, select

from crofter import clock, journal
from crofter.assembly import build_world
from crofter.config import Settings
from crofter.context import Context, World
from crofter.db import Row, query
from crofter.engine import timekeeping
from crofter.errors import Invalid
from crofter.journal import Author
from crofter.resources.account.rules import ENTITY, disable_managed
from crofter.resources.account.store import account
from crofter.resources.instances import store as instances
from crofter.resources.maintenance import rules as maintenance
from crofter.resources.maintenance import store as maintained
from crofter.resources.managed.credentials import rules as credentials
from crofter.resources.managed.credentials.store import credential
from crofter.resources.managed.services.store import service
from crofter.resources.support import house
from crofter.resources.support import store as support

Asked = dict[str, Any]
Rows = list[dict[str, Any]]


def opened(settings: Settings) -> World:
    """The house as the running server has it, its clock included."""
    if settings.database is None and not (settings.folder and (settings.folder / "crofter.db").exists()):
        raise ValueError(f"there is no database in {settings.data}")
    world = build_world(settings, beside=True)
    timekeeping.load(world)
    return world


def plain(text: str) -> str:
    """Without what a terminal takes for commands: customers write this, and we look at it."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)


def _me() -> str:
    """Who sits here, for the record."""
    return f"staff {getpass.getuser()}"


def _text(asked: Asked) -> str:
    return sys.stdin.read() if asked["text"] == "-" else str(asked["text"])


# ---- tickets --------------------------------------------------------------------------------------------------------


def list_tickets(world: World, asked: Asked) -> Rows:
    with world.database.read() as db:
        found = house.queue(Context(world, db), closed=asked["all"])
    return [{**msgspec.structs.asdict(one), "summary": plain(one.summary)} for one in found]


def show_ticket(world: World, asked: Asked) -> Rows:
    with world.database.read() as db:
        ctx = Context(world, db)
        ticket = house.any_ticket(ctx, asked["id"])
        replies = house.replies(ctx, ticket)
        files = support.attached(ctx, [ticket.id]).get(ticket.id, [])
    said = [(ticket.opened, ticket.opened_by, ticket.description)]
    said += [(reply.created, reply.created_by, reply.description) for reply in replies]
    if not asked["json"]:
        print(f"{ticket.id}  {plain(ticket.summary)}  ({ticket.status})")
        for name in files:
            print(f"attached: {plain(name)}")
        for at, by, words in said:
            print(f"\n{at}  {by}\n{plain(words)}")
        return []
    return [{"at": at, "by": by, "text": words, "attachments": files} for at, by, words in said]


def answer_ticket(world: World, asked: Asked) -> Rows:
    words = _text(asked)
    with world.database.write() as db:
        house.answer(Context(world, db), asked["id"], words, close=asked["close"])
    return [{"answered": asked["id"]}]


def close_ticket(world: World, asked: Asked) -> Rows:
    with world.database.write() as db:
        house.close(Context(world, db), asked["id"])
    return [{"closed": asked["id"]}]


def open_ticket(world: World, asked: Asked) -> Rows:
    words = _text(asked)
    if not 1 <= len(asked["summary"]) <= 64:
        raise Invalid("a summary has 1 to 64 characters")
    with world.database.write() as db:
        ctx = Context(world, db)
        account_id = house.account_of(ctx, asked["euuid"])
        number = house.open_ticket(ctx, account_id, asked["summary"], words, by=house.STAFF, nature=asked["nature"])
    return [{"opened": number}]


def save_attachment(world: World, asked: Asked) -> Rows:
    """Into a file that only its owner reads, and that nothing would run."""
    with world.database.read() as db:
        ctx = Context(world, db)
        found = support.any_file(ctx, asked["id"], asked["filename"])
    target = os.open(asked["to"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(target, "wb") as file:
        file.write(found.content)
    return [{"saved": str(Path(asked["to"]).resolve()), "size": len(found.content)}]


# ---- managed --------------------------------------------------------------------------------------------------------


class _Monitored(Row):
    id: int
    euuid: str
    status: str
    label: str
    address: str
    notes: str | None


_SERVICES = query(
    select(service.c.id, account.c.euuid, service.c.status, service.c.label, service.c.address, service.c.notes)
    .join(account, account.c.id == service.c.account_id)
    .where(or_(bindparam("everything"), service.c.status == "problem"))
    .order_by(service.c.id),
    _Monitored,
)


class _Entrusted(Row):
    id: int
    label: str
    last_decrypted: str | None


_CREDENTIALS = query(
    select(credential.c.id, credential.c.label, credential.c.last_decrypted)
    .where(credential.c.account_id == bindparam("account_id"))
    .order_by(credential.c.id),
    _Entrusted,
)


def list_services(world: World, asked: Asked) -> Rows:
    with world.database.read() as db:
        found = db.all(_SERVICES, everything=not asked["problems"])
    return [{**msgspec.structs.asdict(one), "notes": plain(one.notes or "")} for one in found]


def list_credentials(world: World, asked: Asked) -> Rows:
    with world.database.read() as db:
        account_id = house.account_of(Context(world, db), asked["euuid"])
        return [msgspec.structs.asdict(one) for one in db.all(_CREDENTIALS, account_id=account_id)]


def decrypt(world: World, asked: Asked) -> Rows:
    with world.database.write() as db:
        return [dict(credentials.decrypt(Context(world, db), asked["id"], by=_me()))]


def ssh_key(world: World, asked: Asked) -> Rows:
    with world.database.write() as db:
        ctx = Context(world, db)
        private = credentials.private_key(ctx, house.account_of(ctx, asked["euuid"]), by=_me())
    if asked["json"]:
        return [{"private_key": private}]
    print(private, end="")
    return []


def disable(world: World, asked: Asked) -> Rows:
    with world.database.write() as db:
        ctx = Context(world, db)
        account_id = house.account_of(ctx, asked["euuid"])
        db.hold(account_id)
        if not disable_managed(ctx, account_id):
            raise Invalid("managed service is not enabled on this account")
        journal.write(db, ctx.now, Author(account_id, None, house.STAFF), "managed_disabled", "notification", ENTITY)
    return [{"disabled": asked["euuid"]}]


# ---- maintenance ----------------------------------------------------------------------------------------------------


def schedule_maintenance(world: World, asked: Asked) -> Rows:
    when = clock.parse(asked["when"])
    with world.database.write() as db:
        ctx = Context(world, db)
        instance = instances.again(ctx, asked["compute_id"])
        db.hold(instance.account_id)
        if when <= ctx.now:
            raise Invalid(f"{asked['when']} is over")
        number = maintenance.schedule(ctx, instance, asked["type"], when, asked["reason"])
    return [{"scheduled": number}]


def list_maintenance(world: World, asked: Asked) -> Rows:
    with world.database.read() as db:
        found = maintained.everybodys(Context(world, db))
    return [
        {"id": one.id, "compute_id": one.instance_id, "when": one.when_, "type": one.type, "status": one.status}
        | {"label": plain(one.label), "reason": one.reason}
        for one in found
    ]


def cancel_maintenance(world: World, asked: Asked) -> Rows:
    with world.database.write() as db:
        if not maintenance.call_off(Context(world, db), asked["id"]):
            raise Invalid(f"there is no maintenance {asked['id']} that has not begun")
    return [{"cancelled": asked["id"]}]


COMMANDS: dict[str, Callable[[World, Asked], Rows]] = {
    "tickets list": list_tickets,
    "tickets show": show_ticket,
    "tickets answer": answer_ticket,
    "tickets close": close_ticket,
    "tickets open": open_ticket,
    "tickets save": save_attachment,
    "managed services": list_services,
    "managed credentials": list_credentials,
    "managed decrypt": decrypt,
    "managed ssh-key": ssh_key,
    "managed disable": disable,
    "maintenance schedule": schedule_maintenance,
    "maintenance list": list_maintenance,
    "maintenance cancel": cancel_maintenance,
}
