"""Problems of the readable part of a body are reported together with its unreadable fields."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import Reasons, errors
from tests.resources.money import rows

TYPE, REGION = "A valid plan type by that ID was not found", "region is not valid"


def reasons(client: Client, path: str, **body: Any) -> Reasons:
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    return errors(answer)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"type": "gone"}, [("type", TYPE), ("region", "region is required")]),
        ({"region": "nowhere"}, [("type", "type is required"), ("region", REGION)]),
        (
            {"type": "gone", "region": "us-east", "tags": "x", "image": "compute/debian12"},
            [("type", TYPE), ("root_pass", "root_pass is required"), ("tags", "Must be of type Array")],
        ),
        (
            {"type": "g6-nanode-1", "region": "nowhere", "label": "x", "image": "compute/none", "root_pass": 5},
            [
                ("region", REGION),
                ("image", "image is not valid"),
                ("root_pass", "Must be of type String"),
                ("label", "Length must be 3-64 characters"),
            ],
        ),
    ],
)
def test_everything_is_said_at_once(alice: Client, body: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert reasons(alice, "/v4/compute/instances", **body) == problems


def test_a_body_that_is_good_but_for_one_field_changes_nothing(cloud: Cloud, alice: Client) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "label": "kept-free", "tags": ["new-tag"], "swap_size": -1}
    assert reasons(alice, "/v4/compute/instances", **body) == [("swap_size", "Must be 0-10000000")]
    for table in ("instance", "tag", "event", "operation", "address", "meter"):
        assert rows(cloud, f"SELECT count(*) FROM {table}")[0][0] == 0, table
    del body["swap_size"]
    assert alice.post("/v4/compute/instances", json=body).status_code == 200


def test_the_state_is_looked_at_when_the_body_is_right(alice: Client) -> None:
    """Omit problems without a field if the body cannot be read."""
    made = alice.post("/v4/compute/instances", json={"type": "g6-nanode-1", "region": "us-east"}).json()["id"]
    url = f"/v4/compute/instances/{made}/resize"
    assert reasons(alice, url, type="g6-nanode-1", allow_auto_disk_resize=1) == [
        ("allow_auto_disk_resize", "Must be of type Boolean")
    ]
    assert reasons(alice, url, type="gone", allow_auto_disk_resize=1) == [
        ("type", TYPE),
        ("allow_auto_disk_resize", "Must be of type Boolean"),
    ]


def test_a_name_that_is_taken_is_said_too(alice: Client) -> None:
    assert alice.post("/v4/tags", json={"label": "taken"}).status_code == 200
    problems = reasons(alice, "/v4/tags", label="taken", computes=["x"])
    assert [field for field, _ in problems] == ["label", "computes[0]"]


def test_what_was_sent_wrong_was_sent(alice: Client) -> None:
    """No rule on what goes together takes it for missing."""
    problems = reasons(alice, "/v4/support/tickets", summary="Help", description="Help", vlan=5, region="us-east")
    assert problems == [("vlan", "Must be of type String")]
