"""Random bodies for every endpoint: done or refused in the interface's form, without internal errors."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest
from msgspec import inspect as shape

from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.matrix import Matrix

WRITES = [endpoint for endpoint in ENDPOINTS if endpoint.body is not None and endpoint.path != "account/cancel"]
JUNK: list[Any] = [None, True, 0, -1, 2**31, 2**63 - 1, 2**64, 1.5, 1e308, "", "x", "a" * 5000, "\u202e", "0", [], {}]
JUNK += [[None], [{}], [[]], {"a": 1}, ["a", "a"], [1, 1, -1], "\n", "' OR 1=1 --", "%00", "http://[::1", "::1"]
WORDS = ["us-east", "g6-nanode-1", "compute/debian12", "compute/grub2", "Vq7!mmpx-Tolp", "alice", "eth0", "abc-def"]
WORDS += [
    "ünïcode",
    "192.0.2.7",
    "2027-01-01T00:00:00",
    "2027-13-45T00:00:00",
    "a@b.example",
    "123",
    "x" * 64,
    "x" * 65,
]
NUMBERS = [0, 1, 2, 5, 10, 100, 512, 8000, 25600, 10**6, 10**9, 2**31, -5]
BETWEEN = 250
"""Requests to one account, after which there is little left of it to break."""


class Sender:
    """Makes up bodies: mostly of the right shape, since a wrong one is refused early."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def body(self, info: shape.StructType) -> dict[str, Any]:
        sent = [field for field in info.fields if self.rng.random() < (0.9 if field.required else 0.45)]
        return {field.encode_name: self.value(field.type) for field in sent}

    def value(self, kind: shape.Type) -> Any:
        if isinstance(kind, shape.Metadata):
            return self.value(kind.type)
        if self.rng.random() < 0.2:
            return self.rng.choice(JUNK)
        if isinstance(kind, shape.UnionType):
            return self.value(self.rng.choice(kind.types))
        if isinstance(kind, shape.StructType):
            return self.body(kind)
        if isinstance(kind, shape.ListType):
            return [self.value(kind.item_type) for _ in range(self.rng.choice((0, 1, 1, 2, 4)))]
        if isinstance(kind, shape.DictType):
            return {name: self.value(kind.value_type) for name in self.rng.sample(("a", "sda", ""), 2)}
        if isinstance(kind, shape.LiteralType):
            return self.rng.choice([*kind.values, "none of them"])
        if isinstance(kind, shape.BoolType):
            return self.rng.choice((True, False))
        return self.rng.choice(NUMBERS if isinstance(kind, (shape.IntType, shape.FloatType)) else WORDS)


def address(endpoint: Endpoint, parts: dict[str, Any]) -> str:
    path = re.sub(r"{(\w+)[^}]*}", lambda match: str(parts.get(match[1], 1)), endpoint.path)
    return f"/{'v4beta' if endpoint.beta else 'v4'}/{path}"


def storm(cloud: Cloud, requests: int) -> Counter[int]:
    """Send so many requests, and look at each answer. How often each status came."""
    sender, seen = Sender(requests), Counter[int]()
    for number in range(requests):
        if number % BETWEEN == 0:
            cloud.reset()
            matrix = Matrix(cloud)
        endpoint = sender.rng.choice(WRITES)
        info = shape.type_info(endpoint.body)
        assert isinstance(info, shape.StructType)
        body = sender.body(info)
        headers = {"Prefer": "plan"} if sender.rng.random() < 0.3 else {}
        answer = matrix.alice.request(
            endpoint.method, address(endpoint, matrix.parts_of(endpoint)), json=body, headers=headers
        )
        seen[answer.status_code] += 1
        assert answer.status_code in (200, 400, 403, 404, 409), (endpoint.name, body, answer.text)
        if answer.status_code != 200:
            for problem in answer.json()["errors"]:
                assert set(problem) in ({"reason"}, {"reason", "field"})
                assert all(isinstance(text, str) and text for text in problem.values()), (endpoint.name, problem)
    return seen


@pytest.mark.parametrize("requests", [300, pytest.param(20_000, marks=pytest.mark.soak)])
@pytest.mark.both
def test_no_body_makes_a_fault(cloud: Cloud, requests: int) -> None:
    seen = storm(cloud, requests)
    assert seen[200] > requests / 20
    assert seen[400] > requests / 4
    cloud.settle()


@pytest.mark.parametrize("cloud", ["sqlite"], indirect=True)
def test_one_that_does_is_seen(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(_ctx: Any, instance: Any, body: Any) -> None:
        raise ZeroDivisionError

    (resize,) = (endpoint for endpoint in WRITES if endpoint.name == "resize_instance")
    monkeypatch.setattr(resize, "handler", careless)
    with pytest.raises(AssertionError, match="Internal server error"):
        storm(cloud, 300)
