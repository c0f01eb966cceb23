"""Simultaneous starts of several processes on a PostgreSQL: each waits for the others, then starts."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest

from crofter import bootstrap
from crofter.db import Lock, postgres
from crofter.db.database import LockTaken
from crofter.db.locks import ACCOUNTS
from tests.cloud import Cloud
from tests.databases import PostgresServer

TAKE, RELEASE = "SELECT pg_advisory_lock(%s::int, %s::int)", "SELECT pg_advisory_unlock(%s::int, %s::int)"
KEY = (ACCOUNTS, int(Lock.SYSTEM))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is waited for so shortly that a start which needs longer is certain to be refused."""
    monkeypatch.setattr(postgres, "LOCK_TIMEOUT", "50ms")


@pytest.mark.usefixtures("impatient")
def test_a_start_that_finds_another_one_at_work_waits_for_it(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres_server.address(postgres_server.create())
    pauses: list[float] = []
    with psycopg.connect(address, autocommit=True) as other:
        other.execute(TAKE, KEY)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                other.execute(RELEASE, KEY)

        patient: Any = type("Patient", (), {"sleep": staticmethod(pause), "monotonic": staticmethod(time.monotonic)})
        monkeypatch.setattr(bootstrap, "time", patient)
        cloud = Cloud(address)
    assert len(pauses) >= 3
    assert cloud.admin.get("/v4/profile").status_code == 200
    cloud.close()


@pytest.mark.usefixtures("impatient")
def test_a_start_does_not_wait_for_ever(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    address = postgres_server.address(postgres_server.create())
    monkeypatch.setattr(bootstrap, "START_SECONDS", 0.0)
    with psycopg.connect(address, autocommit=True) as other:
        other.execute(TAKE, KEY)
        with pytest.raises(LockTaken):
            Cloud(address)
