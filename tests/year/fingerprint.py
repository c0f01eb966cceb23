"""Digest of a server's rows without those that differ by nature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from tests.cloud import Cloud
from tests.resources.money import rows

DIFFERENT_EACH_TIME = {
    ("account_user", "password"): "each hash of a password has a salt of its own",
    ("revision", "number"): "drawn anew with each change, so that no two states of a database share one",
    ("worker", "id"): "a process draws its own number, from a generator that nobody has seeded",
    ("worker", "lease"): "processes are alive in real time, whatever the clock of the server says",
}
NOTES = {
    ("clock", "serial"): "settings of the clock are numbered by real time, so that later ones win",
    ("clock_mark", "machine"): "how far real time has come, whatever the clock of the server says",
    ("first_user", "password"): "as of the user whose password it is",
}
"""Keys of internal settings, each a JSON object."""


def fingerprint(cloud: Cloud) -> str:
    print_ = hashlib.sha256()
    known: set[tuple[str, str]] = set()
    for table in _tables(cloud):
        columns = [str(row[1]) for row in rows(cloud, f'PRAGMA table_info("{table}")')]
        known |= {(table, column) for column in columns}
        kept = ", ".join(f'"{column}"' for column in columns if (table, column) not in DIFFERENT_EACH_TIME)
        stored = rows(cloud, f'SELECT {kept} FROM "{table}"')
        for row in sorted(repr(_note(*values) if table == "meta" else tuple(values)) for values in stored):
            print_.update(f"{table} {row}\n".encode())
    assert known >= set(DIFFERENT_EACH_TIME), "what is left out is not there any more"
    return print_.hexdigest()


def _tables(cloud: Cloud) -> Iterator[str]:
    """Yield all tables except the database's own."""
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return (str(name) for (name,) in rows(cloud, named))


def _note(name: str, value: str) -> tuple[str, Any]:
    note = json.loads(value)
    if isinstance(note, dict):
        note = {key: kept for key, kept in note.items() if (name, key) not in NOTES}
    return name, note
