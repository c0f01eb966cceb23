"""Load balancers that several callers change in the same moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from httpx2 import Client, Response

from tests.at_once import at_once
from tests.cloud import Cloud
from tests.resources.balancing import BALANCERS, add, backend, balancer, configs, nodes
from tests.resources.compute import IMAGE, INSTANCES, PASSWORD, listed
from tests.sweep import violations


def post(client: Client, path: str, **body: Any) -> Callable[[], Response]:
    return lambda: client.post(path, json=body)


def test_of_eight_configs_with_one_port_one_is_made(alice: Client) -> None:
    own = balancer(alice)["id"]
    answers = at_once(*(post(alice, configs(own), port=80) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7
    assert len(listed(alice, configs(own))) == 1


def test_of_eight_balancers_with_one_label_one_is_made(alice: Client) -> None:
    answers = at_once(*(post(alice, BALANCERS, region="us-east", label="front") for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7


def test_addresses_that_are_given_out_at_once_are_different(alice: Client, mallory: Client) -> None:
    calls = [post(client, BALANCERS, region="us-east") for client in (alice, mallory) for _ in range(4)]
    given = [answer.json()["ipv4"] for answer in at_once(*calls)]
    assert len(set(given)) == 8


def test_a_node_never_outlives_its_instance(cloud: Cloud, alice: Client) -> None:
    own = balancer(alice)["id"]
    config = add(alice, configs(own))["id"]
    made = [backend(alice, image=IMAGE, root_pass=PASSWORD) for _ in range(4)]
    cloud.settle()
    calls: list[Callable[[], Response]] = []
    for instance_id, host in made:
        calls.append(post(alice, nodes(own, config), address=f"{host}:80", label="web"))
        calls.append(lambda path=f"{INSTANCES}/{instance_id}": alice.delete(path))  # type: ignore[misc]
    assert {answer.status_code for answer in at_once(*calls)} <= {200, 400}
    cloud.settle()
    assert listed(alice, nodes(own, config)) == []
    assert violations(cloud) == []


def test_two_rebuilds_end_with_the_nodes_of_one(alice: Client) -> None:
    own = balancer(alice)["id"]
    config = add(alice, configs(own))["id"]
    _, host = backend(alice)
    wanted = [
        [{"address": f"{host}:{port}", "label": f"set{first}"} for port in range(first, first + 5)]
        for first in (100, 103)
    ]
    calls = [post(alice, f"{configs(own)}/{config}/rebuild", nodes=sent) for sent in wanted]
    assert [answer.status_code for answer in at_once(*calls)] == [200, 200]
    now = sorted((node["address"], node["label"]) for node in listed(alice, nodes(own, config)))
    assert now in [sorted((node["address"], node["label"]) for node in sent) for sent in wanted]
