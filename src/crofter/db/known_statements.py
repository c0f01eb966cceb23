"""Statements in the databases' words, written down ahead of the start by ``python -m crofter.statements``.

A statement is looked up by the words it was said in, so one that has changed since is not found, and is compiled when
it is first used. So is every statement where the files were never written: a start then takes longer, and is no other.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from crofter.db.deferred import Indescribable, digest
from crofter.db.tables import schema_digest

DOCUMENT, FLAG = "document", "flag"
_FOLDER = Path(__file__).parent


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
    schema: list[str] = []
    statements: dict[bytes, msgspec.Raw] = {}


_read_statement = msgspec.msgpack.Decoder(Statement).decode


def made_by() -> bytes:
    """Changes with the code that compiles: what was made by another is not used."""
    sources = b"".join((_FOLDER / name).read_bytes() for name in ("clauses.py", "compiling.py"))
    return blake2b(sources, digest_size=16).digest()


def file_of(dialect: str) -> Path:
    return _FOLDER / f"known_statements_{dialect}.bin"


@cache
def _written(dialect: str) -> _Written:
    try:
        written = msgspec.msgpack.decode(file_of(dialect).read_bytes(), type=_Written)
    except (OSError, msgspec.DecodeError):
        return _Written()
    return written if written.made_by == made_by() else _Written()


def lookup(expression: Any, dialect: str) -> Statement | None:
    try:
        statement = _written(dialect).statements.get(digest(expression))
    except Indescribable:
        return None
    return None if statement is None else _read_statement(statement)


def schema(dialect: str) -> list[str]:
    """What makes all tables on an empty database; nothing if the tables are others than when it was written."""
    written = _written(dialect)
    return written.schema if written.schema_digest == schema_digest() else []


def write(dialect: str, schema: list[str], statements: dict[bytes, Statement]) -> None:
    """Whole or not at all, also beside another process that writes the same."""
    raw = {key: msgspec.Raw(msgspec.msgpack.encode(statement)) for key, statement in sorted(statements.items())}
    file = file_of(dialect)
    fresh = file.with_suffix(".new")
    fresh.write_bytes(msgspec.msgpack.encode(_Written(made_by(), schema_digest(), schema, raw)))
    fresh.replace(file)
