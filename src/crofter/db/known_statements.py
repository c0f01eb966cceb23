"""Statements in the databases' words, written down ahead of the start by ``python -m crofter.statements``.

A statement is looked up by the words it was said in, so one that has changed since is not found, and is compiled when
it is first used. So is every statement where the file was never written: a start then takes longer, and is no other.
"""

from __future__ import annotations

import tempfile
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from crofter.db.deferred import Indescribable, digest
from crofter.db.tables import schema_digest

DOCUMENT, FLAG = "document", "flag"
_FOLDER = Path(__file__).parent
FILE = _FOLDER / "known_statements.bin"


class Statement(msgspec.Struct, array_like=True, gc=False):
    """A statement in one database's words, with what its values need on the way in and out."""

    sql: str
    order: list[str] | None
    """The names of the values, one after another, where a database takes them so."""
    defaults: dict[str, Any]
    documents: list[str]
    """The values that are written as JSON."""
    results: list[tuple[int, str]]
    """The columns that are read as documents or as flags."""


class _Written(msgspec.Struct, array_like=True):
    made_by: bytes = b""
    schema_digest: bytes = b""
    schema: dict[str, list[str]] = {}
    """Schema statements by dialect."""
    statements: dict[bytes, dict[str, msgspec.Raw]] = {}
    """Statements by digest and dialect. Similar statements are neighbours, which compresses well in a wheel."""


_read_statement = msgspec.msgpack.Decoder(Statement).decode


def made_by() -> bytes:
    """Changes with the code that compiles: what was made by another is not used."""
    sources = b"".join((_FOLDER / name).read_bytes() for name in ("clauses.py", "compiling.py"))
    return blake2b(sources, digest_size=16).digest()


@cache
def _written() -> _Written:
    try:
        written = msgspec.msgpack.decode(FILE.read_bytes(), type=_Written)
    except (OSError, msgspec.DecodeError):
        return _Written()
    return written if written.made_by == made_by() else _Written()


def lookup(expression: Any, dialect: str) -> Statement | None:
    try:
        statements = _written().statements.get(digest(expression))
    except Indescribable:
        return None
    return None if statements is None else _read_statement(statements[dialect])


def schema(dialect: str) -> list[str]:
    """Return the statements that create all tables; an empty list if the tables changed since the file was written."""
    written = _written()
    return written.schema[dialect] if written.schema_digest == schema_digest() else []


def write(schema: dict[str, list[str]], statements: dict[bytes, dict[str, Statement]]) -> None:
    """Whole or not at all, also beside another process that writes the same."""
    raw = {
        key: {dialect: msgspec.Raw(msgspec.msgpack.encode(each)) for dialect, each in dialects.items()}
        for key, dialects in sorted(statements.items(), key=lambda entry: [each.sql for each in entry[1].values()])
    }
    content = msgspec.msgpack.encode(_Written(made_by(), schema_digest(), schema, raw))
    with tempfile.NamedTemporaryFile(dir=FILE.parent, prefix=FILE.stem, suffix=".new", delete=False) as fresh:
        fresh.write(content)
    Path(fresh.name).chmod(0o644)
    Path(fresh.name).replace(FILE)
