"""Tags, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client, Response

from tests.cloud import Cloud
from tests.observed import errors


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


# restricted users


def done(answer: Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def restricted(cloud: Cloud, alice: Client, name: str, level: str | None = None, *computes: int) -> Client:
    """A restricted user of alice's, with a grant on these instances."""
    done(alice.post("/v4/account/users", json={"username": name, "email": f"{name}@example.com"}))
    grants = {"compute": [{"id": number, "permissions": level} for number in computes]}
    done(alice.put(f"/v4/account/users/{name}/grants", json=grants))
    return cloud.client(cloud.token(name))


def tagged(alice: Client, *labels: str) -> int:
    body = {"type": "g6-nanode-1", "region": "us-east", "tags": labels}
    return int(done(alice.post("/v4/compute/instances", json=body))["id"])


def labels(client: Client, query: str = "") -> list[str]:
    return [tag["label"] for tag in done(client.get(f"/v4/tags{query}"))["data"]]


@pytest.mark.both
def test_a_restricted_user_sees_the_labels_of_permitted_objects_and_no_others(cloud: Cloud, alice: Client) -> None:
    seen, hidden = tagged(alice, "shared", "seen"), tagged(alice, "shared", "merger-with-acme")
    alice.post("/v4/tags", json={"label": "unused"})
    nothing = {"data": [], "page": 1, "pages": 1, "results": 0}
    assert restricted(cloud, alice, "nora").get("/v4/tags").json() == nothing
    assert restricted(cloud, alice, "nell", None, seen, hidden).get("/v4/tags").json() == nothing
    reader = restricted(cloud, alice, "rita", "read_only", seen)
    assert reader.get("/v4/tags").json() == {
        "data": [{"label": "shared"}, {"label": "seen"}],
        "page": 1,
        "pages": 1,
        "results": 2,
    }
    assert labels(restricted(cloud, alice, "walt", "read_write", seen, hidden)) == [
        "shared",
        "seen",
        "merger-with-acme",
    ]
    assert labels(alice) == ["shared", "seen", "merger-with-acme", "unused"]


@pytest.mark.both
def test_a_label_that_a_restricted_user_does_not_see_is_not_there(cloud: Cloud, alice: Client) -> None:
    seen, _ = tagged(alice, "shared"), tagged(alice, "shared", "merger-with-acme")
    rita = restricted(cloud, alice, "rita", "read_only", seen)
    for label in ("merger-with-acme", "nothing-of-the-kind"):
        answer = rita.get(f"/v4/tags/{label}")
        assert (answer.status_code, answer.json()) == (404, {"errors": [{"reason": "Not found"}]})
    shown = done(rita.get("/v4/tags/shared"))
    assert ([carrier["data"]["id"] for carrier in shown["data"]], shown["results"]) == ([seen], 1)
    assert rita.delete("/v4/tags/shared").status_code == 403


def test_what_a_restricted_user_sees_changes_with_grants_and_tags(cloud: Cloud, alice: Client) -> None:
    mine, other = tagged(alice, "one"), tagged(alice, "two")
    rita = restricted(cloud, alice, "rita", "read_only", mine)
    assert labels(rita) == ["one"]
    more = {"compute": [{"id": other, "permissions": "read_write"}]}
    done(alice.put("/v4/account/users/rita/grants", json=more))
    assert labels(rita) == ["one", "two"]
    done(alice.put(f"/v4/compute/instances/{mine}", json={"tags": ["three"]}))
    assert labels(rita) == ["two", "three"]
    done(alice.put("/v4/account/users/rita/grants", json={"compute": [{"id": other, "permissions": None}]}))
    assert labels(rita) == ["three"]


def test_the_pages_of_a_restricted_user_count_what_that_user_sees(cloud: Cloud, alice: Client) -> None:
    names = [f"tag-{number:03}" for number in range(60)]
    mine = tagged(alice, *names[::2])
    tagged(alice, *names)
    rita = restricted(cloud, alice, "rita", "read_only", mine)
    second = done(rita.get("/v4/tags?page=2&page_size=25"))
    assert (second["page"], second["pages"], second["results"]) == (2, 2, 30)
    assert [tag["label"] for tag in second["data"]] == names[::2][25:]
    third = done(rita.get("/v4/tags?page=3&page_size=25"))
    assert (third["data"], third["results"]) == ([], 30)
    refused = rita.get("/v4/tags", headers={"X-Filter": '{"label": "tag-001"}'})
    assert (refused.status_code, errors(refused)) == (400, [("X-Filter", "Cannot filter on label")])
