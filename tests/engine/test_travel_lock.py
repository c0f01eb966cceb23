"""Exclusive advance of the clock among all processes of a PostgreSQL database."""

from __future__ import annotations

import psycopg

from crofter.db.postgres import PostgresDatabase
from crofter.engine.heartbeat import TIME_TRAVEL
from crofter.engine.travel_lock import TravelLock


def is_free(other: psycopg.Connection) -> bool:
    [taken] = other.execute("SELECT pg_try_advisory_lock(%s, 1)", (TIME_TRAVEL,)).fetchone() or [False]
    if taken:
        other.execute("SELECT pg_advisory_unlock(%s, 1)", (TIME_TRAVEL,))
    return bool(taken)


def test_nobody_else_has_it_meanwhile_and_a_lost_connection_is_replaced(postgres_database: PostgresDatabase) -> None:
    lock = TravelLock(postgres_database)
    hang_up = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE '%%pg_advisory%%' AND pid <> %s"
    )
    with psycopg.connect(postgres_database.address, autocommit=True) as other:
        for _ in range(2):
            with lock.held():
                assert not is_free(other)
            assert is_free(other)
            assert other.execute(hang_up, (other.info.backend_pid,)).fetchall() == [(True,)]  # one, and it was kept
        lock.close()
        assert is_free(other)
