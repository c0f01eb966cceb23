"""How much of each caller's rate limit all processes have taken together, on PostgreSQL."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from crofter.clock import MINUTE
from crofter.db import Database, Query, Row, Time, query, table
from crofter.db.sql import BigInteger, Column, Integer, LargeBinary, bindparam, text

PRUNE_EVERY = 60.0

window = table(
    "rate_window",
    # A digest: what a caller is known by may be a token.
    Column("caller", LargeBinary, primary_key=True),
    Column("taken", Integer, nullable=False),
    Column("until", Time, nullable=False, index=True),
)


class Taken(Row):
    """Requests taken by all processes, with the end of the window."""

    taken: int
    until: int


# Not waited for to reach the disk: after a power cut a window may begin anew. One that ends too late was written before
# the clock was put back.
_TAKE = query(
    text(
        "WITH quickly AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"
        " INSERT INTO rate_window AS w (caller, taken, until)"
        " SELECT CAST(:caller AS BYTEA), CAST(:amount AS INTEGER), CAST(:fresh AS BIGINT) FROM quickly"
        " ON CONFLICT (caller) DO UPDATE SET"
        " taken = CASE WHEN w.until <= :now OR w.until > :latest THEN excluded.taken ELSE w.taken + excluded.taken END,"
        " until = CASE WHEN w.until <= :now OR w.until > :latest THEN excluded.until ELSE w.until END"
        " RETURNING taken, until"
    )
    .bindparams(*(bindparam(name, type_=BigInteger) for name in ("fresh", "now", "latest")))
    .columns(taken=Integer, until=BigInteger),
    Taken,
)
# Skips locked rows: waiting here for a counting process, while others wait for this one, could deadlock.
_PRUNE: Query[Any] = query(
    text(
        "DELETE FROM rate_window WHERE caller IN"
        " (SELECT caller FROM rate_window WHERE until <= :now FOR UPDATE SKIP LOCKED)"
    ).bindparams(bindparam("now", type_=BigInteger))
)


class RateWindows:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._prune_at = 0.0

    def take(self, key: str, amount: int, now: int, length: int) -> Taken:
        """Take so many requests of the caller's window, which begins now unless there is one, and lasts ``length``."""
        caller = hashlib.blake2b(key.encode(), digest_size=16).digest()
        fresh = now + length
        with self._database.write() as db:
            taken = db.one(_TAKE, caller=caller, amount=amount, fresh=fresh, now=now, latest=fresh + MINUTE)
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + PRUNE_EVERY
            with self._database.write() as db:
                db.run(_PRUNE, now=now)
        return taken
