"""Managed services, through HTTP: what can be monitored, and what the sandbox makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.resources.compute import IMAGE, PASSWORD, create, deploy
from tests.resources.money import stand_at
from tests.resources.monitoring import PATH, dora, force, issues, server, status, tickets, watch
from tests.resources.servers import Server

__all__ = ["dora", "server"]


@pytest.mark.both
def test_a_service_is_created_and_pending(dora: Client) -> None:
    made = watch(dora, "https://example.org/?no-cache=1")
    assert made == {
        "address": "https://example.org/?no-cache=1",
        "body": None,
        "consultation_group": "",
        "created": made["created"],
        "credentials": [],
        "id": 1,
        "label": "web",
        "notes": None,
        "region": None,
        "service_type": "url",
        "status": "pending",
        "timeout": 5,
        "updated": made["created"],
    }
    assert dora.get(f"{PATH}/1").json() == made
    assert dora.get(PATH).json()["data"] == [made]
    event = dora.get("/v4/account/events").json()["data"][0]
    assert (event["action"], event["status"]) == ("managed_service_create", "notification")
    assert event["entity"] == {"id": 1, "label": "web", "type": "managed_service", "url": "/v4/managed/services/1"}


def test_what_is_wrong_with_a_service_is_said_all_at_once(dora: Client) -> None:
    assert errors(dora.post(PATH, json={})) == [
        (field, f"{field} is required") for field in ("address", "label", "service_type", "timeout")
    ]
    bad = {"address": "x", "label": "w", "service_type": "icmp", "timeout": 256, "body": "x" * 101, "credentials": 1}
    assert errors(dora.post(PATH, json=bad)) == [
        ("address", "Length must be 3-100 characters"),
        ("label", "Length must be 3-64 characters"),
        ("service_type", "Must be one of url, tcp"),
        ("timeout", "Must be 1-255"),
        ("body", "Length must be 0-100 characters"),
        ("credentials", "Must be of type Array"),
    ]
    assert actions(dora) == []


@pytest.mark.parametrize(
    "address",
    [
        "example.org",
        "ftp://example.org/",
        "http://169.254.169.254/",
        "http://2130706433/",
        "http://user@example.org/",
        "http://foo.internal/",
        "http://[::ffff:127.0.0.1]/",
    ],
)
def test_an_address_that_must_not_be_looked_at_is_not_taken(dora: Client, address: str) -> None:
    refused = dora.post(PATH, json={"label": "web", "service_type": "url", "address": address, "timeout": 5})
    assert refused.status_code == 400
    assert [field for field, _ in errors(refused)] == ["address"]


def test_a_private_address_needs_a_region_and_no_other_may_have_one(dora: Client) -> None:
    body = {"label": "web", "service_type": "url", "address": "http://192.168.1.5/", "timeout": 5}
    assert errors(dora.post(PATH, json=body)) == [("region", "region is required")]
    assert errors(dora.post(PATH, json={**body, "region": "nowhere"})) == [("region", "region is not valid")]
    made = dora.post(PATH, json={**body, "region": "us-east"}).json()
    assert made["region"] == "us-east"
    public = {**body, "address": "http://example.org/", "region": "us-east"}
    assert errors(dora.post(PATH, json=public)) == [("region", "region may only be set for a private address")]
    assert errors(dora.put(f"{PATH}/1", json={"region": None})) == [("region", "region is required")]
    assert dora.put(f"{PATH}/1", json={"address": "http://example.org/"}).json()["region"] is None


def test_credentials_of_a_service_are_ones_own(cloud: Cloud, dora: Client) -> None:
    for label in ("one", "two"):
        dora.post("/v4/managed/credentials", json={"label": label, "password": "x"})
    other = cloud.person(username="mallory", managed=True)
    body = {"label": "web", "service_type": "url", "address": "http://example.org/", "timeout": 5, "credentials": [1]}
    refused = other.post(PATH, json=body)
    assert refused.status_code == 403
    assert [field for field, _ in errors(refused)] == ["credentials"]
    made = watch(dora, "http://example.org/", credentials=[2, 1])
    assert made["credentials"] == [2, 1]
    assert dora.put(f"{PATH}/{made['id']}", json={"credentials": [1]}).json()["credentials"] == [1]


def test_somebody_elses_service_is_not_there(cloud: Cloud, dora: Client) -> None:
    watch(dora, "http://example.org/")
    other = cloud.person(username="mallory", managed=True)
    calls = (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/enable"), ("POST", "/disable"))
    for method, path in calls:
        answer = other.request(method, f"{PATH}/1{path}", json=None if method == "GET" else {})
        assert (answer.status_code, answer.json()) == (404, {"errors": [{"reason": "Not found"}]})
    assert other.get(PATH).json()["results"] == 0
    assert status(dora) == "pending"


# ---- the sandbox ----------------------------------------------------------------------------------------------------


def test_the_sandbox_says_how_a_service_is_found_until_it_says_otherwise(cloud: Cloud, dora: Client) -> None:
    watch(dora, "https://example.org/")
    force(cloud, 1, "up")
    cloud.settle()
    assert status(dora) == "ok"
    cloud.advance(600)
    assert status(dora) == "ok"
    force(cloud, 1, "down")
    cloud.advance(60)
    assert status(dora) == "problem"
    cloud.advance(600)
    assert len(issues(dora)) == len(tickets(dora)) == 1
    listed = cloud.sandbox.get("/_sandbox/faults").json()
    assert listed == [{"id": 2, "kind": "probe", "service_id": 1, "result": "down"}]
    force(cloud, 1, "up")
    cloud.advance(60)
    assert status(dora) == "ok"
    assert len(issues(dora)) == 1


def test_without_a_fault_the_service_is_really_looked_at(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url)
    force(cloud, 1, "down")
    cloud.settle()
    assert status(dora) == "problem"
    assert cloud.sandbox.request("DELETE", "/_sandbox/faults").json() == {}
    assert cloud.sandbox.get("/_sandbox/faults").json() == []
    cloud.advance(60)
    assert status(dora) == "ok"


def test_a_fault_of_a_service_that_is_not_there_is_refused(cloud: Cloud) -> None:
    def refused(**fault: Any) -> list[tuple[str | None, str]]:
        answer = cloud.sandbox.post("/_sandbox/faults", json=fault)
        assert answer.status_code == 400
        return errors(answer)

    assert refused(kind="probe", service_id=4711, result="up") == [("service_id", "service_id is not valid")]
    assert refused(kind="probe", service_id=1, result="sideways") == [("result", "Must be one of up, down")]
    assert refused(kind="probe") == [("service_id", "service_id is required"), ("result", "result is required")]
    assert refused() == [("kind", "kind is required")]
    assert [field for field, _ in refused(kind="earthquake")] == ["kind"]


def test_a_simulated_instance_answers_while_it_runs(cloud: Cloud, dora: Client) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "aComplex@Password1"}
    instance = dora.post("/v4/compute/instances", json=body).json()
    cloud.settle()
    watch(dora, f"http://{instance['ipv4'][0]}/")
    cloud.settle()
    assert status(dora) == "ok"
    assert dora.post(f"/v4/compute/instances/{instance['id']}/shutdown").status_code == 200
    cloud.settle()
    cloud.advance(60)
    assert status(dora) == "problem"


def test_statistics_are_those_of_all_instances_together(cloud: Cloud, dora: Client) -> None:
    empty: dict[str, Any] = {"data": {"cpu": [], "disk": [], "net_in": [], "net_out": [], "swap": []}}
    assert dora.get("/v4/managed/stats").json() == empty
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "aComplex@Password1"}
    dora.post("/v4/compute/instances", json=body)
    cloud.settle()
    cloud.advance(3 * 3600)
    data = dora.get("/v4/managed/stats").json()["data"]
    assert len(data["cpu"]) >= 2
    assert all(isinstance(point["y"], int) for series in data.values() for point in series)
    assert data["cpu"] == sorted(data["cpu"], key=lambda point: point["x"])


def test_instances_that_are_away_or_still_to_come_do_not_spoil_the_statistics(cloud: Cloud, dora: Client) -> None:
    stand_at(cloud, "2027-03-10T00:00:00")  # late in an hour, the second would have little of it to show
    deploy(cloud, dora)
    cloud.advance(3 * 3600)
    alone = dora.get("/v4/managed/stats").json()
    body = {"image": IMAGE, "root_pass": PASSWORD, "region": "us-west"}
    create(dora, **body)
    cloud.advance(1)  # its host is chosen, and there is no machine yet
    assert dora.get("/v4/managed/stats").json() == alone
    cloud.settle()
    cloud.fault("region_outage", region="us-west")
    assert dora.get("/v4/managed/stats").json() == alone
    cloud.fault("region_back", region="us-west")
    cloud.advance(3600)
    both = dora.get("/v4/managed/stats").json()["data"]
    assert both["cpu"][-1]["y"] > alone["data"]["cpu"][-1]["y"]


def test_an_instance_with_a_monitored_service_is_not_handed_over(cloud: Cloud, dora: Client) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east"}
    instance = dora.post("/v4/compute/instances", json=body).json()
    cloud.settle()
    watch(dora, f"http://{instance['ipv4'][0]}/")
    handing = {"entities": {"computes": [instance["id"]]}}
    refused = dora.post("/v4/account/service-transfers", json=handing)
    assert refused.status_code == 400
    assert "managed service" in refused.text
    dora.delete(f"{PATH}/1")
    assert dora.post("/v4/account/service-transfers", json=handing).status_code == 200
