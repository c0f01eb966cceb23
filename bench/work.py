"""The requests that are measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bench.client import Make, request
from bench.filling import COMMON_TAG, RARE, RARE_REGION, RARE_TAG
from bench.processes import TOKEN

ONE, LIST, CREATE = 4.0, 20.0, 9.0
"""How many times the ceiling's CPU each may cost at most, on SQLite."""
POSTGRESQL = {ONE: 7.0, LIST: 18.0, CREATE: 16.0}
"""The same on PostgreSQL, whose own processes are not counted there."""


class StepContext(NamedTuple):
    name: str
    make: Make
    target: float
    """Times the ceiling's CPU."""


def get(path: str, filter: str | None = None) -> Make:
    content = request("GET", path, TOKEN, filter=filter)
    return lambda _number: content


INSTANCES = "/v4/compute/instances"


def create_instance(number: int) -> bytes:
    body = b'{"type": "g6-nanode-1", "region": "us-east", "label": "measured-%08d"}' % number
    return request("POST", INSTANCES, TOKEN, body=body)


def deploy_instance(number: int) -> bytes:
    body = (
        b'{"type": "g6-nanode-1", "region": "us-east", "label": "deployed-%08d",'
        b' "image": "compute/debian11", "root_pass": "a-long-Winding-r0ad"}' % number
    )
    return request("POST", INSTANCES, TOKEN, body=body)


def create_tag(number: int) -> bytes:
    return request("POST", "/v4/tags", TOKEN, body=b'{"label": "measured-%08d"}' % number)


WORK = (
    StepContext("GET one event", get("/v4/account/events/50"), ONE),
    StepContext("GET one tag", get("/v4/tags/filled-50"), ONE),
    StepContext("GET one instance", get(f"{INSTANCES}/50"), ONE),
    StepContext("list 100 events", get("/v4/account/events"), LIST),
    StepContext("list 100 tags", get("/v4/tags"), LIST),
    StepContext("list 100 instances", get(INSTANCES), LIST),
    StepContext("POST create tag (and its event)", create_tag, CREATE),
    StepContext("POST create instance (and all that it has)", create_instance, CREATE),
)


class Growth(NamedTuple):
    name: str
    make: Callable[[int], Make]
    """For an account with so many rows."""
    target: float | None
    """Times the cost at the smallest size."""


def _last(path: str) -> Callable[[int], Make]:
    return lambda rows: get(f"{path}?page={rows // 100}")


def _same(path: str, filter: str | None = None) -> Callable[[int], Make]:
    return lambda _rows: get(path, filter)


EVENTS = "/v4/account/events"
FLAT = 1.3
_BY_LABEL = f'{{"region": "{RARE_REGION}", "+order_by": "label"}}'
_EITHER = f'{{"+or": [{{"region": "{RARE_REGION}"}}, {{"region": "nowhere"}}]}}'
GROWTH = (
    Growth("list 100 events, first page", _same(EVENTS), FLAT),
    Growth("list 100 events, last page", _last(EVENTS), FLAT),
    Growth("list 100 tags, first page", _same("/v4/tags"), FLAT),
    Growth("list 100 tags, last page", _last("/v4/tags"), FLAT),
    Growth("events after a cursor, at the end", lambda rows: get(f"{EVENTS}?after={rows - 100}"), FLAT),
    Growth("list 100 instances, first page", _same(INSTANCES), FLAT),
    Growth("list 100 instances, last page", _last(INSTANCES), FLAT),
    Growth("X-Filter label of an instance", _same(INSTANCES, '{"label": "filled-77"}'), FLAT),
    Growth("X-Filter address of an instance", _same(INSTANCES, '{"ipv4": "10.0.0.77"}'), FLAT),
    Growth("X-Filter region with 50 instances", _same(INSTANCES, f'{{"region": "{RARE_REGION}"}}'), FLAT),
    Growth("X-Filter tag on 50 instances", _same(INSTANCES, f'{{"tags": "{RARE_TAG}"}}'), FLAT),
    Growth("X-Filter rare region, ordered by label", _same(INSTANCES, _BY_LABEL), FLAT),
    Growth("X-Filter rare region or another one", _same(INSTANCES, _EITHER), FLAT),
    Growth("X-Filter region with nearly all", _same(INSTANCES, '{"region": "us-east"}'), None),
    Growth("X-Filter tag on 1 in 5", _same(INSTANCES, f'{{"tags": "{COMMON_TAG}"}}'), None),
    Growth("X-Filter label contains, all", _same(INSTANCES, '{"label": {"+contains": "FILL"}}'), None),
    Growth("instances ordered by label", _same(INSTANCES, '{"+order_by": "label"}'), FLAT),
    Growth("instances ordered by region", _same(INSTANCES, '{"+order_by": "region"}'), FLAT),
    Growth("X-Filter entity, none found", _same(EVENTS, f'{{"entity.type": "compute", "entity.id": {RARE}}}'), None),
    Growth("X-Filter entity, 1 in 1,000", _same(EVENTS, '{"entity.type": "compute", "entity.id": 7}'), None),
    Growth("X-Filter action, 1 in 5", _same(EVENTS, '{"action": "compute_reboot"}'), None),
    Growth("X-Filter created, all", _same(EVENTS, '{"created": {"+gt": "2020-01-01T00:00:00"}}'), None),
    Growth("X-Filter action contains, all", _same(EVENTS, '{"action": {"+contains": "BOOT"}}'), None),
    Growth("X-Filter ordered by created", _same(EVENTS, '{"+order_by": "created"}'), None),
)
