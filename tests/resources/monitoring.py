"""Shared steps and checks for tests of monitoring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.servers import Server

PATH = "/v4/managed/services"


@pytest.fixture
def dora(cloud: Cloud) -> Client:
    """Return the owner of a managed account, in a cloud with a frozen clock."""
    cloud.freeze()
    return cloud.person(username="dora", managed=True)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


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


def force(cloud: Cloud, number: int, result: str) -> None:
    cloud.fault("probe", service_id=number, result=result)
