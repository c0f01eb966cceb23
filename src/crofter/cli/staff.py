"""What the support staff does with tickets. Works beside a running server, and puts on record who did it."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from crofter import audit
from crofter.assembly import build_runtime
from crofter.config import Settings
from crofter.context import Context, Runtime
from crofter.engine import timekeeping
from crofter.errors import Invalid, NotFound
from crofter.kinds import Entity
from crofter.resources.instances import store as instances
from crofter.resources.instances.kind import COMPUTE
from crofter.resources.support import staff, store
from crofter.resources.support.shapes import LONGEST, LONGEST_SUMMARY
from crofter.resources.support.store import Ticket

Asked = dict[str, Any]
Rows = list[dict[str, Any]]


def opened(settings: Settings) -> Runtime:
    """The server as the running server has it, its clock included."""
    if settings.database is None and not (settings.folder and (settings.folder / "crofter.db").exists()):
        raise ValueError(f"there is no database in {settings.data}")
    runtime = build_runtime(settings, beside=True)
    timekeeping.load(runtime)
    return runtime


def plain(text: str) -> str:
    """Without what a terminal takes for commands: customers write this, and we look at it."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)


def operator(asked: Asked) -> str:
    """Who sits here, for the record: the name that was given, and always that of the machine's user."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without a name, as containers have them
        user = f"uid {os.getuid()}"
    return f"staff {plain(asked['as'])} ({user})" if asked["as"] else f"staff {user}"


@contextmanager
def seeking(what: str) -> Iterator[None]:
    """Says what is not there: one line of a command may name several things."""
    try:
        yield
    except NotFound as error:
        raise NotFound(f"there is no {what}") from error


def _text(asked: Asked) -> str:
    words = sys.stdin.read() if asked["text"] == "-" else str(asked["text"])
    if not 1 <= len(words.strip()) <= LONGEST:
        raise Invalid(f"a text has 1 to {LONGEST} characters")
    return words


def _on_record(ctx: Context, ticket: Ticket, asked: Asked) -> None:
    path = f"/v4/support/tickets/{ticket.id}"
    audit.write_staff(ctx, ticket.account_id, operator(asked), f"tickets {asked['verb']}", path)


def _ticket(ctx: Context, asked: Asked) -> Ticket:
    with seeking(f"ticket {asked['id']}"):
        return staff.any_ticket(ctx, asked["id"])


def list_tickets(runtime: Runtime, asked: Asked) -> Rows:
    with runtime.database.read() as db:
        found = staff.queue(Context(runtime, db), closed=asked["all"])
    return [{**msgspec.structs.asdict(one), "summary": plain(one.summary)} for one in found]


def show_ticket(runtime: Runtime, asked: Asked) -> Rows:
    with runtime.database.read() as db:
        ctx = Context(runtime, db)
        ticket = _ticket(ctx, asked)
        replies = staff.replies(ctx, ticket)
        files = store.attached(ctx, [ticket.id]).get(ticket.id, [])
        euuid = staff.euuid_of(ctx, ticket)
    said = [(ticket.opened, ticket.opened_by, ticket.description)]
    said += [(reply.created, reply.created_by, reply.description) for reply in replies]
    if asked["json"]:
        about = {"euuid": euuid, "about": ticket.entity_url, "attachments": files}
        return [{"at": at, "by": by, "text": words, **about} for at, by, words in said]
    print(f"{ticket.id}  {plain(ticket.summary)}  ({ticket.status})\naccount: {euuid}")
    if ticket.entity_type is not None:
        print(f"about: {ticket.entity_type} {plain(ticket.entity_label or '')}  {plain(ticket.entity_url or '')}")
    for name in files:
        print(f"attached: {plain(name)}")
    for at, by, words in said:
        print(f"\n{at}  {by}\n{plain(words)}")
    return []


def answer_ticket(runtime: Runtime, asked: Asked) -> Rows:
    words = _text(asked)
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        _on_record(ctx, staff.answer(ctx, _ticket(ctx, asked).id, words, close=asked["close"]), asked)
    return [{"answered": asked["id"]}]


def close_ticket(runtime: Runtime, asked: Asked) -> Rows:
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        _on_record(ctx, staff.close(ctx, _ticket(ctx, asked).id), asked)
    return [{"closed": asked["id"]}]


def open_ticket(runtime: Runtime, asked: Asked) -> Rows:
    words = _text(asked)
    if not 1 <= len(asked["summary"].strip()) <= LONGEST_SUMMARY:
        raise Invalid(f"a summary has 1 to {LONGEST_SUMMARY} characters")
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        account_id = staff.account_of(ctx, asked["euuid"])
        about = None if asked["compute"] is None else _instance(ctx, account_id, asked["compute"])
        number = staff.open_ticket(
            ctx, account_id, asked["summary"], words, by=staff.STAFF, nature=asked["nature"], about=about
        )
        _on_record(ctx, staff.any_ticket(ctx, number), asked)
    return [{"opened": number}]


def _instance(ctx: Context, account_id: int, compute_id: int) -> Entity:
    with seeking(f"instance {compute_id}"):
        found = instances.get_unscoped(ctx, compute_id)
    if found.account_id != account_id:
        raise Invalid(f"instance {compute_id} is not of this account")
    return COMPUTE.entity(found.id, found.label)


def save_attachment(runtime: Runtime, asked: Asked) -> Rows:
    """Into a file that only its owner reads, and that nothing would run."""
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        ticket = _ticket(ctx, asked)
        with seeking(f"file {asked['filename']} in ticket {ticket.id}"):
            found = store.any_file(ctx, ticket.id, asked["filename"])
        content = store.file_piece(ctx, found.id, 0, found.size)
        _on_record(ctx, ticket, asked)
        target = _new_file(asked["to"])  # what cannot be saved is not put on record
    with os.fdopen(target, "wb") as file:
        file.write(content)
    return [{"saved": str(Path(asked["to"]).resolve()), "size": found.size}]


def _new_file(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Invalid(f"cannot write {path}: {error.strerror}") from error


COMMANDS: dict[str, Callable[[Runtime, Asked], Rows]] = {
    "tickets list": list_tickets,
    "tickets show": show_ticket,
    "tickets answer": answer_ticket,
    "tickets close": close_ticket,
    "tickets open": open_ticket,
    "tickets save": save_attachment,
}
