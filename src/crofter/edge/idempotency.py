"""``Idempotency-Key``: the answer to a POST, kept in the transaction of the write it answers."""

from __future__ import annotations

from sqlalchemy import Column, Integer, LargeBinary, PrimaryKeyConstraint, Text, bindparam, delete, select

from crofter import clock
from crofter.context import Context
from crofter.db import Id, Row, Sealed, Session, Time, query, table
from crofter.errors import Conflict, Invalid
from crofter.keyring import Keyring

KEPT = clock.DAY

answered = table(
    "answered_request",
    Column("user_id", Id, nullable=False),
    Column("idempotency_key", Text, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("status", Integer, nullable=False),
    # Sealed: an answer may hold a secret that is shown this once and stored nowhere else.
    Column("answer", Sealed, nullable=False),
    Column("answered", Time, nullable=False, index=True),
    PrimaryKeyConstraint("user_id", "idempotency_key"),
)


class Kept(Row):
    fingerprint: bytes
    status: int
    answer: bytes


_KEPT = query(
    select(answered.c.fingerprint, answered.c.status, answered.c.answer).where(
        answered.c.user_id == bindparam("user_id"),
        answered.c.idempotency_key == bindparam("key"),
        answered.c.answered > bindparam("since"),
    ),
    Kept,
)
_OLD = query(delete(answered).where(answered.c.answered <= bindparam("since")))


def checked(key: bytes) -> str:
    """The key as text; a key that cannot be one is refused rather than ignored."""
    text = key.decode("latin-1")
    if not (1 <= len(text) <= 255 and text.isascii() and text.isprintable()):
        raise Invalid("Must be 1-255 printable ASCII characters", field="Idempotency-Key")
    return text


def fingerprint(keyring: Keyring, method: str, path: bytes, body: bytes) -> bytes:
    """Tells requests apart. Made with a key: whoever reads the table must not try out what a card's number was."""
    return keyring.chain(b"\n".join((b"request", method.encode(), path, body)))


def earlier(ctx: Context, key: str, print_: bytes) -> tuple[int, bytes] | None:
    """The answer that was given under this key; Conflict if it was for another request."""
    kept = ctx.db.maybe(_KEPT, user_id=ctx.actor.user_id, key=key, since=ctx.now - KEPT)
    if kept is None:
        return None
    if bytes(kept.fingerprint) != print_:
        raise Conflict("Idempotency-Key was used with another request", field="Idempotency-Key")
    return kept.status, ctx.runtime.keyring.open(bytes(kept.answer), _associated_data(ctx, key))


def keep(ctx: Context, key: str, print_: bytes, status: int, answer: bytes) -> None:
    ctx.db.delete(answered, user_id=ctx.actor.user_id, idempotency_key=key)
    ctx.db.insert(
        answered,
        user_id=ctx.actor.user_id,
        idempotency_key=key,
        fingerprint=print_,
        status=status,
        answer=ctx.runtime.keyring.seal(answer, _associated_data(ctx, key)),
        answered=ctx.now,
    )


def prune(db: Session, now: int) -> int:
    """Forget what nobody can ask for again."""
    return db.run(_OLD, since=now - KEPT)


def _associated_data(ctx: Context, key: str) -> str:
    return f"answered_request:{ctx.actor.user_id}:{key}"
