"""Commands of the support staff on tickets. They run next to a server, and the audit log names the operator."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from crofter.cli.operators import Arguments, Rows, on_record, plain
from crofter.context import Context, Runtime
from crofter.errors import Invalid, NotFound
from crofter.kinds import Entity
from crofter.resources.support import staff, store
from crofter.resources.support.shapes import LONGEST, LONGEST_SUMMARY
from crofter.resources.support.store import Ticket


@contextmanager
def seeking(what: str) -> Iterator[None]:
    """Says what is not there: one line of a command may name several things."""
    try:
        yield
    except NotFound as error:
        raise NotFound(f"there is no {what}") from error


def _text(arguments: Arguments) -> str:
    words = sys.stdin.read() if arguments["text"] == "-" else str(arguments["text"])
    if not 1 <= len(words.strip()) <= LONGEST:
        raise Invalid(f"a text has 1 to {LONGEST} characters")
    return words


def _on_record(ctx: Context, ticket: Ticket, arguments: Arguments) -> None:
    on_record(ctx, arguments, ticket.account_id, f"/v4/support/tickets/{ticket.id}")


def _ticket(ctx: Context, arguments: Arguments) -> Ticket:
    with seeking(f"ticket {arguments['id']}"):
        return staff.ticket_unscoped(ctx, arguments["id"])


def list_tickets(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        tickets = staff.queue(Context(runtime, db), closed=arguments["all"])
    return [{**msgspec.structs.asdict(ticket), "summary": plain(ticket.summary)} for ticket in tickets]


def show_ticket(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        ctx = Context(runtime, db)
        ticket = _ticket(ctx, arguments)
        replies = staff.replies(ctx, ticket)
        files = store.attached(ctx, [ticket.id]).get(ticket.id, [])
        euuid = staff.euuid_of(ctx, ticket)
    messages = [(ticket.opened, ticket.opened_by, ticket.description)]
    messages += [(reply.created, reply.created_by, reply.description) for reply in replies]
    if arguments["json"]:
        about = {"euuid": euuid, "about": ticket.entity_url, "attachments": files}
        return [{"at": at, "by": by, "text": words, **about} for at, by, words in messages]
    print(f"{ticket.id}  {plain(ticket.summary)}  ({ticket.status})\naccount: {euuid}")
    if ticket.entity_type is not None:
        print(f"about: {ticket.entity_type} {plain(ticket.entity_label or '')}  {plain(ticket.entity_url or '')}")
    for name in files:
        print(f"attached: {plain(name)}")
    for at, by, words in messages:
        print(f"\n{at}  {by}\n{plain(words)}")
    return []


def answer_ticket(runtime: Runtime, arguments: Arguments) -> Rows:
    words = _text(arguments)
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        _on_record(ctx, staff.answer(ctx, _ticket(ctx, arguments).id, words, close=arguments["close"]), arguments)
    return [{"answered": arguments["id"]}]


def close_ticket(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        _on_record(ctx, staff.close(ctx, _ticket(ctx, arguments).id), arguments)
    return [{"closed": arguments["id"]}]


def open_ticket(runtime: Runtime, arguments: Arguments) -> Rows:
    words = _text(arguments)
    if not 1 <= len(arguments["summary"].strip()) <= LONGEST_SUMMARY:
        raise Invalid(f"a summary has 1 to {LONGEST_SUMMARY} characters")
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        account_id = staff.account_of(ctx, arguments["euuid"])
        about = None if arguments["compute"] is None else _instance(ctx, account_id, arguments["compute"])
        number = staff.open_ticket(
            ctx, account_id, arguments["summary"], words, by=staff.STAFF, nature=arguments["nature"], about=about
        )
        _on_record(ctx, staff.ticket_unscoped(ctx, number), arguments)
    return [{"opened": number}]


def _instance(ctx: Context, account_id: int, compute_id: int) -> Entity:
    from crofter.resources.instances import store as instances  # noqa: PLC0415

    with seeking(f"instance {compute_id}"):
        instance = instances.get_unscoped(ctx, compute_id)
    if instance.account_id != account_id:
        raise Invalid(f"instance {compute_id} is not of this account")
    kind = ctx.runtime.kinds.get(instances.KIND)
    assert kind is not None
    return kind.entity(instance.id, instance.label)


def save_attachment(runtime: Runtime, arguments: Arguments) -> Rows:
    """Into a file that only its owner reads, and that nothing would run."""
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        ticket = _ticket(ctx, arguments)
        with seeking(f"file {arguments['filename']} in ticket {ticket.id}"):
            attachment = store.file_unscoped(ctx, ticket.id, arguments["filename"])
        content = store.file_content(ctx, attachment)
        _on_record(ctx, ticket, arguments)
        target = _new_file(arguments["to"])  # open the file first: a failed save must leave no audit entry
    with os.fdopen(target, "wb") as file:
        file.write(content)
    return [{"saved": str(Path(arguments["to"]).resolve()), "size": attachment.size}]


def _new_file(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Invalid(f"cannot write {path}: {error.strerror}") from error


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "tickets answer": answer_ticket,
    "tickets close": close_ticket,
    "tickets open": open_ticket,
    "tickets save": save_attachment,
}
LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "tickets list": list_tickets,
    "tickets show": show_ticket,
}
