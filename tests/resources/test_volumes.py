"""Volumes: made, listed, changed, attached, detached, resized, cloned and deleted."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.edge import openapi
from crofter.registry import ENDPOINTS
from crofter.resources.instances import hypervisor_client
from tests.cloud import Cloud
from tests.resources.compute import (
    INSTANCES,
    UNAUTHORIZED,
    configs,
    create,
    deploy,
    entity,
    events,
    last,
    listed,
    refused,
    transitions,
    view,
)
from tests.sweep import violations

URL = "/v4/volumes"
VOLUME_BUSY = {"errors": [{"reason": "Volume busy."}]}


def new(client: Client, **body: Any) -> Response:
    return client.post(URL, json={"label": "data", **body})


def make(cloud: Cloud, client: Client, label: str = "data", **body: Any) -> int:
    """A volume that is there; nothing is under way any more."""
    where = {} if "compute_id" in body else {"region": "us-east"}
    answer = new(client, **{"label": label, **where, **body})
    assert answer.status_code == 200, answer.text
    cloud.settle()
    return int(answer.json()["id"])


def show(client: Client, volume_id: int) -> dict[str, Any]:
    answer = client.get(f"{URL}/{volume_id}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def do(client: Client, volume_id: int, verb: str, **body: Any) -> Response:
    return client.post(f"{URL}/{volume_id}/{verb}", json=body)


def works(cloud: Cloud, answer: Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    cloud.settle()
    return dict(answer.json())


def slots(client: Client, compute_id: int) -> dict[str, Any]:
    """Return the devices of the first profile."""
    return {slot: device for slot, device in configs(client, compute_id)[0]["devices"].items() if device}


def plugged(cloud: Cloud, compute_id: int) -> tuple[int, ...]:
    driver = hypervisor_client.hypervisor(cloud.runtime)
    (ref,) = (domain for domain in driver.list().domains if domain.id == compute_id)
    return driver.observe(ref).volumes


# ---- creating -------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_a_volume_is_created_and_becomes_active(cloud: Cloud, alice: Client) -> None:
    transitions(cloud, volume_create={"seconds": 10})
    cloud.freeze()
    answer = new(alice, region="us-east", tags=["green"])
    assert answer.status_code == 200, answer.text
    made = answer.json()
    number = made["id"]
    assert made == {
        "compute_id": None,
        "compute_label": None,
        "created": made["created"],
        "filesystem_path": "/dev/disk/by-id/scsi-0Compute_Volume_data",
        "hardware_type": "nvme",
        "id": number,
        "label": "data",
        "region": "us-east",
        "size": 20,
        "status": "creating",
        "tags": ["green"],
        "updated": made["created"],
    }
    event = last(alice, "volume_create")
    assert (event["status"], event["percent_complete"]) == ("scheduled", 0)
    assert entity(event["entity"]) == ("volume", number, "data", f"{URL}/{number}")
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 5})
    assert 0 < last(alice, "volume_create")["percent_complete"] < 100
    assert show(alice, number)["status"] == "creating"
    assert do(alice, number, "resize", size=30).json() == VOLUME_BUSY
    cloud.settle()
    assert show(alice, number)["status"] == "active"
    assert last(alice, "volume_create")["status"] == "finished"
    assert [carrier["data"]["id"] for carrier in listed(alice, "/v4/tags/green")] == [number]


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ({}, [(None, "Must provide a region or a Compute ID")]),
        ({"region": "atlantis"}, [("region", "region is not valid")]),
        ({"region": "us-east", "size": 9}, [("size", "Must be 10-10240")]),
        ({"region": "us-east", "size": 10241}, [("size", "Must be 10-10240")]),
        ({"region": "us-east", "label": "1st"}, [("label", "Must begin with a letter")]),
        ({"region": "us-east", "label": ""}, [("label", "Length must be 1-32 characters")]),
        ({"region": "us-east", "label": "x" * 33}, [("label", "Length must be 1-32 characters")]),
        ({"region": "us-east", "label": "a--b"}, [("label", "Must not have two dashes or underscores in a row")]),
        (
            {"region": "us-east", "label": "a b"},
            [("label", "Must only use ASCII letters, numbers, dashes and underscores")],
        ),
        ({"region": "us-east", "config_id": 1}, [("compute_id", "compute_id is required")]),
        (
            {"region": "atlantis", "size": 1, "label": "-"},
            [("region", "region is not valid"), ("size", "Must be 10-10240"), ("label", "Must begin with a letter")],
        ),
    ],
)
def test_what_cannot_be_created_is_refused(alice: Client, body: dict[str, Any], reasons: list[Any]) -> None:
    answer = new(alice, **body)
    assert answer.status_code == 400, answer.text
    assert [(error.get("field"), error["reason"]) for error in answer.json()["errors"]] in (reasons, reasons[1:])
    assert listed(alice, URL) == []


def test_a_label_may_be_one_letter_and_is_unique_in_its_account(cloud: Cloud, alice: Client, mallory: Client) -> None:
    number = make(cloud, alice, "a")
    refused(new(alice, label="a", region="us-east"), "Label must be unique among your Volumes", "label")
    make(cloud, mallory, "a")
    other = make(cloud, alice, "b")
    refused(alice.put(f"{URL}/{other}", json={"label": "a"}), "Label must be unique among your Volumes", "label")
    refused(do(alice, number, "clone", label="b"), "Label must be unique among your Volumes", "label")


def test_a_creation_that_fails_leaves_nothing(cloud: Cloud, alice: Client) -> None:
    transitions(cloud, volume_create={"fail": "The storage is full."})
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    event = last(alice, "volume_create")
    assert (event["status"], event["message"]) == ("failed", "The storage is full.")
    assert alice.get(f"{URL}/{number}").status_code == 404
    assert events(alice, "volume_attach") == []
    assert slots(alice, own).keys() == {"sda", "sdb"}
    assert violations(cloud) == []


def test_a_volume_is_created_for_an_instance(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    answer = new(alice, compute_id=own)
    assert answer.json()["compute_id"] == own
    assert answer.json()["compute_label"] == view(alice, own)["label"]
    number = works(cloud, answer)["id"]
    assert (show(alice, number)["status"], show(alice, number)["region"]) == ("active", "us-east")
    assert slots(alice, own)["sdc"] == {"disk_id": None, "volume_id": number}
    assert plugged(cloud, own) == (number,)
    assert [volume["id"] for volume in listed(alice, f"{INSTANCES}/{own}/volumes")] == [number]
    for action in ("volume_create", "volume_attach"):
        event = last(alice, action)
        assert event["status"] == "finished"
        assert (event["entity"]["type"], event["entity"]["id"]) == ("volume", number)
        assert (event["secondary_entity"]["type"], event["secondary_entity"]["id"]) == ("compute", own)


def test_a_volume_for_an_instance_needs_one_that_can_have_it(cloud: Cloud, alice: Client, mallory: Client) -> None:
    bare, own = create(alice)["id"], deploy(cloud, alice)
    refused(new(alice, compute_id=bare), "No configuration profile could be chosen. Specify config_id.", "config_id")
    refused(new(alice, compute_id=own, config_id=4711), "config_id is not valid", "config_id")
    refused(new(alice, compute_id=own, region="us-west"), "The Compute is in another region", "region")
    refused(new(mallory, compute_id=own), "You do not have permission to access this Compute", "compute_id", status=403)
    assert listed(alice, URL) == []


# ---- looking, renaming ----------------------------------------------------------------------------------------------


def test_volumes_are_listed_filtered_and_paged(cloud: Cloud, alice: Client, mallory: Client) -> None:
    numbers = [make(cloud, alice, label, tags=[f"{label}s"]) for label in ("first", "second", "third")]
    make(cloud, mallory)
    assert [volume["id"] for volume in listed(alice, URL)] == numbers
    assert [volume["id"] for volume in listed(alice, URL, label="second")] == numbers[1:2]
    assert [volume["id"] for volume in listed(alice, URL, label={"+contains": "ir"})] == [numbers[0], numbers[2]]
    assert [volume["id"] for volume in listed(alice, URL, tags="thirds")] == numbers[2:]
    page = alice.get(f"{URL}?page=2&page_size=2").json()
    assert ([volume["id"] for volume in page["data"]], page["pages"], page["results"]) == (numbers[2:], 2, 3)
    answer = alice.get(URL, headers={"X-Filter": '{"size": 20}'})
    refused(answer, "Cannot filter on size", "X-Filter")


def test_the_volume_of_another_account_is_not_there(cloud: Cloud, alice: Client, mallory: Client) -> None:
    number = make(cloud, alice)
    for method, path, body in (
        ("GET", "", None),
        ("PUT", "", {"label": "mine"}),
        ("DELETE", "", None),
        ("POST", "/attach", {"compute_id": 1}),
        ("POST", "/detach", {}),
        ("POST", "/resize", {"size": 50}),
        ("POST", "/clone", {"label": "mine"}),
    ):
        assert mallory.request(method, f"{URL}/{number}{path}", json=body).status_code == 404, path


def test_a_volume_gets_another_name_and_other_tags(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice, tags=["old"])
    changed = alice.put(f"{URL}/{number}", json={"label": "photos", "tags": ["new"]}).json()
    assert (changed["label"], changed["tags"]) == ("photos", ["new"])
    assert changed["filesystem_path"].endswith("_photos")
    event = last(alice, "volume_update")
    assert (event["status"], event["entity"]["label"]) == ("notification", "photos")
    assert alice.put(f"{URL}/{number}", json={"tags": []}).json()["tags"] == []


# ---- resizing, cloning, deleting ------------------------------------------------------------------------------------


def test_a_volume_grows(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, compute_id=own)
    cloud.freeze()
    answer = do(alice, number, "resize", size=30)
    assert (answer.status_code, answer.json()) == (200, {})
    assert (show(alice, number)["status"], show(alice, number)["size"]) == ("resizing", 20)
    assert last(alice, "volume_resize")["status"] == "notification"
    for verb, body in (("resize", {"size": 40}), ("clone", {"label": "copy"})):
        assert do(alice, number, verb, **body).json() == VOLUME_BUSY
    cloud.settle()
    assert (show(alice, number)["status"], show(alice, number)["size"]) == ("active", 30)
    assert plugged(cloud, own) == (number,)


def test_a_volume_never_shrinks(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice)
    for size in (-1, 0, 10, 20):
        refused(do(alice, number, "resize", size=size), "Storage volumes can only be resized up")
    reason = "Storage volumes cannot be resized larger than 10240 gigabytes"
    for size in (10241, 2**31, 2**60):
        refused(do(alice, number, "resize", size=size), reason)
    described = openapi.document(ENDPOINTS, "1")["components"]["schemas"]["VolumeResize"]["properties"]["size"]
    assert (described["minimum"], described["maximum"]) == (10, 10240)
    assert do(alice, number, "resize").json() == {"errors": [{"field": "size", "reason": "size is required"}]}


def test_a_resize_that_fails_leaves_the_size(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice)
    transitions(cloud, volume_resize={"fail": "No."})
    works(cloud, do(alice, number, "resize", size=30))
    assert (show(alice, number)["status"], show(alice, number)["size"]) == ("active", 20)


def test_a_clone_is_a_volume_of_its_own(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    number = make(cloud, alice, size=40, compute_id=own)
    made = works(cloud, do(alice, number, "clone", label="copy"))
    assert (made["status"], made["size"], made["compute_id"]) == ("creating", 40, None)
    assert show(alice, made["id"])["status"] == "active"
    event = last(alice, "volume_clone")
    assert (event["status"], event["entity"]["id"]) == ("notification", number)
    driver = hypervisor_client.hypervisor(cloud.runtime)
    contents = {driver.observe(ref).content for ref in driver.list().volumes}
    assert len(contents) == 1


def test_a_clone_that_fails_is_not_there(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice)
    transitions(cloud, volume_clone={"fail": "No."})
    works(cloud, do(alice, number, "clone", label="copy"))
    assert [volume["id"] for volume in listed(alice, URL)] == [number]
    assert violations(cloud) == []


def test_a_volume_is_deleted_and_its_slots_are_empty(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    number = make(cloud, alice, tags=["blue"])
    config = configs(alice, own)[0]
    devices = {**slots(alice, own), "sde": {"volume_id": number}}
    assert alice.put(f"{INSTANCES}/{own}/configs/{config['id']}", json={"devices": devices}).status_code == 200
    answer = alice.delete(f"{URL}/{number}")
    assert (answer.status_code, answer.json()) == (200, {})
    assert alice.get(f"{URL}/{number}").status_code == 404
    assert slots(alice, own).keys() == {"sda", "sdb"}
    assert listed(alice, "/v4/tags/blue") == []
    cloud.settle()
    event = last(alice, "volume_delete")
    assert (event["status"], event["entity"]["label"]) == ("finished", "data")
    assert violations(cloud) == []


def test_a_deletion_that_fails_is_tried_again(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice)
    transitions(cloud, volume_delete={"fail": "No."})
    assert alice.delete(f"{URL}/{number}").status_code == 200
    cloud.settle()
    assert last(alice, "volume_delete")["status"] == "failed"
    assert hypervisor_client.hypervisor(cloud.runtime).list().volumes == ()


# ---- restricted users -----------------------------------------------------------------------------------------------


@pytest.fixture
def bob(cloud: Cloud, alice: Client) -> Client:
    body = {"username": "bob", "email": "bob@example.com", "restricted": True}
    assert alice.post("/v4/account/users", json=body).status_code == 200
    return cloud.client(cloud.token("bob"))


def grant(alice: Client, **grants: Any) -> None:
    answer = alice.put("/v4/account/users/bob/grants", json=grants)
    assert answer.status_code == 200, answer.text


def test_a_restricted_user_sees_what_was_granted(cloud: Cloud, alice: Client, bob: Client) -> None:
    seen, hidden = make(cloud, alice, "seen"), make(cloud, alice, "hidden")
    grant(alice, volume=[{"id": seen, "permissions": "read_only"}])
    assert [volume["id"] for volume in listed(bob, URL)] == [seen]
    assert bob.get(f"{URL}/{hidden}").status_code == 403
    for verb, body in (("resize", {"size": 50}), ("detach", {}), ("attach", {"compute_id": 1})):
        assert do(bob, seen, verb, **body).json() == UNAUTHORIZED, verb
    assert bob.delete(f"{URL}/{seen}").json() == UNAUTHORIZED
    assert do(bob, seen, "clone", label="copy").json() == UNAUTHORIZED
    assert new(bob, label="mine", region="us-east").json() == UNAUTHORIZED


def test_a_restricted_user_has_what_they_create(cloud: Cloud, alice: Client, bob: Client) -> None:
    grant(alice, **{"global": {"add_volumes": True}})
    assert new(bob, label="mine", region="us-east", tags=["x-tag"]).json() == UNAUTHORIZED
    number = make(cloud, bob, "mine")
    assert do(bob, number, "resize", size=30).status_code == 200
    cloud.settle()
    copy = works(cloud, do(bob, number, "clone", label="copy"))["id"]
    assert [volume["id"] for volume in listed(bob, URL)] == [number, copy]
    assert bob.delete(f"{URL}/{copy}").status_code == 200


def test_attaching_needs_both_the_volume_and_the_instance(cloud: Cloud, alice: Client, bob: Client) -> None:
    own, number = deploy(cloud, alice), make(cloud, alice)
    volume = [{"id": number, "permissions": "read_write"}]
    grant(alice, volume=volume, compute=[{"id": own, "permissions": "read_only"}])
    answer = do(bob, number, "attach", compute_id=own)
    refused(answer, "You do not have permission to access this Compute", "compute_id", status=403)
    works(cloud, do(alice, number, "attach", compute_id=own))
    assert do(bob, number, "detach").json() == UNAUTHORIZED
    grant(alice, volume=volume, compute=[{"id": own, "permissions": "read_write"}])
    works(cloud, do(bob, number, "detach"))
    works(cloud, do(bob, number, "attach", compute_id=own))


# ---- money ----------------------------------------------------------------------------------------------------------


def test_volumes_are_planned_with_their_price(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice)
    cloud.freeze()
    plan = {"Prefer": "plan"}
    answer = alice.post(URL, json={"label": "more", "region": "us-east", "size": 100}, headers=plan)
    assert answer.json()["plan"]["price"] == {"hourly": 0.015, "monthly": 10.0}, answer.text
    answer = alice.post(f"{URL}/{number}/resize", json={"size": 120}, headers=plan)
    assert answer.json()["plan"]["price"] == {"hourly": 0.015, "monthly": 10.0}, answer.text
    answer = alice.delete(f"{URL}/{number}", headers=plan)
    assert answer.json()["plan"]["price"] == {"hourly": -0.003, "monthly": -2.0}, answer.text
    assert [volume["size"] for volume in listed(alice, URL)] == [20]


def test_a_volume_is_paid_for_by_its_name_and_size(cloud: Cloud, alice: Client) -> None:
    number = make(cloud, alice)
    works(cloud, do(alice, number, "resize", size=30))
    alice.put(f"{URL}/{number}", json={"label": "photos"})
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 40 * 86400})
    invoice = listed(alice, "/v4/account/invoices")[0]["id"]
    labels = [item["label"] for item in listed(alice, f"/v4/account/invoices/{invoice}/items")]
    assert any("photos" in label and "30 GB" in label for label in labels), labels
    alice.delete(f"{URL}/{number}")
    cloud.settle()


def test_closing_the_account_leaves_no_volume(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    make(cloud, alice, compute_id=own)
    make(cloud, alice, "spare")
    answer = alice.post("/v4/account/cancel", json={})
    assert answer.status_code == 200, answer.text
    cloud.settle()
    cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 3600})
    cloud.settle()
    assert hypervisor_client.hypervisor(cloud.runtime).list().volumes == ()
    assert violations(cloud) == []
