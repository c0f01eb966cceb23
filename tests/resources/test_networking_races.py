"""Addresses that several callers move at once: none is ever held twice, and none is lost."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from httpx2 import Client, Response

from tests.at_once import at_once
from tests.cloud import Cloud
from tests.resources.compute import create, deploy, view
from tests.resources.test_networking import INSTANCES, URL, assign, more, rich
from tests.sweep import violations

__all__ = ["rich"]


def held_by(cloud: Cloud) -> dict[str, int]:
    """Return the instance of each public address; addresses are unique."""
    with cloud.runtime.database.read() as db:
        rows = db.raw("SELECT address, instance_id FROM address WHERE public = true").fetchall()
        resting = db.raw("SELECT address FROM released_address").fetchall()
    assert len({address for address, _ in rows}) == len(rows)
    assert not {address for address, _ in rows} & {row[0] for row in resting}
    return dict(rows)


@pytest.mark.both
def test_crossing_assignments_lose_no_address(cloud: Cloud, rich: Client) -> None:
    first, second = create(rich)["id"], create(rich)["id"]
    (first_address,), (second_address,) = view(rich, first)["ipv4"], view(rich, second)["ipv4"]
    for _ in range(5):
        answers = at_once(
            partial(assign, rich, (first_address, second)),
            partial(assign, rich, (second_address, first)),
            partial(assign, rich, (first_address, second), (second_address, first)),
            partial(assign, rich, (second_address, second), (first_address, first)),
        )
        assert {answer.status_code for answer in answers} <= {200, 400}
        held = held_by(cloud)
        assert set(held) == {first_address, second_address}
        assert set(held.values()) == {first, second}
    cloud.settle()


@pytest.mark.both
def test_eight_allocations_at_once_keep_to_the_limit(cloud: Cloud) -> None:
    client = cloud.person(username="four", public_ips=4)
    own = create(client)["id"]
    body = {"type": "ipv4", "public": True, "compute_id": own}
    answers = at_once(*(partial(client.post, URL, json=body) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [400] * 5
    assert len(view(client, own)["ipv4"]) == len(held_by(cloud)) == 4


@pytest.mark.both
@pytest.mark.parametrize("rival", ["delete", "migrate", "clone"])
def test_an_assignment_and_a_rival_leave_every_address_with_one(cloud: Cloud, rich: Client, rival: str) -> None:
    first, second = deploy(cloud, rich), deploy(cloud, rich)
    extra = more(rich, first)
    bodies: dict[str, Any] = {"migrate": {"region": "us-west"}, "clone": {"region": "us-east", "type": "g6-standard-1"}}

    def other() -> Response:
        if rival == "delete":
            return rich.delete(f"{INSTANCES}/{second}")
        return rich.post(f"{INSTANCES}/{second}/{rival}", json=bodies[rival])

    moved, done = at_once(partial(assign, rich, (extra, second)), other)
    assert done.status_code == 200, done.text
    assert moved.status_code in (200, 400)
    cloud.settle()
    held = held_by(cloud)
    if moved.status_code == 400:
        assert held[extra] == first
    elif rival == "clone":
        assert held[extra] == second
    with cloud.runtime.database.read() as db:
        known = {row[0] for row in db.raw("SELECT id FROM instance").fetchall()}
    assert set(held.values()) == known
    assert violations(cloud) == []
