"""The database that a command of ``crofter admin`` works on, beside the server that may be running."""

from __future__ import annotations

import sys

from crofter.bootstrap import FIRST_USER_KEY, bootstrap, build_runtime
from crofter.cli import first_login
from crofter.config import Settings
from crofter.context import Runtime
from crofter.db import meta
from crofter.engine import timekeeping


def opened(settings: Settings, *, beside: bool = True) -> Runtime:
    """Open the server's database with its clock. Set up the schema if the database is empty."""
    runtime = build_runtime(settings, beside=beside)
    timekeeping.load(runtime)
    with runtime.database.read() as db:
        set_up = meta.get(db, FIRST_USER_KEY) is not None
    first = None if set_up else bootstrap(runtime)
    if first is not None:
        made = f"user {first.username}, password {first.password}, token {first.token}"
        print(f"crofter: a new database: {first_login.kept(settings, first) or made}", file=sys.stderr)
    return runtime


def must_exist(settings: Settings) -> None:
    """Refuse a command that makes no sense without a database."""
    if settings.database is None and not (settings.folder and (settings.folder / "crofter.db").exists()):
        raise ValueError(f"there is no database in {settings.data}")


def opened_existing(settings: Settings) -> Runtime:
    """The server that has been set up before: the command makes no sense without one."""
    must_exist(settings)
    runtime = build_runtime(settings, beside=True)
    timekeeping.load(runtime)
    return runtime
