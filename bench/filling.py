"""Many rows quickly: whole accounts of events and tags, written in the database's own words."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import psycopg

ACCOUNT, USER = 1, 1
RARE = 1000
"""One event in so many is about the entity that the selective filter asks for."""

_EVENTS = """
INSERT INTO event (account_id, user_id, username, action, status, created, message,
                   entity_type, entity_id, entity_label, entity_url)
SELECT {account}, {user}, 'admin', CASE WHEN n % 5 = 0 THEN 'compute_reboot' ELSE 'compute_boot' END, 'notification',
       {created}, '', 'compute', CAST(n % {rare} AS TEXT), 'web-1', '/v4/compute/instances/1'
FROM {numbers}
"""
_TAGS = "INSERT INTO tag (account_id, label) SELECT {account}, 'filled-' || n FROM {numbers}"
_SQLITE = {
    "numbers": "(WITH RECURSIVE counted(n) AS (SELECT ? + 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)"
    " SELECT n FROM counted)",
    # Spread over the last sixty days, in the order of the ids.
    "created": "strftime('%Y-%m-%dT%H:%M:%S', 'now', '-60 days', '+' || (n * 5) || ' seconds')",
}
_POSTGRESQL = {
    "numbers": "generate_series(%s::bigint + 1, %s::bigint) AS n",
    "created": "to_char(timezone('utc', now()) - interval '60 days' + n * interval '5 seconds',"
    """ 'YYYY-MM-DD"T"HH24:MI:SS')""",
}


def fill_sqlite(folder: Path, present: int, rows: int) -> None:
    """From ``present`` filled rows to ``rows``, in a database that no server has open."""
    connection = sqlite3.connect(folder / "crofter.db")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-256000")
    with connection:
        for statement in _statements(_SQLITE):
            connection.execute(statement, (present, rows))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def fill_postgresql(address: str, present: int, rows: int) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in _statements(_POSTGRESQL):
            connection.execute(statement.replace("% ", "%% ").encode(), (present, rows))
        connection.execute("VACUUM ANALYZE")


def _statements(words: dict[str, str]) -> list[str]:
    return [statement.format(account=ACCOUNT, user=USER, rare=RARE, **words) for statement in (_EVENTS, _TAGS)]


def copy(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to
