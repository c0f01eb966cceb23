"""The audit log: who changed what, from where, in a chain that cannot be altered unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Column, LargeBinary, PrimaryKeyConstraint, Text, bindparam, select

from crofter.context import Context
from crofter.db import Id, Json, Moment, Row, Session, query, table
from crofter.keyring import Keyring

# No foreign keys: what somebody did stays on record when they, or what they did it to, are gone.
audit = table(
    "audit",
    Column("account_id", Id, nullable=False),
    Column("number", Id, nullable=False),  # 1, 2, 3 … within the account
    Column("at", Moment, nullable=False),
    Column("user_id", Id),
    Column("username", Text, nullable=False),
    Column("token_id", Id),
    Column("address", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("fields", Json, nullable=False),  # the names of what was sent, never the values
    Column("events", Json, nullable=False),
    Column("previous", LargeBinary, nullable=False),
    Column("mark", LargeBinary, nullable=False),
    PrimaryKeyConstraint("account_id", "number"),
    sqlite_without_rowid=True,
)

# Where each account's chain ends, so that entries cannot be cut off its end either.
audit_head = table(
    "audit_head",
    Column("account_id", Id, primary_key=True, autoincrement=False),
    Column("number", Id, nullable=False),
    Column("mark", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),
)

BEGINNING = bytes(32)
PAGE = 1000

_encode = msgspec.json.Encoder().encode


class AuditEntry(Struct, frozen=True):
    """What one unit of work did, as it is put on record."""

    account_id: int
    at: str
    user_id: int | None
    username: str
    token_id: int | None
    address: str
    request_id: str
    operation: str
    path: str
    fields: list[str]
    events: list[int]


class Head(Row):
    number: int
    mark: bytes
    seal: bytes


class StoredEntry(Row):
    number: int
    previous: bytes
    mark: bytes
    account_id: int
    at: str
    user_id: int | None
    username: str
    token_id: int | None
    address: str
    request_id: str
    operation: str
    path: str
    fields: list[str]
    events: list[int]

    def entry(self) -> AuditEntry:
        return AuditEntry(*(getattr(self, name) for name in AuditEntry.__struct_fields__))


class Tampering(Struct, frozen=True):
    """Where a chain is broken, and how one can tell."""

    account_id: int
    number: int
    what: str


_HEAD = query(
    select(audit_head.c.number, audit_head.c.mark, audit_head.c.seal).where(
        audit_head.c.account_id == bindparam("account_id")
    ),
    Head,
)
_ENTRIES = query(
    select(*(audit.c[name] for name in StoredEntry.__struct_fields__))
    .where(audit.c.account_id == bindparam("account_id"), audit.c.number > bindparam("after"))
    .order_by(audit.c.number)
    .limit(PAGE),
    StoredEntry,
)
_ACCOUNTS = query(select(audit.c.account_id).union(select(audit_head.c.account_id)))


def write(ctx: Context, operation: str, path: str, fields: list[str]) -> None:
    """Put a caller's successful request on record, in its own transaction."""
    actor = ctx.actor
    entry = _entry(ctx, actor.account_id, actor.username, operation, path, fields, actor.user_id, actor.token_id)
    append(ctx.runtime.keyring, ctx.db, entry)


def write_without_token(
    ctx: Context,
    account_id: int,
    username: str,
    operation: str,
    path: str,
    fields: Iterable[str] = (),
    *,
    user_id: int | None = None,
) -> None:
    """Put on record, in the same transaction, what was done by whoever needs no token: people at the login service,
    staff at a command line.
    """
    ctx.db.lock_account(account_id)
    entry = _entry(ctx, account_id, username, operation, path, list(fields), user_id, None)
    append(ctx.runtime.keyring, ctx.db, entry)


def _entry(
    ctx: Context,
    account_id: int,
    username: str,
    operation: str,
    path: str,
    fields: list[str],
    user_id: int | None,
    token_id: int | None,
) -> AuditEntry:
    return AuditEntry(
        account_id=account_id,
        at=ctx.moment,
        user_id=user_id,
        username=username,
        token_id=token_id,
        address=ctx.address,
        request_id=ctx.request_id,
        operation=operation,
        path=path,
        fields=fields,
        events=ctx.db.events,
    )


def append(keyring: Keyring, db: Session, entry: AuditEntry) -> None:
    key = ("audit", entry.account_id)
    end = db.deferred(key, NewChainHead) or db.maybe(_HEAD, account_id=entry.account_id)
    number, previous = (end.number + 1, bytes(end.mark)) if end else (1, BEGINNING)
    mark = _mark(keyring, number, previous, entry)
    db.insert(audit, number=number, previous=previous, mark=mark, **msgspec.structs.asdict(entry))
    db.deferred_writes[key] = NewChainHead(keyring, entry.account_id, number, mark)


class NewChainHead(Struct, frozen=True):
    """Where a chain ends now. Only its last place in a transaction is sealed."""

    keyring: Keyring
    account_id: int
    number: int
    mark: bytes

    def write(self, db: Session) -> None:
        moved = {
            "number": self.number,
            "mark": self.mark,
            "seal": _seal(self.keyring, self.account_id, self.number, self.mark),
        }
        if not db.update(audit_head, {"account_id": self.account_id}, **moved):
            db.insert(audit_head, account_id=self.account_id, **moved)


def entries(db: Session, account_id: int) -> Iterator[StoredEntry]:
    """The record of an account, from the beginning."""
    after = 0
    while page := db.all(_ENTRIES, account_id=account_id, after=after):
        yield from page
        after = page[-1].number


def verify(keyring: Keyring, db: Session) -> list[Tampering]:
    """Every account whose chain is broken, with the first place where it is."""
    checked = (_verify(keyring, db, account_id) for account_id in sorted(db.column(_ACCOUNTS)))
    return [tampering for tampering in checked if tampering is not None]


def _verify(keyring: Keyring, db: Session, account_id: int) -> Tampering | None:
    number, mark = 0, BEGINNING
    for entry in entries(db, account_id):
        if entry.number != number + 1:
            return Tampering(account_id, number + 1, "an entry is missing")
        if bytes(entry.previous) != mark:
            return Tampering(account_id, entry.number, "it does not follow from the entry before")
        if bytes(entry.mark) != _mark(keyring, entry.number, mark, entry.entry()):
            return Tampering(account_id, entry.number, "it was altered")
        number, mark = entry.number, bytes(entry.mark)
    head = db.maybe(_HEAD, account_id=account_id)
    if head is None or bytes(head.seal) != _seal(keyring, account_id, head.number, bytes(head.mark)):
        return Tampering(account_id, number, "the end of the chain was altered")
    if (head.number, bytes(head.mark)) != (number, mark):
        return Tampering(account_id, number + 1, "entries are missing at the end")
    return None


def _mark(keyring: Keyring, number: int, previous: bytes, entry: AuditEntry) -> bytes:
    content: tuple[Any, ...] = (number, previous.hex(), *msgspec.structs.astuple(entry))
    return keyring.chain(b"entry" + _encode(content))


def _seal(keyring: Keyring, account_id: int, number: int, mark: bytes) -> bytes:
    return keyring.chain(b"head" + _encode((account_id, number, mark.hex())))
