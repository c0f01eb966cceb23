"""Does one command of ``crofter admin``, on the database itself, and sees that it is put on record.

Each group of commands is a module that is imported only when it is needed. It has two tables: ``RECORDED`` for what
puts itself on the record of an account, in the transaction of its change, and ``LOOKING`` for what does not; that is
put on the server's own record, here, once it was done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import msgspec

from crofter.cli.operators import Arguments, Refused, Rows, command_of, on_servers_record
from crofter.cli.ownership import handed_over
from crofter.config import Settings
from crofter.context import Runtime
from crofter.db.schema import SchemaError
from crofter.errors import Problem

Command = Callable[[Runtime, Arguments], Rows]

MODULES = {
    "accounts": "accounts",
    "accounts close": "closing",
    "accounts credit": "money",
    "accounts refund": "money",
    "accounts resume": "suspending",
    "accounts suspend": "suspending",
    "addresses": "addresses",
    "addresses whose": "address_holders",
    "audit": "auditing",
    "backup": "backups",
    "clock": "service_clock",
    "hosts": "hosts",
    "hosts fence": "host_losses",
    "hosts remove": "host_losses",
    "images": "images",
    "mails": "auditing",
    "maintenance": "maintenance",
    "managed": "managed",
    "operations": "operations",
    "tickets": "tickets",
    "tokens": "accounts",
    "users": "accounts",
    "users delete": "suspending",
    "users reset-two-factor": "suspending",
}
"""Module of each command, or of the command's group."""
WHOLE_SERVER = ("init", "move", "restore", "rotate-key", "clock back")
"""Commands that need every resource, because they make all tables or go through them; they want no server to run. For
the rest it is not loaded, since that takes longer than all that they do."""
NEED_NO_DATABASE = ("accounts", "users", "tokens", "mails", "audit")
"""Groups that set up a new database if there is none."""


def run(settings: Settings, arguments: Arguments) -> int:
    """Run one command and return its exit code."""
    try:
        with handed_over(settings.folder):
            opens_itself = _OPENING.get(arguments["group"]) or _OPENING.get(command_of(arguments))
            if opens_itself is not None:
                return opens_itself(settings, arguments)
            return _show(arguments, _done(settings, arguments))
    except Refused as refused:
        _show(arguments, refused.rows)
        return 1
    except (Problem, SchemaError, ValueError) as error:
        print(f"crofter: {error}", file=sys.stderr)
        return 1


def _done(settings: Settings, arguments: Arguments) -> Rows:
    from crofter.cli import opening  # noqa: PLC0415 - for ``--help`` nothing of the server is loaded

    command = command_of(arguments)
    module = import_module(f"crofter.cli.{MODULES.get(command) or MODULES[arguments['group']]}")
    recorded: dict[str, Command] = getattr(module, "RECORDED", {})
    new = arguments["group"] in NEED_NO_DATABASE
    runtime = opening.opened(settings) if new else opening.opened_existing(settings)
    try:
        if command in recorded:
            return recorded[command](runtime, arguments)
        looking: dict[str, Command] = module.LOOKING
        rows = looking[command](runtime, arguments)
        on_servers_record(runtime, arguments)
        return rows
    finally:
        runtime.database.close()


# commands that open the database themselves, or need none


def _rotate_key(settings: Settings, arguments: Arguments) -> int:
    from crofter.cli import keys  # noqa: PLC0415

    return keys.rotate(settings, arguments)


def _restore(settings: Settings, arguments: Arguments) -> int:
    from crofter.cli import backups  # noqa: PLC0415

    return _show(arguments, backups.restore(settings, arguments))


def _doctor(settings: Settings, arguments: Arguments) -> int:
    from crofter.cli import doctor  # noqa: PLC0415

    return _show(arguments, doctor.examine(settings, arguments))


def _init(settings: Settings, arguments: Arguments) -> int:
    from crofter.cli import moving  # noqa: PLC0415

    return _show(arguments, moving.init(settings, arguments))


def _move(settings: Settings, arguments: Arguments) -> int:
    from crofter.cli import moving  # noqa: PLC0415

    return _show(arguments, moving.move(settings, arguments))


def _clock_back(settings: Settings, arguments: Arguments) -> int:
    from crofter.cli import clock_back  # noqa: PLC0415

    return _show(arguments, clock_back.back(settings, arguments))


_OPENING = {
    "init": _init,
    "move": _move,
    "rotate-key": _rotate_key,
    "restore": _restore,
    "doctor": _doctor,
    "clock back": _clock_back,
}


# ---- showing --------------------------------------------------------------------------------------------------------


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
