"""Statistics and traffic of an instance through HTTP."""

from __future__ import annotations

from itertools import pairwise

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import act, create, deploy, refused, view
from tests.resources.money import moment, stand_at, until

URL = "/v4/compute/instances"
NO_STATS = "Stats are unavailable at this time."
HOUR = 3600


@pytest.fixture(autouse=True)
def _a_week_before_a_month_ends(cloud: Cloud) -> None:
    stand_at(cloud, "2027-03-25T00:00:00")


def test_a_new_instance_has_no_statistics(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    for path in ("stats", "stats/2027/3"):
        refused(alice.get(f"{URL}/{own}/{path}"), NO_STATS)
    cloud.advance(301)
    assert alice.get(f"{URL}/{own}/stats").status_code == 200


def test_a_day_in_points_of_five_minutes(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, label="web")
    until(cloud, "2027-03-27T00:00:00")
    answer = alice.get(f"{URL}/{own}/stats").json()
    assert set(answer) == {"data", "title"}
    assert "web" in answer["title"]
    data = answer["data"]
    assert {name: set(data[name]) for name in ("io", "netv4", "netv6")} == {
        "io": {"io", "swap"},
        "netv4": {"in", "out", "private_in", "private_out"},
        "netv6": {"in", "out", "private_in", "private_out"},
    }
    moments = [at for at, _ in data["cpu"]]
    assert len(moments) == 288
    assert {later - earlier for earlier, later in pairwise(moments)} == {300_000}
    assert cloud.runtime.clock.now() - 600_000 <= moments[-1] <= cloud.runtime.clock.now()
    assert all(0 < value <= 100 for _, value in data["cpu"])
    assert all(value > 0 for _, value in data["netv4"]["out"])
    assert alice.get(f"{URL}/{own}/stats").json() == answer  # the response is stable


def test_a_machine_that_is_off_uses_nothing(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    act(alice, own, "shutdown")
    until(cloud, "2027-03-27T00:00:00")
    data = alice.get(f"{URL}/{own}/stats").json()["data"]
    assert {value for _, value in data["cpu"]} == {0}
    empty = create(alice)["id"]
    cloud.advance(HOUR)
    points = alice.get(f"{URL}/{empty}/stats").json()["data"]["cpu"]
    assert (len(points), {value for _, value in points}) == (288, {0})
    assert alice.get(f"{URL}/{empty}/transfer").json() == {"billable": 0, "quota": 2000, "used": 0}


def test_a_month_in_points_of_two_hours(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    until(cloud, "2027-04-04T00:00:00")
    data = alice.get(f"{URL}/{own}/stats/2027/4").json()["data"]
    moments = [at for at, _ in data["cpu"]]
    first, step = moment("2027-04-01T00:00:00"), 2 * HOUR * 1000
    assert moments == [first + at * step for at in range(36)]


@pytest.mark.both
def test_traffic_adds_up(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    until(cloud, "2027-03-26T00:00:00")
    month = alice.get(f"{URL}/{own}/transfer/2027/3").json()
    assert month["bytes_total"] == month["bytes_in"] + month["bytes_out"]
    assert min(month["bytes_in"], month["bytes_out"]) > 0
    answer = alice.get(f"{URL}/{own}/transfer").json()
    assert answer == {"billable": 0, "quota": view(alice, own)["specs"]["transfer"], "used": month["bytes_total"]}
    until(cloud, "2027-04-01T00:00:00")
    whole = alice.get(f"{URL}/{own}/transfer/2027/3").json()
    assert whole["bytes_total"] > 6 * month["bytes_total"]  # the instance existed for seven days of the month
    assert alice.get(f"{URL}/{own}/transfer").json()["used"] == 0
    before = alice.get(f"{URL}/{own}/transfer/2027/2").json()
    assert before == {"bytes_in": 0, "bytes_out": 0, "bytes_total": 0}


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
    cloud.fault("region_outage", region="us-east")
    refused(alice.get(f"{URL}/{own}/stats"), NO_STATS)
