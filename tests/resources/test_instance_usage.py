"""Statistics and traffic of an instance through HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import act, create, deploy, fault, refused, view

URL = "/v4/compute/instances"
NO_STATS = "Stats are unavailable at this time."
HOUR, DAY = 3600, 24 * 3600


def now(cloud: Cloud) -> datetime:
    return datetime.fromtimestamp(cloud.world.clock.now() / 1000, UTC)


def test_a_new_instance_has_no_statistics(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = deploy(cloud, alice)
    today = now(cloud)
    for path in ("stats", f"stats/{today.year}/{today.month}"):
        refused(alice.get(f"{URL}/{own}/{path}"), NO_STATS)
    cloud.advance(301)
    assert alice.get(f"{URL}/{own}/stats").status_code == 200


def test_a_day_in_points_of_five_minutes(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, label="web")
    cloud.freeze()
    cloud.advance(2 * DAY)
    answer = alice.get(f"{URL}/{own}/stats").json()
    assert set(answer) == {"data", "title"}
    assert "web" in answer["title"]
    data = answer["data"]
    assert {name: set(data[name]) for name in ("io", "netv4", "netv6")} == {
        "io": {"io", "swap"},
        "netv4": {"in", "out", "private_in", "private_out"},
        "netv6": {"in", "out", "private_in", "private_out"},
    }
    moments = [moment for moment, _ in data["cpu"]]
    assert len(moments) == 288
    assert {later - earlier for earlier, later in pairwise(moments)} == {300_000}
    assert cloud.world.clock.now() - 600_000 <= moments[-1] <= cloud.world.clock.now()
    assert all(0 < value <= 100 for _, value in data["cpu"])
    assert all(value > 0 for _, value in data["netv4"]["out"])
    assert alice.get(f"{URL}/{own}/stats").json() == answer  # the same whenever it is asked


def test_a_machine_that_is_off_uses_nothing(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    act(alice, own, "shutdown")
    cloud.freeze()
    cloud.advance(2 * DAY)
    data = alice.get(f"{URL}/{own}/stats").json()["data"]
    assert {value for _, value in data["cpu"]} == {0}
    empty = create(alice)["id"]
    cloud.advance(HOUR)
    assert alice.get(f"{URL}/{empty}/stats").json()["data"]["cpu"] == []
    assert alice.get(f"{URL}/{empty}/transfer").json() == {"billable": 0, "quota": 2000, "used": 0}


def test_a_month_in_points_of_two_hours(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    first = (now(cloud).replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)).replace(day=1)
    cloud.advance((first - now(cloud)).total_seconds() + 3 * DAY)
    today = now(cloud)
    data = alice.get(f"{URL}/{own}/stats/{today.year}/{today.month}").json()["data"]
    moments = [moment for moment, _ in data["cpu"]]
    assert len(moments) in (36, 37)
    assert moments[1] - moments[0] == 2 * HOUR * 1000
    assert moments[0] == int(today.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()) * 1000


def test_traffic_adds_up(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    cloud.advance(DAY)
    today = now(cloud)
    month = alice.get(f"{URL}/{own}/transfer/{today.year}/{today.month}").json()
    assert month["bytes_total"] == month["bytes_in"] + month["bytes_out"] > 0
    answer = alice.get(f"{URL}/{own}/transfer").json()
    assert answer == {"billable": 0, "quota": view(alice, own)["specs"]["transfer"], "used": month["bytes_total"]}
    before = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    past = alice.get(f"{URL}/{own}/transfer/{before.year}/{before.month}").json()
    assert set(past) == {"bytes_in", "bytes_out", "bytes_total"}


@pytest.mark.parametrize("kind", ["stats", "transfer"])
def test_only_months_that_have_begun_can_be_asked_for(cloud: Cloud, alice: Client, kind: str) -> None:
    own = deploy(cloud, alice)
    for path in ("1999/1", "2038/1", "2026/0", "2026/13", "2037/12"):
        assert alice.get(f"{URL}/{own}/{kind}/{path}").status_code == 400, path
    for path in ("soon/1", "2026/x"):
        assert alice.get(f"{URL}/{own}/{kind}/{path}").status_code == 404, path


def test_a_machine_in_the_making_has_no_traffic_yet(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = create(alice, image="compute/debian11", root_pass="correct-horse-battery-9")["id"]
    cloud.advance(0.5)
    assert view(alice, own)["status"] == "provisioning"
    assert alice.get(f"{URL}/{own}/transfer").json()["used"] == 0


def test_a_region_that_is_away_tells_nothing(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.advance(HOUR)
    fault(cloud, "region_outage", region="us-east")
    refused(alice.get(f"{URL}/{own}/stats"), NO_STATS)
