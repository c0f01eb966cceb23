"""Writing of audit entries, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from crofter.audit.tables import BEGINNING, ENTRIES, HEAD, MOVE_HEAD, AuditEntry, StoredEntry, audit
from crofter.context import Context
from crofter.db import Session
from crofter.keyring import Keyring

_encode = msgspec.json.Encoder().encode


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
    """Write the audit entry of a change without a token: by the login service, or on the command line."""
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
    before, after = ctx.db.journal.encoded() if ctx.db.journal else (b"", b"")
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
        before=ctx.runtime.keyring.chain(b"before" + before),
        after=ctx.runtime.keyring.chain(b"after" + after),
    )


def append(keyring: Keyring, db: Session, entry: AuditEntry) -> None:
    key = ("audit", entry.account_id)
    end = db.deferred(key, NewChainHead) or db.maybe(HEAD, account_id=entry.account_id)
    number, previous = (end.number + 1, bytes(end.mark)) if end else (1, BEGINNING)
    mark = mark_of(keyring, number, previous, entry)
    db.insert_later(audit, number=number, previous=previous, mark=mark, **msgspec.structs.asdict(entry))
    db.deferred_writes[key] = NewChainHead(keyring, entry.account_id, number, mark)
    if db.journal is not None:
        db.journal.clear()  # later changes belong to the next entry


class NewChainHead(Struct, frozen=True):
    """Where a chain ends now. Only its last place in a transaction is sealed."""

    keyring: Keyring
    account_id: int
    number: int
    mark: bytes

    def write(self, db: Session) -> None:
        seal = seal_of(self.keyring, self.account_id, self.number, self.mark)
        db.run_later(MOVE_HEAD, account_id=self.account_id, number=self.number, mark=self.mark, seal=seal)


def entries(db: Session, account_id: int) -> Iterator[StoredEntry]:
    """The record of an account, from the beginning."""
    after = 0
    while page := db.all(ENTRIES, account_id=account_id, after=after):
        yield from page
        after = page[-1].number


def mark_of(keyring: Keyring, number: int, previous: bytes, entry: AuditEntry) -> bytes:
    content: tuple[Any, ...] = (number, previous.hex(), *msgspec.structs.astuple(entry))
    return keyring.chain(b"entry" + _encode(content))


def seal_of(keyring: Keyring, account_id: int, number: int, mark: bytes) -> bytes:
    return keyring.chain(b"head" + _encode((account_id, number, mark.hex())))
