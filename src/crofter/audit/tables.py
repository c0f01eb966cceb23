"""Tables of the audit log: entries, the end of each account's chain, and checkpoints of all chains."""

from __future__ import annotations

from msgspec import Struct

from crofter.db import Id, Json, Moment, Row, query, table
from crofter.db.sql import Column, LargeBinary, PrimaryKeyConstraint, Text, bindparam, select, text

# No foreign keys: entries outlive the users and objects that they name.
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
    Column("before", LargeBinary, nullable=False),  # a keyed hash over the rows that were read
    Column("after", LargeBinary, nullable=False),  # a keyed hash over what was written
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

MOVE_HEAD = query(
    text(
        "INSERT INTO audit_head (account_id, number, mark, seal) VALUES (:account_id, :number, :mark, :seal)"
        " ON CONFLICT (account_id) DO UPDATE SET number = excluded.number, mark = excluded.mark, seal = excluded.seal"
    )
)

# Where all chains ended at a moment: an account that vanished, and an end that was put back, are seen by comparing.
audit_checkpoint = table(
    "audit_checkpoint",
    Column("number", Id, primary_key=True, autoincrement=False),  # 1, 2, 3 …
    Column("at", Moment, nullable=False),
    Column("accounts", Id, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # a keyed hash over the heads
    Column("previous", LargeBinary, nullable=False),
    Column("mark", LargeBinary, nullable=False),
    Column("heads", LargeBinary),  # the ends of all chains, in the latest checkpoint only
)

BEGINNING = bytes(32)
PAGE = 1000


class AuditEntry(Struct, frozen=True):
    """The audit entry of one unit of work."""

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
    before: bytes = BEGINNING
    after: bytes = BEGINNING


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
    before: bytes
    after: bytes

    def entry(self) -> AuditEntry:
        return AuditEntry(*(getattr(self, name) for name in AuditEntry.__struct_fields__))


class StoredCheckpoint(Row):
    number: int
    at: str
    accounts: int
    digest: bytes
    previous: bytes
    mark: bytes


class Tampering(Struct, frozen=True):
    """A break in a chain, with its evidence. The chain of checkpoints has no account."""

    account_id: int | None
    number: int
    what: str


HEAD = query(
    select(audit_head.c.number, audit_head.c.mark, audit_head.c.seal).where(
        audit_head.c.account_id == bindparam("account_id")
    ),
    Head,
)
ENTRIES = query(
    select(*(audit.c[name] for name in StoredEntry.__struct_fields__))
    .where(audit.c.account_id == bindparam("account_id"), audit.c.number > bindparam("after"))
    .order_by(audit.c.number)
    .limit(PAGE),
    StoredEntry,
)
MARK = query(
    select(audit.c.mark).where(audit.c.account_id == bindparam("account_id"), audit.c.number == bindparam("number"))
)
ACCOUNTS = query(select(audit.c.account_id).union(select(audit_head.c.account_id)))
HEADS = query(
    select(audit_head.c.account_id, audit_head.c.number, audit_head.c.mark).order_by(audit_head.c.account_id),
    lambda account_id, number, mark: (account_id, number, bytes(mark)),
)
_CHECKPOINTS = select(*(audit_checkpoint.c[name] for name in StoredCheckpoint.__struct_fields__))
CHECKPOINTS = query(
    _CHECKPOINTS.where(audit_checkpoint.c.number > bindparam("after")).order_by(audit_checkpoint.c.number).limit(PAGE),
    StoredCheckpoint,
)
LATEST = query(_CHECKPOINTS.order_by(audit_checkpoint.c.number.desc()).limit(1), StoredCheckpoint)
LATEST_HEADS = query(select(audit_checkpoint.c.heads).where(audit_checkpoint.c.number == bindparam("number")))
