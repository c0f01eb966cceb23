"""``crofter admin move`` and ``init``: how a database begins."""

from __future__ import annotations

import msgspec

import crofter.registry  # noqa: F401 - every table
from crofter import audit
from crofter.bootstrap import FIRST_USER_KEY, bootstrap, build_runtime, prepare
from crofter.cli.backups import key_must_be_there
from crofter.cli.operators import Arguments, Refused, Rows, on_servers_record
from crofter.config import Settings
from crofter.context import Runtime
from crofter.db import meta, open_database
from crofter.engine import timekeeping
from crofter.errors import Invalid


def init(settings: Settings, arguments: Arguments) -> Rows:
    """Set up an empty database, and show the first password and token here, once, instead of keeping them in a file."""
    runtime = build_runtime(settings, beside=settings.database is None)
    try:
        timekeeping.load(runtime)
        first = bootstrap(runtime) if _is_new(runtime) else None
        if first is None:
            raise Invalid("this database has been set up before; users set-password makes a new password")
        on_servers_record(runtime, arguments)
    finally:
        runtime.database.close()
    return [{"username": first.username, "password": first.password, "token": first.token}]


def _is_new(runtime: Runtime) -> bool:
    with runtime.database.read() as db:
        return meta.get(db, FIRST_USER_KEY) is None


def move(settings: Settings, arguments: Arguments) -> Rows:
    """From SQLite in the data folder to an empty PostgreSQL, with the server stopped. SQLite's file stays as it is."""
    from crofter.db import moving  # noqa: PLC0415 - PostgreSQL's driver

    address = _checked(arguments["to"])
    if settings.database is not None:
        raise Invalid("move goes from SQLite to PostgreSQL, and these settings name PostgreSQL already")
    if not (settings.folder and (settings.folder / "crofter.db").exists()):
        raise Invalid(f"there is no database in {settings.data}")
    key_must_be_there(settings)
    source = build_runtime(settings)  # raises unless the database is free, its schema is current and the key fits
    try:
        with source.database.read() as db:
            _must_be_whole(source, audit.verify(source.keyring, db))
        target = open_database(address, None)
        try:
            moving.must_be_empty(target)
            prepare(target)
            rows = sum(moving.move(source.database, target).values())
        finally:
            target.close()
    finally:
        source.database.close()
    _confirm(settings, address, arguments)
    return [{"moved": rows, "audit": "whole", "next": "start every process with CROFTER_DATABASE and the same key"}]


def _confirm(settings: Settings, address: str, arguments: Arguments) -> None:
    """Verify that the copy opens with the key and is complete. Write the audit entry there, where the log continues."""
    runtime = build_runtime(msgspec.structs.replace(settings, database=address))
    try:
        timekeeping.load(runtime)
        with runtime.database.read() as db:
            _must_be_whole(runtime, audit.verify(runtime.keyring, db))
        on_servers_record(runtime, arguments)
    finally:
        runtime.database.close()


def _must_be_whole(runtime: Runtime, broken: list[audit.Tampering]) -> None:
    if broken:
        where = runtime.database.dialect
        raise Refused([{"audit log of": where, "account": fault.account_id, "broken": fault.what} for fault in broken])


def _checked(address: str) -> str:
    if not address.startswith(("postgresql://", "postgres://")):
        raise Invalid("the address to move to starts with postgresql://")
    return address
