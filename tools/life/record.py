"""Does every operation of the interface once, and keeps what was sent and what came back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from httpx2 import Response
from tests.cloud import Cloud
from tests.resources.money import stand_at

from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from tools.life.requests import Request, prepare, request_of, send
from tools.life.stock import Stock, stocked

FILE = "src/crofter/edge/openapi/recorded.json"
BEGINS = "2027-03-01T09:00:00"
SEED = 1
ADDRESS = "https://cloud.example"
"""Replacement for the server's varying address."""
STREAMED = "stream_events"
"""Never ends, and answers no JSON."""
SHOWN = 2
"""How many items of a list are kept: the others say nothing new."""
DEEP = 8
"""How many items of a list inside an object are kept."""


@contextmanager
def played() -> Iterator[tuple[Cloud, list[Stock]]]:
    """A cloud with two accounts that have everything, and a snapshot of it by the name of ``stocked``."""
    cloud = Cloud(disguised=None, seed=SEED)
    try:
        stand_at(cloud, BEGINS)
        stocks = stocked(cloud, "alice", "bob")
        assert cloud.sandbox.post("/_sandbox/snapshots", json={"name": "stocked"}).status_code == 200
        yield cloud, stocks
    finally:
        cloud.close()


def restore(cloud: Cloud) -> None:
    assert cloud.sandbox.post("/_sandbox/snapshots/stocked/restore").status_code == 200


def done(endpoint: Endpoint, stocks: list[Stock]) -> tuple[Request, Response]:
    """Do an operation in the name of the first account, and with success."""
    stock, other = stocks
    if endpoint.writes:
        restore(stock.cloud)
    request = request_of(endpoint, stock, other=other)
    prepare(request, stock)
    answer = send(request, stock)
    assert answer.status_code in (200, 204), f"{endpoint.name}: {answer.text}"
    return request, answer


def recorded(cloud: Cloud, stocks: list[Stock]) -> dict[str, dict[str, Any]]:
    """Return request and response of each operation: path parameters, body, and the response if it is JSON."""
    restore(cloud)
    listed = sorted(ENDPOINTS, key=lambda endpoint: (endpoint.writes, endpoint.name))
    calls = {endpoint.name: kept(cloud, *done(endpoint, stocks)) for endpoint in listed if endpoint.name != STREAMED}
    return dict(sorted(calls.items()))


def kept(cloud: Cloud, request: Request, answer: Response) -> dict[str, Any]:
    """Return the stored parts of an example."""
    call: dict[str, Any] = {"parts": request.parts} if request.parts else {}
    if request.body is not None:
        call["request"] = request.body
    if answer.content and answer.headers.get("content-type") == "application/json":
        call["answer"] = shortened(json.loads(answer.text.replace(cloud.url, ADDRESS)))
    return call


def shortened(value: Any, deep: int = 0) -> Any:
    """The same with the first items of each list; a series of measurements is a list of pairs, and is cut like any."""
    if isinstance(value, dict):
        return {name: shortened(inner, deep + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner, deep + 1) for inner in value[: SHOWN if deep == 1 else DEEP]]
    return value


def render(examples: dict[str, dict[str, Any]]) -> str:
    """Return the file with a line for each operation, so that changes are visible."""
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(example, ensure_ascii=False)}" for name, example in examples.items()
    )
    return f"{{\n{lines}\n}}\n"


def text() -> str:
    """Return the present contents of the file."""
    with played() as (cloud, stocks):
        return render(recorded(cloud, stocks))
