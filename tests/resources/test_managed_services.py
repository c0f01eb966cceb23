"""Managed services, through HTTP, with real servers that go down and come up."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from httpx2 import Client

from crofter.context import Context
from crofter.engine.queue import enqueue
from crofter.resources.managed.services import rounds
from crofter.resources.support import house
from tests.cloud import Cloud
from tests.resources.servers import Server

PATH = "/v4/managed/services"


@pytest.fixture
def dora(cloud: Cloud) -> Client:
    """The owner of a managed account, in a cloud whose clock stands."""
    cloud.freeze()
    return cloud.person(username="dora", managed=True)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def errors(answer: Any) -> list[tuple[str | None, str]]:
    return [(one.get("field"), one["reason"]) for one in answer.json()["errors"]]


def watch(client: Client, address: str, **more: Any) -> dict[str, Any]:
    body = {"label": "web", "service_type": "url", "address": address, "timeout": 5, **more}
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def status(client: Client, number: int = 1) -> str:
    return str(client.get(f"{PATH}/{number}").json()["status"])


def issues(client: Client) -> list[dict[str, Any]]:
    return list(client.get("/v4/managed/issues").json()["data"])


def tickets(client: Client) -> list[dict[str, Any]]:
    return list(client.get("/v4/support/tickets").json()["data"])


def actions(client: Client) -> list[str]:
    return [event["action"] for event in client.get("/v4/account/events").json()["data"]]


def force(cloud: Cloud, number: int, result: str) -> None:
    fault = {"kind": "probe", "service_id": number, "result": result}
    assert cloud.door.post("/_sandbox/faults", json=fault).status_code == 200


# ---- what can be monitored ------------------------------------------------------------------------------------------


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


# ---- monitoring -----------------------------------------------------------------------------------------------------


def test_a_web_server_goes_down_and_comes_up(cloud: Cloud, dora: Client, server: Server) -> None:
    contact = {"name": "Jo", "email": "jo@example.com", "group": "on-call"}
    dora.post("/v4/managed/contacts", json=contact)
    dora.post("/v4/managed/contacts", json={**contact, "group": "others", "email": "other@example.com"})
    watch(dora, server.url, body="hello", consultation_group="on-call")
    cloud.settle()
    assert status(dora) == "ok"
    assert (issues(dora), tickets(dora)) == ([], [])

    server.stop()
    cloud.advance(60)
    assert status(dora) == "problem"
    (issue,) = issues(dora)
    (ticket,) = tickets(dora)
    assert issue["services"] == [1]
    assert issue["entity"] == {
        "id": ticket["id"],
        "label": ticket["summary"],
        "type": "ticket",
        "url": f"/v4/support/tickets/{ticket['id']}",
    }
    assert dora.get(f"/v4/managed/issues/{issue['id']}").json() == issue
    assert (ticket["status"], ticket["closable"], ticket["opened_by"]) == ("new", False, house.MONITORING)
    assert "it could not be reached" in ticket["description"]
    mails = cloud.door.get("/_sandbox/outbox").json()["mails"]
    assert [mail["to"] for mail in mails] == ["jo@example.com"]

    cloud.advance(600)
    assert len(issues(dora)) == len(tickets(dora)) == 1

    server.start()
    cloud.advance(60)
    assert status(dora) == "ok"
    assert tickets(dora)[0]["status"] == "closed"
    replies = dora.get(f"/v4/support/tickets/{ticket['id']}/replies").json()["data"]
    assert ["is up again" in reply["description"] for reply in replies] == [True]
    assert actions(dora) == ["ticket_update", "ticket_create", "managed_service_create"]
    assert len(cloud.door.get("/_sandbox/outbox").json()["mails"]) == 2

    server.stop()
    cloud.advance(60)
    assert status(dora) == "problem"
    assert len(issues(dora)) == len(tickets(dora)) == 2


def test_a_plain_server_goes_down_and_comes_up(cloud: Cloud, dora: Client) -> None:
    server = Server(b"")
    watch(dora, f"127.0.0.1:{server.port}", service_type="tcp")
    watch(dora, f"tcp://localhost:{server.port}", service_type="tcp")
    cloud.settle()
    assert [status(dora, number) for number in (1, 2)] == ["ok", "ok"]
    server.stop()
    cloud.advance(60)
    assert [status(dora, number) for number in (1, 2)] == ["problem", "problem"]
    assert [issue["services"] for issue in issues(dora)] == [[1], [2]]
    server.start()
    cloud.advance(60)
    assert [status(dora, number) for number in (1, 2)] == ["ok", "ok"]
    server.stop()


def test_a_service_that_is_down_from_the_beginning_is_a_problem_too(cloud: Cloud, dora: Client) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    assert status(dora) == "problem"
    assert len(issues(dora)) == len(tickets(dora)) == 1


def test_the_wrong_text_is_a_problem_and_a_redirect_is_none(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url, body="good bye")
    cloud.settle()
    assert status(dora) == "problem"
    assert "the expected text is not in its answer" in tickets(dora)[0]["description"]
    server.reply = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"
    dora.put(f"{PATH}/1", json={"body": None})
    cloud.settle()
    assert status(dora) == "ok"


def test_what_was_changed_is_looked_at_anew(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    assert status(dora) == "problem"
    changed = dora.put(f"{PATH}/1", json={"address": server.url, "label": "new one", "timeout": 30}).json()
    assert (changed["address"], changed["label"], changed["timeout"]) == (server.url, "new one", 30)
    cloud.settle()
    assert status(dora) == "ok"
    visits = server.visits
    dora.put(f"{PATH}/1", json={"label": "newer one", "notes": "ask Jo"})
    cloud.settle()
    assert server.visits == visits


def test_a_service_is_looked_at_every_minute(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url)
    cloud.settle()
    visits = server.visits
    cloud.advance(600)
    assert server.visits == visits + 10


def test_a_service_that_is_switched_off_is_left_alone(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url)
    cloud.settle()
    assert dora.post(f"{PATH}/1/disable").json()["status"] == "disabled"
    server.stop()
    visits = server.visits
    cloud.advance(300)
    assert (status(dora), server.visits, tickets(dora)) == ("disabled", visits, [])
    server.start()
    assert dora.post(f"{PATH}/1/enable").json()["status"] == "pending"
    cloud.settle()
    assert status(dora) == "ok"
    assert dora.post(f"{PATH}/1/enable").json()["status"] == "ok"


@pytest.mark.parametrize("how", ["disable", "delete"])
def test_an_outage_ends_when_it_is_no_longer_looked_at(cloud: Cloud, dora: Client, how: str) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    answer = dora.delete(f"{PATH}/1") if how == "delete" else dora.post(f"{PATH}/1/disable")
    assert answer.status_code == 200
    assert tickets(dora)[0]["status"] == "closed"
    assert [issue["services"] for issue in issues(dora)] == [[1]]
    if how == "delete":
        assert answer.json() == {}
        assert dora.get(f"{PATH}/1").status_code == 404
        assert actions(dora)[0] == "managed_service_delete"


def test_a_ticket_in_which_people_talk_stays_open_when_the_service_is_back(cloud: Cloud, dora: Client) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    dora.post("/v4/support/tickets/1/replies", json={"description": "We know, it is the cleaner."})
    force(cloud, 1, "up")
    cloud.advance(60)
    assert status(dora) == "ok"
    assert tickets(dora)[0]["status"] == "open"


def test_schedules_come_and_go_with_services(cloud: Cloud, dora: Client) -> None:
    def planned() -> int:
        with cloud.world.database.read() as db:
            return int(db.raw("SELECT count(*) FROM schedule WHERE kind = 'managed.round'").fetchone()[0])

    assert planned() == 0
    watch(dora, "http://127.0.0.1:9/")
    watch(dora, "http://127.0.0.1:9/")
    assert planned() == 1
    for number in (1, 2):
        dora.delete(f"{PATH}/{number}")
    cloud.advance(120)
    assert planned() == 0


def test_a_service_that_goes_before_it_was_looked_at_takes_no_other_with_it(
    cloud: Cloud, dora: Client, server: Server
) -> None:
    watch(dora, server.url)
    watch(dora, server.url)
    dora.delete(f"{PATH}/1")
    cloud.settle()
    assert status(dora, 2) == "ok"
    server.stop()
    cloud.advance(60)
    assert status(dora, 2) == "problem"


def test_a_slow_service_holds_up_no_other(cloud: Cloud, server: Server) -> None:
    """With a clock that runs: the slow one is waited for elsewhere, and the other is told of at once."""
    client = cloud.person(username="dora", managed=True)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        watch(client, f"http://127.0.0.1:{deaf.getsockname()[1]}/", timeout=255)
        watch(client, server.url)
        with cloud.world.database.write() as db:
            enqueue(Context(cloud.world, db), rounds.ROUND, rounds.Block(1, 2))
        assert server.visited.wait(20)
        found = next(found for found in iter(lambda: status(client, 2), None) if found != "pending")
        assert (found, status(client, 1)) == ("ok", "pending")


def test_many_services_share_few_operations(cloud: Cloud, dora: Client) -> None:
    for _ in range(20):
        watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    before = cloud.house.worker.metrics["claimed"]
    cloud.advance(60)
    assert cloud.house.worker.metrics["claimed"] - before < 10


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
    listed = cloud.door.get("/_sandbox/faults").json()
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
    assert cloud.door.request("DELETE", "/_sandbox/faults").json() == {}
    assert cloud.door.get("/_sandbox/faults").json() == []
    cloud.advance(60)
    assert status(dora) == "ok"


def test_a_fault_of_a_service_that_is_not_there_is_refused(cloud: Cloud) -> None:
    def refused(**fault: Any) -> list[tuple[str | None, str]]:
        answer = cloud.door.post("/_sandbox/faults", json=fault)
        assert answer.status_code == 400
        return errors(answer)

    assert refused(kind="probe", service_id=4711, result="up") == [("service_id", "service_id is not valid")]
    assert refused(kind="probe", service_id=1, result="sideways") == [("result", "Must be one of down, up")]
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
    empty = {"data": {"cpu": [], "disk": [], "net_in": [], "net_out": [], "swap": []}}
    assert dora.get("/v4/managed/stats").json() == empty
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "aComplex@Password1"}
    dora.post("/v4/compute/instances", json=body)
    cloud.settle()
    cloud.advance(3 * 3600)
    data = dora.get("/v4/managed/stats").json()["data"]
    assert len(data["cpu"]) >= 2
    assert all(isinstance(point["y"], int) for series in data.values() for point in series)
    assert data["cpu"] == sorted(data["cpu"], key=lambda point: point["x"])


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
