"""``crofter admin backup`` and ``restore``: the whole database into one file, and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from crofter import audit, rotation
from crofter.bootstrap import MASTERS, build_runtime, make_keyring, prepare
from crofter.cli.operators import SERVER, Arguments, Refused, Rows, on_record, on_servers_record, plain
from crofter.config import Settings
from crofter.context import Context, Runtime
from crofter.db import Database, meta, open_database
from crofter.db.schema import COLUMNS, known_revisions, must_fit
from crofter.engine import timekeeping
from crofter.errors import Invalid, Unavailable
from crofter.keyring import Unopenable
from crofter.rng import Rng

if TYPE_CHECKING:
    from crofter.db.sqlite import SqliteDatabase

SQLITE = b"SQLite format 3\x00"
DATABASE = "crofter.db"
LAST_BACKUP = "last_backup"
"""The service time of the last backup, which the metrics show."""


def back_up(runtime: Runtime, arguments: Arguments) -> Rows:
    """Write a consistent backup while the server runs. The file gets its final name when the backup is complete."""
    target = Path(arguments["file"])
    whole = target.with_name(f".{target.name}.new")
    try:
        if target.exists():
            raise Invalid(f"{target} exists already")
        whole.unlink(missing_ok=True)
        if runtime.database.dialect == "sqlite":
            cast("SqliteDatabase", runtime.database).copy_to(whole)
        else:
            with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                _write_rows(runtime.database, file)
        os.link(whole, target)  # unlike a rename, it replaces nothing
    except OSError as error:
        raise Invalid(f"cannot write {target}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            whole.unlink(missing_ok=True)
    _note(runtime, arguments)
    return [{"file": str(target.resolve()), "bytes": target.stat().st_size, "revision": known_revisions()[-1]}]


def _note(runtime: Runtime, arguments: Arguments) -> None:
    """Record the time of the backup and the command. Warn if the database takes no writes, since the file is whole."""
    try:
        with runtime.database.write() as db:
            meta.put(db, LAST_BACKUP, runtime.clock.now())
            on_record(Context(runtime, db), arguments, SERVER, plain(arguments["file"]))
    except Unavailable as error:
        warning = f"the backup is whole, but the database could not record it: {error}"
        print(f"crofter: {warning}", file=sys.stderr)


def _write_rows(database: Database, file: IO[bytes]) -> None:
    from crofter.db import backups  # noqa: PLC0415 - PostgreSQL's driver is not there for SQLite alone

    backups.write(database, file, known_revisions()[-1])
    file.flush()
    os.fsync(file.fileno())


def restore(settings: Settings, arguments: Arguments) -> Rows:
    """Put back what a backup holds, while nothing else is at the database. Then look whether the audit log is whole."""
    import crofter.registry  # noqa: F401, PLC0415 - an empty database gets every table

    source = Path(arguments["file"])
    sqlite = _is_sqlite(source)
    if sqlite != (settings.database is None):
        raise Invalid(f"{source} is a backup of {'SQLite' if sqlite else 'PostgreSQL'}, and this database is not")
    key_must_be_there(settings)
    if sqlite:
        _must_be_whole(source)
    _key_must_open(settings, source, sqlite=sqlite)
    with _emptied_if_refused(settings):
        _put_back_into(settings, source, replace=arguments["replace"])
        runtime = build_runtime(settings)
    try:
        timekeeping.load(runtime)
        with runtime.database.read() as db:
            broken = audit.verify(runtime.keyring, db)
        if broken:
            raise Refused(
                [{"restored": str(source), "account": fault.account_id, "broken": fault.what} for fault in broken]
            )
        on_servers_record(runtime, arguments)
    finally:
        runtime.database.close()
    return [{"restored": str(source), "audit": "whole"}]


def _put_back_into(settings: Settings, source: Path, *, replace: bool) -> None:
    database = open_database(settings.database, settings.folder)
    try:
        _must_be_empty(database, replace=replace, made=prepare(database) == "made")
        _put_back(database, source)
    finally:
        database.close()


@contextmanager
def _emptied_if_refused(settings: Settings) -> Iterator[None]:
    """If the block fails, remove what it has made in a target that was empty before."""
    if settings.database is None:
        path = settings.folder / DATABASE if settings.folder else None
        new = path is not None and not path.exists()
        try:
            yield
        except BaseException:
            if path is not None and new:
                for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                    path.with_name(name).unlink(missing_ok=True)
            raise
        return
    from crofter.db import backups  # noqa: PLC0415

    database = open_database(settings.database, None)
    try:
        before = backups.contents(database)
        try:
            yield
        except BaseException:
            if not backups.has_schema(before):
                backups.drop_all_but(database, before)
            raise
    finally:
        database.close()


def _is_sqlite(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise Invalid(f"cannot read {source}: {error.strerror}") from error


def key_must_be_there(settings: Settings) -> None:
    """A new key would be made otherwise, which opens nothing of the backup."""
    folder = settings.folder
    if settings.secret_key is None and not (folder and (folder / MASTERS).exists()):
        raise Invalid(f"put the {MASTERS} that belongs to the backup into {settings.data}, or set CROFTER_SECRET_KEY")


def _key_must_open(settings: Settings, source: Path, *, sqlite: bool) -> None:
    """Refuse a backup that was sealed with another key, before anything in the target is changed."""
    if sqlite:
        kept = _hash_keys(source)
    else:
        from crofter.db import backups  # noqa: PLC0415

        kept = backups.hash_keys(source)
    try:
        rotation.open_hash_keys(make_keyring(settings, Rng()), kept)
    except Unopenable:
        raise Invalid(f"the secret key is not the one that {source} was sealed with; nothing was changed") from None


def _hash_keys(source: Path) -> dict[str, bytes]:
    import apsw  # noqa: PLC0415 - who has PostgreSQL needs none

    connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute("SELECT name, value FROM hash_key").fetchall()
    finally:
        connection.close()
    return {str(name): bytes(cast("bytes", value)) for name, value in rows}


def _must_be_empty(database: Database, *, replace: bool, made: bool) -> None:
    if not (replace or made):
        raise Invalid("there is a database already; --replace puts the backup in its place")
    if database.dialect != "sqlite":
        from crofter.db import backups  # noqa: PLC0415

        if backups.in_use(database):
            raise Invalid("a server or a worker is at this database; stop them all first")


def _put_back(database: Database, source: Path) -> None:
    if database.dialect == "sqlite":
        cast("SqliteDatabase", database).copy_from(source)
        prepare(database)  # a backup of an older release is moved forward
        return
    from crofter.db import backups  # noqa: PLC0415

    backups.read(database, source, known_revisions()[-1])


def _must_be_whole(source: Path) -> None:
    """A database of a release that this one knows, all of it looked at: what is there is replaced at once."""
    import apsw  # noqa: PLC0415 - who has PostgreSQL needs none

    from crofter.db.schema_changes import columns_at  # noqa: PLC0415 - loads SQLAlchemy

    try:
        connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            verdict = connection.execute("PRAGMA integrity_check(1)").fetchall()[0][0]
            revisions = [
                str(row[0]) for row in connection.execute("SELECT version_num FROM alembic_version").fetchall()
            ]
            columns = connection.execute(COLUMNS["sqlite"]).fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise Invalid(f"{source} is no whole backup: {type(error).__name__}") from error
    if verdict != "ok":
        raise Invalid(f"{source} is damaged: {verdict}")
    if not set(revisions) <= set(known_revisions()):
        raise Invalid(f"{source} has schema {', '.join(revisions)}, which this release does not know")
    for revision in revisions:
        must_fit(revision, columns, columns_at(revision))


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {"backup": back_up}
