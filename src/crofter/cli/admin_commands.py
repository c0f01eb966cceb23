"""What ``crofter admin`` does, on the database itself: for whoever runs the server."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from crofter import audit, keyring, rotation
from crofter.assembly import FIRST_USER_KEY, MASTERS, bootstrap, build_runtime
from crofter.cli import accounts, hosts, managed, tickets
from crofter.config import Settings
from crofter.context import Context, Runtime
from crofter.db import meta
from crofter.db.schema import SchemaError
from crofter.drivers.mail import Outbox
from crofter.engine import timekeeping
from crofter.errors import Problem
from crofter.resources.support import staff as support_staff
from crofter.rng import Rng

Arguments = dict[str, Any]
BESIDE = {**tickets.COMMANDS, **managed.COMMANDS, **hosts.COMMANDS}
"""What only makes sense on a database that has been set up."""


def run(settings: Settings, arguments: Arguments) -> int:
    """Do one command; the exit code."""
    command = f"{arguments['group']} {arguments['verb']}".strip()
    try:
        if command == "rotate-key":
            return _rotate_key(settings)
        runtime = tickets.opened(settings) if command in BESIDE else _opened(settings)
        try:
            if command in _COMMANDS:
                return _COMMANDS[command](runtime, arguments)
            act = BESIDE.get(command) or accounts.COMMANDS[command]
            return _show(arguments, act(runtime, arguments))
        finally:
            runtime.database.close()
    except (Problem, SchemaError, ValueError) as error:
        print(f"crofter: {error}", file=sys.stderr)
        return 1


def _opened(settings: Settings, *, beside: bool = True) -> Runtime:
    """The server, beside the server that may be running; set up here if this is the first that anybody does with it."""
    runtime = build_runtime(settings, beside=beside)
    timekeeping.load(runtime)
    with runtime.database.read() as db:
        set_up = meta.get(db, FIRST_USER_KEY) is not None
    first = None if set_up else bootstrap(runtime)
    if first is not None:
        made = f"a new database: user {first.username}, password {first.password}, token {first.token}"
        print(f"crofter: {made}", file=sys.stderr)
    return runtime


def _list_mails(runtime: Runtime, arguments: Arguments) -> int:
    mailer = runtime.mailer
    mails = mailer.mails() if isinstance(mailer, Outbox) else []
    if arguments["json"]:
        return _show(arguments, mails)
    for one in mails:
        print(f"To: {one['to']}\nSubject: {one['subject']}\nSent: {one['sent']}\n\n{one['text']}")
    return 0


def _verify_audit(runtime: Runtime, arguments: Arguments) -> int:
    kept = arguments["checkpoint"]
    outside = None if kept is None else audit.read_file(runtime.keyring, Path(kept))
    with runtime.database.read() as db:
        broken = audit.verify(runtime.keyring, db, outside)
    if broken:
        _show(arguments, [msgspec.structs.asdict(one) for one in broken])
        return 1
    print("[]" if arguments["json"] else "the audit log is whole")
    return 0


def _checkpoint_audit(runtime: Runtime, arguments: Arguments) -> int:
    taken = audit.take(runtime)
    try:
        audit.write_file(runtime.keyring, taken, Path(arguments["file"]))
    except OSError as error:
        raise ValueError(f"{arguments['file']} cannot be written: {error.strerror}") from None
    told = {"number": taken.number, "at": taken.at, "accounts": len(taken.heads), "file": arguments["file"]}
    return _show(arguments, [told])


def _show_audit(runtime: Runtime, arguments: Arguments) -> int:
    """Who did what to an account, the latest last. Users and paths are what people wrote: shown as plain text."""
    with runtime.database.read() as db:
        account_id = support_staff.account_of(Context(runtime, db), arguments["euuid"])
        latest = deque(audit.entries(db, account_id), maxlen=arguments["last"])
    names = ("number", "at", "username", "address", "operation", "path", "fields", "events")
    rows = [{name: getattr(entry, name) for name in names} for entry in latest]
    if arguments["json"]:
        rows = [
            {**row, "before": bytes(entry.before).hex(), "after": bytes(entry.after).hex()}
            for row, entry in zip(rows, latest, strict=True)
        ]
    else:
        rows = [{name: tickets.plain(_listed(value)) for name, value in row.items()} for row in rows]
    return _show(arguments, rows)


def _listed(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _rotate_key(settings: Settings) -> int:
    """With the key in a file: a new one is made, and the old one dropped when nothing needs it any more."""
    folder = settings.folder
    in_file = settings.secret_key is None and folder is not None
    if in_file:
        assert folder is not None
        _opened(settings, beside=False).database.close()  # nobody else is at it, and the key at hand is the right one
        keyring.add_master(folder / MASTERS, Rng())
    elif not settings.former_secret_keys:
        raise ValueError(
            "put the new key into CROFTER_SECRET_KEY and the old one into CROFTER_FORMER_SECRET_KEYS, then run this"
        )
    runtime = _opened(settings, beside=False)
    try:
        done = rotation.rotate(runtime)
    finally:
        runtime.database.close()
    for one in done.left:
        print(f"crofter: {one.table}.{one.column} of {one.key} cannot be opened with any key", file=sys.stderr)
    if in_file and not done.left:
        assert folder is not None
        keyring.drop_former_masters(folder / MASTERS)
    print(f"{done.rewrapped} sealed values are under the new key")
    if not in_file and not done.left:
        print("CROFTER_FORMER_SECRET_KEYS can be dropped")
    return 1 if done.left else 0


def _show(arguments: Arguments, rows: Sequence[dict[str, Any]]) -> int:
    """A table for people, JSON for programs."""
    if arguments["json"]:
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
    elif rows:
        names = list(rows[0])
        cells = [names] + [[_cell(row[name]) for name in names] for row in rows]
        widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
        for line in cells:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


_COMMANDS: dict[str, Callable[[Runtime, Arguments], int]] = {
    "mails list": _list_mails,
    "audit show": _show_audit,
    "audit verify": _verify_audit,
    "audit checkpoint": _checkpoint_audit,
}
