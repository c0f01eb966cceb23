"""``Idempotency-Key``: the response to a POST, stored in the transaction of its write.

A two-phase write claims its key in the first phase, and stores the response in the second. A response belongs to the
token of the request: another token may have fewer permissions and must not see it.
"""

from __future__ import annotations

from msgspec import Struct

from crofter import clock
from crofter.context import Context
from crofter.db import Row, Sealed, Session, Time, query, table
from crofter.db.sql import Column, Integer, LargeBinary, PrimaryKeyConstraint, Text, bindparam, delete, select
from crofter.errors import Conflict, Invalid, UnderWay
from crofter.keyring import Keyring

KEPT = clock.DAY
PATIENCE = 10 * clock.SECOND
"""Time after which a claim without a response may be taken over. If its request is only slow, the first to finish
writes; so a short time is safe, and after a crash clients do not wait long.
"""

answered = table(
    "answered_request",
    # The digest of the token, not its number: the token of a closed account is gone before its last answer is.
    Column("token", LargeBinary, nullable=False),
    Column("idempotency_key", Text, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    # Null while the second phase of a write is under way.
    Column("status", Integer),
    # Sealed: an answer may hold a secret that is shown this once and stored nowhere else.
    Column("answer", Sealed),
    # Service time of the answer, or of the claim.
    Column("answered", Time, nullable=False, index=True),
    # Machine time of the claim: on a frozen service clock an abandoned claim would never expire.
    Column("claimed", Time),
    PrimaryKeyConstraint("token", "idempotency_key"),
)


class Key(Struct, frozen=True):
    """The idempotency key of a request."""

    token: bytes
    name: str
    fingerprint: bytes


class Kept(Row):
    fingerprint: bytes
    status: int | None
    answer: bytes | None
    claimed: int | None


Answered = tuple[int, bytes]
"""A status and a body."""

_KEPT = query(
    select(answered.c.fingerprint, answered.c.status, answered.c.answer, answered.c.claimed).where(
        answered.c.token == bindparam("token"),
        answered.c.idempotency_key == bindparam("name"),
        answered.c.answered > bindparam("since"),
    ),
    Kept,
)
_CLAIM = query(
    delete(answered).where(
        answered.c.token == bindparam("token"),
        answered.c.idempotency_key == bindparam("name"),
        answered.c.status.is_(None),
    )
)
_OLD = query(delete(answered).where(answered.c.answered <= bindparam("since")))


def key_of(keyring: Keyring, token: str, key: bytes, method: str, path: bytes, body: bytes) -> Key:
    """Return the key of a request; refuse an invalid key.

    The fingerprint is keyed: a reader of the table must not be able to guess card numbers.
    """
    name = key.decode("latin-1")
    if not (1 <= len(name) <= 255 and name.isascii() and name.isprintable()):
        raise Invalid("Must be 1-255 printable ASCII characters", field="Idempotency-Key")
    fingerprint = keyring.chain(b"\n".join((b"request", method.encode(), path, body)))
    return Key(keyring.digest(token), name, fingerprint)


def earlier(ctx: Context, key: Key) -> Answered | None:
    """The answer that was given under this key; Conflict if it was for another request, or UnderWay."""
    kept = _find(ctx, key)
    if kept is None:
        return None
    if bytes(kept.fingerprint) != key.fingerprint:
        raise Conflict("Idempotency-Key was used with another request", field="Idempotency-Key")
    if kept.claimed is not None and abs(clock.machine_now() - kept.claimed) < PATIENCE:
        raise UnderWay(field="Idempotency-Key")
    return _opened(ctx, key, kept)


def given(ctx: Context, key: Key) -> Answered | None:
    """The answer that this very request was given, if any."""
    kept = _find(ctx, key)
    return None if kept is None or bytes(kept.fingerprint) != key.fingerprint else _opened(ctx, key, kept)


def claim(ctx: Context, key: Key) -> None:
    """Claim the key: later requests with the same key wait for the response."""
    _put(ctx, key, claimed=clock.machine_now())


def keep(ctx: Context, key: Key, status: int, answer: bytes) -> None:
    _put(ctx, key, status=status, answer=ctx.runtime.keyring.seal(answer, _associated_data(key)))


def release(db: Session, key: Key) -> None:
    """Release the key of a failed request, so that it can be corrected and sent again. A stored response stays."""
    db.run(_CLAIM, token=key.token, name=key.name)


def prune(db: Session, now: int) -> int:
    """Delete keys that are too old to be repeated."""
    return db.run(_OLD, since=now - KEPT)


def _find(ctx: Context, key: Key) -> Kept | None:
    return ctx.db.maybe(_KEPT, token=key.token, name=key.name, since=ctx.now - KEPT)


def _opened(ctx: Context, key: Key, kept: Kept) -> Answered | None:
    if kept.status is None or kept.answer is None:
        return None
    return kept.status, ctx.runtime.keyring.open(bytes(kept.answer), _associated_data(key))


def _put(ctx: Context, key: Key, **values: int | bytes) -> None:
    ctx.db.delete(answered, token=key.token, idempotency_key=key.name)
    ctx.db.insert(
        answered,
        token=key.token,
        idempotency_key=key.name,
        fingerprint=key.fingerprint,
        answered=ctx.now,
        **values,
    )


def _associated_data(key: Key) -> str:
    return f"answered_request:{key.token.hex()}:{key.name}"
