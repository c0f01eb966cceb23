"""Changing the master key: what is sealed is wrapped anew, and the keys for hashing live on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from crofter.context import Runtime
from crofter.db import Query, Row, Sealed, Session, query, table
from crofter.db.sql import Column, LargeBinary, Table, Text, bindparam, cast, func, select, update
from crofter.db.tables import all_tables, deferred
from crofter.engine.tables import operation
from crofter.errors import Unavailable
from crofter.keyring import HEADER, MARK, OVERHEAD, Keyring, Unopenable

BATCH = 500
DOCUMENTS: tuple[tuple[Table, str], ...] = ((operation, "input"), (operation, "vars"))
"""Columns of JSON that may hold sealed values in hexadecimal: arguments of operations under way."""

_IN_TEXT = re.compile(MARK.hex() + f"[0-9a-f]{{{2 * (OVERHEAD - len(MARK))},}}")

# Stored tokens are hashes that cannot be computed again, and audit marks cannot be computed again without trusting the
# log. So the keys of both are stored here, sealed, from the first master key on.
hash_key = table(
    "hash_key",
    Column("name", Text, primary_key=True),
    Column("value", Sealed, nullable=False),
)


class HashKey(Row):
    name: str
    value: bytes


_KEYS = query(select(hash_key.c.name, hash_key.c.value), HashKey)


def adopt_hash_keys(keyring: Keyring, db: Session) -> None:
    """Take up the keys for hashing that this database was begun with; keep them if it is new."""
    kept = {row.name: bytes(row.value) for row in db.all(_KEYS)}
    if not kept:
        for name, value in (("pepper", keyring.pepper), ("audit", keyring.audit)):
            db.insert(hash_key, name=name, value=keyring.seal(value, f"hash_key:{name}"))
        return
    try:
        opened = open_hash_keys(keyring, kept)
    except Unopenable:
        raise Unavailable("the secret key is not the one that this database was sealed with") from None
    keyring.adopt(opened["pepper"], opened["audit"])


def open_hash_keys(keyring: Keyring, kept: dict[str, bytes]) -> dict[str, bytes]:
    """Open the values of rows of ``hash_key`` by their names. Raise `Unopenable` if the master key is another one."""
    return {name: keyring.open(value, f"hash_key:{name}") for name, value in kept.items()}


class NotRewrapped(Struct, frozen=True):
    """A sealed value that could not be wrapped anew, because no key at hand opens it."""

    table: str
    column: str
    key: tuple[Any, ...]


class Rotated(Struct):
    rewrapped: int = 0
    left: list[NotRewrapped] = []


def rotate(runtime: Runtime) -> Rotated:
    """Wrap everything sealed with a former master under the current one, a batch per transaction.

    May be stopped and run again. When nothing is left, the former master can be thrown away.
    """
    done = Rotated()
    for holder, column in _sealed_columns():
        while _batch(runtime, holder, column, done):
            pass
    for holder, name in DOCUMENTS:
        with runtime.database.write() as db:
            _documents(runtime.keyring, db, holder, name, done)
    return done


def _sealed_columns() -> Iterator[tuple[Table, str]]:
    for holder in all_tables():
        for column in deferred(holder).c.sealed():
            yield holder, column


@cache
def _outdated(holder: Table, column: str) -> Query[tuple[Any, ...]]:
    keys, sealed = [holder.c[name] for name in deferred(holder).c.primary_key()], holder.c[column]
    under_another = func.substr(sealed, 1, HEADER) != bindparam("header", type_=LargeBinary)
    rows = select(*keys, sealed).where(sealed.is_not(None), under_another)
    return query(rows.order_by(*keys).limit(bindparam("most")), lambda *values: values)


def _batch(runtime: Runtime, holder: Table, column: str, done: Rotated) -> bool:
    """Rotate a batch of values. Return True if there may be more."""
    known = {(left.table, left.column, left.key) for left in done.left}
    moved = 0
    with runtime.database.write() as db:
        outdated = _outdated(holder, column)
        for *key, sealed in db.all(outdated, header=runtime.keyring.header, most=BATCH + len(done.left)):
            if (holder.name, column, tuple(key)) in known:
                continue
            moved += 1
            try:
                anew = runtime.keyring.rewrap(bytes(sealed))
            except Unopenable:
                done.left.append(NotRewrapped(holder.name, column, tuple(key)))
                continue
            where = dict(zip(deferred(holder).c.primary_key(), key, strict=True))
            done.rewrapped += db.update(holder, {**where, column: sealed}, **{column: anew})
    return moved > 0


@cache
def _documents_of(holder: Table, name: str) -> tuple[Query[tuple[Any, ...]], Query[None]]:
    """Return the query of documents with sealed values and its update. Both use text, so that documents need no
    parsing.
    """
    text = cast(holder.c[name], Text)
    holding_sealed = select(holder.c.id, text).where(text.like(f"%{MARK.hex()}%"))
    changed = update(holder).where(holder.c.id == bindparam("row"), text == bindparam("before", type_=Text))
    return (
        query(holding_sealed, lambda *values: values),
        query(changed.values({name: bindparam("after", type_=Text)})),
    )


def queries() -> Iterator[Query[Any]]:
    """Return all queries of a change of the master key."""
    for holder, column in _sealed_columns():
        yield _outdated(holder, column)
    for document in DOCUMENTS:
        yield from _documents_of(*document)


def _documents(keyring: Keyring, db: Session, holder: Table, name: str, done: Rotated) -> None:
    holding_sealed, changed = _documents_of(holder, name)
    for row, document in db.all(holding_sealed):
        anew, failures = document, 0
        for sealed in {match for match in _IN_TEXT.findall(document) if not match.startswith(keyring.header.hex())}:
            try:
                anew = anew.replace(sealed, keyring.rewrap(bytes.fromhex(sealed)).hex())
            except Unopenable:
                failures += 1
        if failures:
            done.left.append(NotRewrapped(holder.name, name, (row,)))
        if anew != document:
            done.rewrapped += db.run(changed, row=row, before=document, after=anew)
