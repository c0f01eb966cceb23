"""Users with thousands of grants: their lists use keys and do not scan the grants."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from httpx2 import Client

from crofter.db import query
from crofter.db.query import Query
from crofter.db.sql import Text, cast, exists, select
from crofter.db.sqlite import SqliteDatabase
from crofter.kinds import Entity
from crofter.resources.events import store as events
from crofter.resources.support import store as support
from crofter.resources.users.grants.shapes import KINDS
from crofter.resources.users.store import grant
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.resources.test_events import listed, plant

BY_KEY = "SEARCH user_grant USING PRIMARY KEY (user_id=? AND kind=? AND object_id=?)"
EVENTS = events.reads(restricted=True)
LOOKS: dict[str, Query[Any]] = {
    "page of events": EVENTS.newest_first._plain,
    "number of events": EVENTS.newest_first._total,
    "one event": EVENTS.one,
    "events that follow": EVENTS.following,
    "page of tickets": support.VISIBLE._plain,
    "number of tickets": support.VISIBLE._total,
    "one ticket": support._ONE[True],
    "urgent tickets": support._URGENT[True],
}


def _grants_in_plan(database: SqliteDatabase, look: Query[Any]) -> list[str]:
    sql = look.compiled("sqlite").sql
    connection = apsw.Connection(str(database.path))
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1,) * sql.count("?")).fetchall()
    connection.close()
    return [str(line) for *_, line in rows if "user_grant" in str(line)]


@pytest.mark.parametrize("name", LOOKS)
def test_every_look_at_grants_is_by_their_key(sqlite_database: SqliteDatabase, name: str) -> None:
    plan = _grants_in_plan(sqlite_database, LOOKS[name])
    assert plan
    assert set(plan) == {BY_KEY}


def test_an_id_of_a_grant_made_text_would_not_be_found_by_key(sqlite_database: SqliteDatabase) -> None:
    held = select(grant.c.object_id).where(
        grant.c.kind == support.ticket.c.entity_type, cast(grant.c.object_id, Text) == support.ticket.c.entity_id
    )
    assert BY_KEY not in _grants_in_plan(sqlite_database, query(support.EVERY.where(exists(held))))


def test_ids_that_look_alike_are_not_taken_for_one_another(cloud: Cloud, alice: Client) -> None:
    everything: dict[str, Any] = {kind: {7: "read_only"} for kind in KINDS}
    bob = restricted(cloud, "bob-restricted", of="alice", **everything)
    seen = [
        plant(cloud, "alice", entity=Entity(kind, "private/7" if kind == "image" else 7, kind))
        for kind in sorted(KINDS)
    ]
    unseen: list[Entity | None] = [
        *(
            Entity(kind, other, kind)
            for kind in sorted(KINDS)
            for other in ("private/77" if kind == "image" else 77, None)
        ),
        *(Entity("image", slug, slug) for slug in ("compute/debian11", "7", "private")),
        *(Entity(kind, 7, kind) for kind in ("disk", "user", "managed_service", "oauth_client")),
        *(Entity(kind, 'seven "7"', kind) for kind in ("tag", "vlan", "region")),
        None,
    ]
    for entity in unseen:
        plant(cloud, "alice", entity=entity)
    assert listed(bob) == seen[::-1]
