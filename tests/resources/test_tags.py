"""Tags, through HTTP."""

from __future__ import annotations

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.told import errors


@pytest.mark.both
def test_a_tag_is_created_listed_and_deleted(alice: Client) -> None:
    assert alice.post("/v4/tags", json={"label": "production"}).json() == {"label": "production"}
    assert alice.get("/v4/tags").json() == {"data": [{"label": "production"}], "page": 1, "pages": 1, "results": 1}
    assert alice.delete("/v4/tags/production").json() == {}
    assert alice.get("/v4/tags").json() == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_each_change_leaves_its_event(alice: Client) -> None:
    alice.post("/v4/tags", json={"label": "prod/eu"})
    alice.delete("/v4/tags/prod%2Feu")
    events = alice.get("/v4/account/events").json()["data"]
    assert [event["action"] for event in events] == ["tag_delete", "tag_create"]
    assert events[0]["entity"] == {"id": "prod/eu", "label": "prod/eu", "type": "tag", "url": "/v4/tags/prod%2Feu"}
    assert events[0]["status"] == "notification"
    assert events[0]["username"] == "alice"


def test_a_label_is_unique_in_its_account_only(alice: Client, mallory: Client) -> None:
    assert alice.post("/v4/tags", json={"label": "web"}).status_code == 200
    again = alice.post("/v4/tags", json={"label": "web"})
    assert again.status_code == 400
    assert [field for field, _ in errors(again)] == ["label"]
    assert mallory.post("/v4/tags", json={"label": "web"}).status_code == 200


def test_a_refused_tag_leaves_nothing(alice: Client) -> None:
    refused = alice.post("/v4/tags", json={"label": "ab", "computes": ["x"], "volumes": 3})
    assert refused.status_code == 400
    assert errors(refused) == [
        ("label", "Length must be 3-50 characters"),
        ("computes[0]", "Must be of type Integer"),
        ("volumes", "Must be of type Array"),
    ]
    assert alice.get("/v4/tags").json()["results"] == 0
    assert alice.get("/v4/account/events").json()["results"] == 0


def test_a_tag_on_an_object_one_cannot_write_is_not_created(alice: Client) -> None:
    refused = alice.post("/v4/tags", json={"label": "web", "computes": [4711]})
    assert refused.status_code == 403
    assert errors(refused) == [("computes", "You do not have permission to access this Compute")]
    assert alice.get("/v4/tags").json()["results"] == 0


def test_somebody_elses_tag_is_not_there(alice: Client, mallory: Client) -> None:
    alice.post("/v4/tags", json={"label": "secret"})
    for answer in (mallory.get("/v4/tags/secret"), mallory.delete("/v4/tags/secret")):
        assert answer.status_code == 404
        assert answer.json() == {"errors": [{"reason": "Not found"}]}
    assert mallory.get("/v4/tags").json()["results"] == 0
    assert alice.get("/v4/tags/secret").json() == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_existence_is_checked_before_the_body_of_a_request(cloud: Cloud) -> None:
    assert cloud.admin.delete("/v4/tags/none").status_code == 404
