"""Identity of the operator who runs ``crofter admin``, and one audit entry for each command."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from typing import Any

from crofter import audit
from crofter.context import Context, Runtime

Arguments = dict[str, Any]
Rows = list[dict[str, Any]]

SERVER = 0
"""The chain of the audit log for what concerns no single account. No account has this number."""
_NAMED = ("euuid", "id", "compute_id", "username", "user", "file", "region", "name")
"""Arguments that say what a command was about, and are no secrets."""


class Refused(Exception):
    """The command was done and found something wrong: the rows say what. Nothing is put on record."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.rows = rows


def plain(text: str) -> str:
    """Without what a terminal takes for commands: customers write this, and we look at it."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def operator(arguments: Arguments) -> str:
    """Return the operator's name for the audit log: the given name, and always the system user."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without a name, as containers have them
        user = f"uid {os.getuid()}"
    return f"staff {plain(arguments['as'])} ({user})" if arguments["as"] else f"staff {user}"


def command_of(arguments: Arguments) -> str:
    return f"{arguments['group']} {arguments['verb']}".strip()


def on_record(ctx: Context, arguments: Arguments, account_id: int, path: str, fields: Iterable[str] = ()) -> None:
    """Put the command on the record of the account that it changed or showed secrets of, in the same transaction."""
    audit.write_without_token(ctx, account_id, operator(arguments), command_of(arguments), path, fields)


def on_servers_record(runtime: Runtime, arguments: Arguments) -> None:
    """Put a command on record that looked around, or changed the server itself."""
    about = next((str(arguments[name]) for name in _NAMED if arguments.get(name) is not None), "")
    with runtime.database.write() as db:
        on_record(Context(runtime, db), arguments, SERVER, plain(about))
