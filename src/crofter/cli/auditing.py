"""Commands of ``crofter admin`` on the audit log and the outbox."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from crofter import audit
from crofter.cli.operators import SERVER, Arguments, Refused, Rows, plain
from crofter.context import Runtime
from crofter.db import Session
from crofter.drivers.mail import Outbox
from crofter.errors import NotFound
from crofter.resources.account import store as accounts


def _list_mails(runtime: Runtime, arguments: Arguments) -> Rows:
    mailer = runtime.mailer
    mails = mailer.mails() if isinstance(mailer, Outbox) else []
    if arguments["json"]:
        return mails
    for mail in mails:
        print(f"To: {mail['to']}\nSubject: {mail['subject']}\nSent: {mail['sent']}\n\n{mail['text']}")
    return []


def _verify_audit(runtime: Runtime, arguments: Arguments) -> Rows:
    kept = arguments["checkpoint"]
    outside = None if kept is None else audit.read_file(runtime.keyring, Path(kept))
    with runtime.database.read() as db:
        broken = audit.verify(runtime.keyring, db, outside)
    if broken:
        # a log that was tampered with gets no new entries
        raise Refused([msgspec.structs.asdict(fault) for fault in broken])
    if not arguments["json"]:
        print("the audit log is whole")
    return []


def _checkpoint_audit(runtime: Runtime, arguments: Arguments) -> Rows:
    taken = audit.take(runtime)
    try:
        audit.write_file(runtime.keyring, taken, Path(arguments["file"]))
    except OSError as error:
        raise ValueError(f"{arguments['file']} cannot be written: {error.strerror}") from None
    row = {"number": taken.number, "at": taken.at, "accounts": len(taken.heads), "file": arguments["file"]}
    return [row]


def _show_audit(runtime: Runtime, arguments: Arguments) -> Rows:
    """Return an account's audit entries, latest last. User names and paths are user input, printed as plain text."""
    with runtime.database.read() as db:
        account_id = _chain(db, arguments["euuid"])
        latest = deque(audit.entries(db, account_id), maxlen=arguments["last"])
    names = ("number", "at", "username", "address", "operation", "path", "fields", "events")
    rows = [{name: getattr(entry, name) for name in names} for entry in latest]
    if arguments["json"]:
        rows = [
            {**row, "before": bytes(entry.before).hex(), "after": bytes(entry.after).hex()}
            for row, entry in zip(rows, latest, strict=True)
        ]
    else:
        rows = [{name: plain(_listed(value)) for name, value in row.items()} for row in rows]
    return rows


def _listed(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _chain(db: Session, name: str) -> int:
    """The number under which entries are kept: an account's, or that of the server itself."""
    if name == "server":
        return SERVER
    account = accounts.by_euuid(db, name)
    if account is None:
        raise NotFound(f"there is no account {name}")
    return account.id


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "mails list": _list_mails,
    "audit show": _show_audit,
    "audit verify": _verify_audit,
    "audit checkpoint": _checkpoint_audit,
}
