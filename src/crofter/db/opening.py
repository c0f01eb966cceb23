"""Open SQLite or PostgreSQL according to the settings."""

from __future__ import annotations

from pathlib import Path

from crofter.db.database import Database


def open_database(url: str | None, data: Path | None, *, pool: int = 8, beside: bool = False) -> Database:
    """PostgreSQL at ``url``, or SQLite in the folder ``data``; neither: SQLite that keeps nothing.

    ``beside``: for a few statements while another process serves the same SQLite.
    """
    if url is not None and url.startswith(("postgresql://", "postgres://")):
        from crofter.db.postgres import PostgresDatabase  # noqa: PLC0415 - only who uses it pays for it

        return PostgresDatabase(url, pool=pool)
    if url is not None:
        raise ValueError(f"a database address starts with postgresql://, this one does not: {url.split(':')[0]}:…")
    from crofter.db.sqlite import SqliteDatabase  # noqa: PLC0415

    return SqliteDatabase(data, beside=beside)
