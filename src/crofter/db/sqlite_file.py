"""The file of an SQLite database: made whole, and looked at before it is used."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import apsw

from crofter.errors import NoSpace, Unavailable

LOCK = "crofter.lock"
SIGNS = ("secret.key", LOCK, "crofter.db-wal")
"""Files next to the database that identify a data folder."""
CHECK_SECONDS = 0.5
"""How long a start looks for damage. That is about a hundred megabytes; the rest of a larger file is not looked at."""


def refuse_emptied(path: Path) -> None:
    """A server never leaves its database empty. To begin anew in its place would hide that everything is gone."""
    if path.exists() and path.stat().st_size == 0:
        signs = [sign for sign in SIGNS if (path.parent / sign).exists()]
        if signs:
            raise Unavailable(
                f"the database {path} is empty, but {signs[0]} beside it shows that it was not always: "
                f"restore it, or remove it to begin anew"
            )


def make(path: Path) -> None:
    """Make the file if there is none. It gets its name once it is not empty, so that no kill leaves an empty one."""
    if path.exists():
        return
    made = path.with_suffix(".new")
    made.unlink(missing_ok=True)
    made.touch(mode=0o600)  # and so are the files that SQLite puts beside it
    connection = apsw.Connection(str(made))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    made.rename(path)


def check(connection: apsw.Connection) -> None:
    """Look for damage, for a while. Raises CorruptError."""
    until = time.monotonic() + CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, 1000)
    try:
        for (verdict,) in connection.execute("PRAGMA quick_check(1)"):
            if verdict != "ok":
                raise apsw.CorruptError(" ".join(str(verdict).split()))
    except apsw.InterruptError:
        pass  # a complete prefix
    finally:
        connection.set_progress_handler(None)


def copy(source: apsw.Connection, path: Path) -> None:
    """Copy a database into a new file and sync it to disk."""
    path.touch(mode=0o600)
    target = apsw.Connection(str(path))
    try:
        _copy_pages(source, target)
        target.execute("PRAGMA journal_mode=DELETE")  # a single file, without a WAL beside it
    finally:
        target.close()
    for place in (path, path.parent):
        sync(place)


def put_back(path: Path, target: apsw.Connection) -> None:
    """Restore a database from a file that ``copy`` wrote."""
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _copy_pages(source, target)
    finally:
        source.close()


def _copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    with target.backup("main", source, "main") as copying:
        copying.step()


def sync(place: Path) -> None:
    """See a file on disk; or a folder, without which a file may lose its name."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unavailable(error: BaseException) -> Unavailable:
    """Return the error for callers after a fault of the storage."""
    full = isinstance(error, (apsw.FullError, NoSpace)) or getattr(error, "errno", None) == errno.ENOSPC
    return NoSpace() if full else Unavailable()


def unusable(path: Path, error: apsw.Error) -> Unavailable:
    """Return what an operator is told of a database that cannot be opened."""
    # SQLite needs some pages beside the file, and calls a disk without space for them an I/O error.
    full = isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and not _has_space(path.parent))
    reason = "its disk is full; free some space" if full else described(error)
    return (NoSpace if full else Unavailable)(f"cannot use the database {path}: {reason}")


def _has_space(folder: Path) -> bool:
    return os.statvfs(folder).f_bavail > 0


def described(error: apsw.Error) -> str:
    """Return the error as text for an operator."""
    if isinstance(error, apsw.CorruptError):
        return f"it is damaged ({error}); restore it from a backup"
    return str(error)
