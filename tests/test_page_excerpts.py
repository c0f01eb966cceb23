"""Blocks of docs/tour.md and docs/errors.md that are compared with the code they speak of."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from crofter import errors
from crofter.edge.problems import status_of
from tests.cloud import ADMIN, Cloud
from tests.page_player import PATIENCE, Block, blocks
from tests.served import serving

ROOT = Path(__file__).resolve().parent.parent


def listed(page: str) -> list[Block]:
    return blocks(page, (ROOT / page).read_text(encoding="utf-8"))


def block_of(page: str, mark: str) -> str:
    """The code of the block with this mark."""
    return next(block.code for block in listed(page) if block.mark == f"test {mark}")


@pytest.mark.parametrize("cloud", ["sqlite"], indirect=True)
def test_the_request_of_the_tour_is_answered(cloud: Cloud) -> None:
    head, _, body = block_of("docs/tour.md", "test_the_request_of_the_tour_is_answered").partition("\n\n")
    first, *lines = head.replace("first-steps", ADMIN).splitlines()
    method, path, _ = first.split()
    headers = dict(line.split(": ") for line in lines)
    answer = cloud.sandbox.request(method, path, headers=headers, content=body.strip())
    assert (answer.status_code, answer.json()) == (200, json.loads(body))


def test_the_tree_of_the_tour_names_what_is_there() -> None:
    code = block_of("docs/tour.md", "test_the_tree_of_the_tour_names_what_is_there")
    named = re.findall(r"(?:^|\s)(\w+\.py|\w+(?:/\w+)*/)(?=\s|$)", code)
    assert len(named) > 30
    assert [name for name in named if not any((place / name).exists() for place in (ROOT, ROOT / "src/crofter"))] == []


def tree(kind: type[errors.Problem], depth: int = 0) -> list[str]:
    """The names of a class and of those below it, each behind its depth."""
    below = [
        line
        for other in kind.__subclasses__()
        if other.__module__ == errors.__name__
        for line in tree(other, depth + 1)
    ]
    return [f"{depth} {kind.__name__}", *below]


def test_the_tree_of_problems_is_the_real_one() -> None:
    code = block_of("docs/errors.md", "test_the_tree_of_problems_is_the_real_one")
    lines = [re.match(r"([ │├└─]*)(\w+) *(\d*)", line) for line in code.splitlines()]
    shown = [(f"{len(match[1]) // 4} {match[2]}", match[3]) for match in lines if match]
    assert sorted(name for name, _ in shown) == sorted(tree(errors.Problem))
    for name, status in shown[1:]:
        kind = getattr(errors, name.split()[1])
        assert str(status_of(kind("x") if kind is errors.Invalid else kind())) == status


def test_the_problems_of_the_page_can_be_raised() -> None:
    code = block_of("docs/errors.md", "test_the_problems_of_the_page_can_be_raised")
    for line in code.splitlines():
        with pytest.raises(errors.Problem):
            exec(line, vars(errors).copy())


def test_lines_of_the_log_are_the_documented_ones() -> None:
    shown = [json.loads(block.code) for block in listed("docs/operating.md") if "lines_of_the_log" in block.mark]
    env = {"CROFTER_LOG": "json"}
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": "Vq7!mmpx-Tolp"}
    with serving("--data", ":memory:", env=env) as process, process.client() as client:
        assert client.post("/v4/compute/instances", json=body).status_code == 200
        assert client.post("/_sandbox/settle").status_code == 200
        assert client.get("/v4/tags").status_code == 200
        deadline = time.monotonic() + PATIENCE
        while not ((wanted := {frozenset(line) for line in shown}) <= lines_of(process.log())):
            assert time.monotonic() < deadline, f"{wanted} are not in\n{process.log()}"
            time.sleep(0.05)
    assert len(shown) == 2


def lines_of(log: str) -> set[frozenset[str]]:
    """The names of the fields of each line of a log."""
    return {frozenset(json.loads(line)) for line in log.splitlines() if line.startswith("{")}
