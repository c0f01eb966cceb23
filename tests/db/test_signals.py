"""Signals between processes on the same PostgreSQL: each commit arrives once in each process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from crofter.db import meta
from crofter.db.postgres import PostgresDatabase
from tests.resources.followers import eventually


class Subscriber:
    """Collects what a process hears, as far as it has been waited for."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.topics: list[str] = []
        database.signals.listen("topic", self.topics.append)


@pytest.fixture
def here(postgres_address: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_address)
    database.signals.start()
    yield database
    database.close()


@pytest.fixture
def there(postgres_address: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_address)
    database.signals.start()
    subscriber = Subscriber(database)
    # Wait until its LISTEN is in effect.
    other = PostgresDatabase(postgres_address)

    def listens() -> bool:
        other.signals.publish(["topic:begin"])
        return bool(subscriber.topics)

    eventually(listens)
    other.close()
    yield database
    database.close()


def tell(database: PostgresDatabase, topic: str) -> None:
    with database.write() as db:
        db.insert(meta.meta, name=topic, value=1)
        db.signal(f"topic:{topic}")


def test_others_hear_of_it_and_who_said_it_hears_it_once(here: PostgresDatabase, there: PostgresDatabase) -> None:
    at_home, abroad = Subscriber(here), Subscriber(there)
    tell(here, "first")
    assert "topic:first" in at_home.topics
    eventually(lambda: "topic:first" in abroad.topics)
    tell(there, "answer")
    eventually(lambda: "topic:answer" in at_home.topics)
    assert [topic for topic in at_home.topics if topic != "topic:begin"] == ["topic:first", "topic:answer"]


def test_what_many_threads_say_at_once_is_all_heard(here: PostgresDatabase, there: PostgresDatabase) -> None:
    abroad = Subscriber(there)
    topics = {f"topic:{number}" for number in range(400)}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda topic: here.signals.publish([topic]), sorted(topics)))
    eventually(lambda: topics <= set(abroad.topics))


def test_what_was_said_just_before_the_end_is_heard(postgres_address: str, there: PostgresDatabase) -> None:
    """Publish immediately before the end, as an operator's command does."""
    abroad = Subscriber(there)
    short_lived = PostgresDatabase(postgres_address)
    tell(short_lived, "last")
    short_lived.close()
    eventually(lambda: "topic:last" in abroad.topics)
