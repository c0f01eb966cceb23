"""The rows of durable work: operations, the processes that do it, and what happens on a schedule."""

from __future__ import annotations

from typing import Any

from crofter.db import Flag, Id, Json, Row, Time, identity, partial_index, table
from crofter.db.sql import CheckConstraint, Column, Integer, Text, true

# Accounts, users and events are named without foreign keys: work outlives what it was about, and each
# key would cost an index here for the sake of a deletion there.
operation = table(
    "operation",
    identity(),
    Column("kind", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("key", Text),
    Column("dedup", Text, unique=True),
    Column("state", Text, nullable=False),
    Column("due", Time, nullable=False),
    Column("cursor", Text, nullable=False),
    Column("input", Json, nullable=False),
    Column("vars", Json, nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("crashes", Integer, nullable=False, server_default="0"),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("owner", Id),
    Column("cancel", Flag, nullable=False, server_default="0"),
    Column("account_id", Id),
    Column("user_id", Id),
    Column("username", Text),
    Column("event_id", Id),
    Column("error", Text),
    Column("created", Time, nullable=False),
    Column("started", Time),
    Column("finished", Time),
    CheckConstraint("state IN ('queued', 'running', 'waiting', 'done', 'failed', 'cancelled')", name="state"),
    # Enforced by the database: a key has at most one holder.
    partial_index("op_one_per_key", "key", unique=True, where="state IN ('running', 'waiting')"),
    partial_index("op_ready", "queue", "due", "id", where="state IN ('queued', 'waiting')"),
    partial_index("op_fifo", "key", "due", "id", where="state = 'queued'"),
    partial_index("op_owner", "owner", where="state = 'running'"),
    # Few rows, read at each scrape of the metrics.
    partial_index("op_failed", "finished", where="state = 'failed'"),
)

worker = table(
    "worker",
    # Drawn, not counted: a number that comes again would let one process take itself for another.
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("lease", Time, nullable=False),  # machine time: service time may jump
    Column("works", Flag, nullable=False, server_default=true()),  # whether it takes operations from the queues
)

schedule = table(
    "schedule",
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("key", Text),
    Column("account_id", Id, index=True),
    Column("input", Json, nullable=False),
    Column("rule", Text, nullable=False),
    Column("catchup", Text, nullable=False),
    Column("next_due", Time, nullable=False, index=True),
)


class Claimed(Row):
    """An operation claimed by this process."""

    id: int
    kind: str
    version: int
    queue: str
    key: str | None
    cursor: str
    input: dict[str, Any]
    vars: dict[str, Any]
    attempt: int
    crashes: int
    epoch: int
    cancel: bool
    owner: int
    account_id: int | None
    user_id: int | None
    username: str | None
    event_id: int | None
    started: int | None


CLAIMED = tuple(operation.c[name] for name in Claimed.__struct_fields__)
