"""Regions through HTTP: for all callers, in catalogue order."""

from __future__ import annotations

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import errors

BASIC = {"Computes", "NodeBalancers", "Block Storage", "Cloud Firewall"}
REGIONS = {
    "ap-west": ("in", {"GPU Computes", "Kubernetes", "Vlans"}),
    "ca-central": ("ca", {"Kubernetes", "Vlans"}),
    "ap-southeast": ("au", {"Kubernetes", "Vlans"}),
    "us-central": ("us", {"Kubernetes"}),
    "us-west": ("us", {"Kubernetes"}),
    "us-southeast": ("us", {"Object Storage", "GPU Computes", "Vlans"}),
    "us-east": ("us", {"Object Storage", "GPU Computes", "Kubernetes", "Bare Metal"}),
    "eu-west": ("uk", {"Kubernetes"}),
    "ap-south": ("sg", {"Object Storage", "GPU Computes", "Kubernetes"}),
    "eu-central": ("de", {"Object Storage", "GPU Computes", "Kubernetes"}),
    "ap-northeast": ("jp", {"Kubernetes"}),
}


def test_regions_are_listed_for_everybody_in_the_order_of_the_catalogue(cloud: Cloud, alice: Client) -> None:
    answer = cloud.sandbox.get("/v4/regions")
    assert answer.status_code == 200
    body = answer.json()
    assert [region["id"] for region in body["data"]] == list(REGIONS)
    assert (body["page"], body["pages"], body["results"]) == (1, 1, len(REGIONS))
    assert alice.get("/v4/regions").json() == body


def test_a_region_shows_what_it_offers(cloud: Cloud) -> None:
    for region in cloud.sandbox.get("/v4/regions").json()["data"]:
        country, more = REGIONS[region["id"]]
        assert list(region) == ["capabilities", "country", "id", "resolvers", "status"]
        assert (region["country"], region["status"]) == (country, "ok")
        assert set(region["capabilities"]) == BASIC | more
        assert set(region["resolvers"]) == {"ipv4", "ipv6"}
        assert cloud.sandbox.get(f"/v4/regions/{region['id']}").json() == region


@pytest.mark.parametrize("region", ["nowhere", "US-EAST", "us-east%20", "1"])
def test_a_region_that_is_not_in_the_catalogue_is_not_there(cloud: Cloud, region: str) -> None:
    answer = cloud.sandbox.get(f"/v4/regions/{region}")
    assert (answer.status_code, errors(answer)) == (404, [(None, "Not found")])


def test_regions_have_pages_like_everything_else(cloud: Cloud) -> None:
    names = list(REGIONS)
    for page in (1, 2, 3, 4):
        answer = cloud.sandbox.get("/v4/regions", params={"page": page, "page_size": 4}).json()
        assert [region["id"] for region in answer["data"]] == names[(page - 1) * 4 : page * 4]
        assert (answer["pages"], answer["results"]) == (3, 11)


def test_no_field_of_a_region_can_be_filtered_on(cloud: Cloud) -> None:
    answer = cloud.sandbox.get("/v4/regions", headers={"X-Filter": '{"id": "us-east"}'})
    assert (answer.status_code, errors(answer)) == (400, [("X-Filter", "Cannot filter on id")])


@pytest.mark.both
def test_an_outage_shows_and_ends(cloud: Cloud) -> None:
    def status() -> str:
        return str(cloud.sandbox.get("/v4/regions/us-east").json()["status"])

    cloud.fault("region_outage", region="us-east")
    assert status() == "outage"
    assert cloud.sandbox.get("/v4/regions/us-west").json()["status"] == "ok"
    cloud.fault("region_back", region="us-east")
    assert status() == "ok"


def test_nothing_of_a_region_can_be_changed(alice: Client) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert alice.request(method, "/v4/regions/us-east", json={}).status_code == 405
