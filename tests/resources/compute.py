"""Shared steps for tests of instances."""

from __future__ import annotations

import json
from typing import Any

from httpx2 import Client, Response

from tests.cloud import Cloud

INSTANCES = "/v4/compute/instances"
PASSWORD = "correct-horse-battery-9"
IMAGE = "compute/debian11"
BUSY = {"errors": [{"reason": "Compute busy."}]}
NOT_FOUND = {"errors": [{"reason": "Not found"}]}
UNAUTHORIZED = {"errors": [{"reason": "Unauthorized"}]}


def new(client: Client, **body: Any) -> Response:
    return client.post(INSTANCES, json={"type": "g6-standard-1", "region": "us-east", **body})


def create(client: Client, **body: Any) -> dict[str, Any]:
    answer = new(client, **body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def deploy(cloud: Cloud, client: Client, **body: Any) -> int:
    """Return an instance with an image, running by default, with all work done."""
    made = create(client, **{"image": IMAGE, "root_pass": PASSWORD, **body})
    cloud.settle()
    return int(made["id"])


def view(client: Client, compute_id: int) -> dict[str, Any]:
    answer = client.get(f"{INSTANCES}/{compute_id}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def status(client: Client, compute_id: int) -> str:
    return str(view(client, compute_id)["status"])


def act(client: Client, own: int, path: str, /, **body: Any) -> dict[str, Any]:
    """A POST that is expected to work."""
    answer = client.post(f"{INSTANCES}/{own}/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(answer: Response, reason: str, field: str | None = None, status: int = 400) -> None:
    """Check that the response has exactly this problem."""
    problem = {"reason": reason} if field is None else {"field": field, "reason": reason}
    assert (answer.status_code, answer.json()) == (status, {"errors": [problem]})


def listed(client: Client, path: str, **wanted: Any) -> list[dict[str, Any]]:
    headers = {"X-Filter": json.dumps(wanted)} if wanted else {}
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def disks(client: Client, compute_id: int) -> list[dict[str, Any]]:
    return listed(client, f"{INSTANCES}/{compute_id}/disks")


def configs(client: Client, compute_id: int) -> list[dict[str, Any]]:
    return listed(client, f"{INSTANCES}/{compute_id}/configs")


def events(client: Client, *actions: str) -> list[dict[str, Any]]:
    """Events of these actions, or all, oldest first."""
    newest_first = listed(client, "/v4/account/events")
    return [event for event in reversed(newest_first) if not actions or event["action"] in actions]


def last(client: Client, action: str) -> dict[str, Any]:
    return events(client, action)[-1]


def entity(event_entity: dict[str, Any] | None) -> tuple[Any, Any, Any, Any] | None:
    return (
        None
        if event_entity is None
        else (event_entity["type"], event_entity["id"], event_entity["label"], event_entity["url"])
    )


def transitions(cloud: Cloud, **table: dict[str, Any]) -> None:
    assert cloud.sandbox.put("/_sandbox/transitions", json=table).status_code == 200
