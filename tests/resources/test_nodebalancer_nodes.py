"""Nodes of load balancers: which there may be, how they fare, and what becomes of them when instances go."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from httpx2 import Client

from crofter.resources.nodebalancers.nodes import rules
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.balancing import BALANCERS, add, backend, balancer, configs, nodes, restricted
from tests.resources.compute import IMAGE, PASSWORD, act, entity, events, last, listed, refused, view
from tests.resources.compute import INSTANCES as URL

NOT_OURS = "Must be the private address of a Compute in the region of the NodeBalancer"
TAKEN = "Address must be unique among the nodes of a config"


class Front(NamedTuple):
    """A load balancer with a single port."""

    id: int
    config: int

    @property
    def nodes(self) -> str:
        return nodes(self.id, self.config)

    @property
    def path(self) -> str:
        return f"{configs(self.id)}/{self.config}"


@pytest.fixture
def front(alice: Client) -> Front:
    made = balancer(alice, label="front", configs=[{"check": "connection", "check_interval": 10}])
    return Front(made["id"], listed(alice, configs(made["id"]))[0]["id"])


@pytest.mark.both
def test_a_node_is_made_viewed_changed_and_deleted(alice: Client, front: Front) -> None:
    own, host = backend(alice)
    made = add(alice, front.nodes, address=f"{host}:80", label="web.1")
    assert made == {
        "address": f"{host}:80",
        "config_id": front.config,
        "id": made["id"],
        "label": "web.1",
        "mode": "accept",
        "nodebalancer_id": front.id,
        "status": "DOWN",
        "weight": 50,
    }
    path = f"{front.nodes}/{made['id']}"
    assert alice.get(path).json() == made
    assert listed(alice, front.nodes) == [made]
    assert [balancer["id"] for balancer in listed(alice, f"{URL}/{own}/nodebalancers")] == [front.id]
    sent = {"address": f"{host}:8080", "label": "web-2", "weight": 255, "mode": "drain"}
    assert alice.put(path, json=sent).json() == {**made, **sent}
    assert alice.put(path, json={}).json() == {**made, **sent}
    assert alice.delete(path).json() == {}
    assert alice.get(path).status_code == 404
    node_events = events(alice, "nodebalancer_node_create", "nodebalancer_node_update", "nodebalancer_node_delete")
    assert [event["action"].rpartition("_")[2] for event in node_events] == ["create", "update", "update", "delete"]
    assert {event["status"] for event in node_events} == {"notification"}
    assert entity(node_events[0]["entity"]) == ("nodebalancer", front.id, "front", f"{BALANCERS}/{front.id}")
    assert entity(node_events[0]["secondary_entity"]) == ("node", made["id"], "web.1", path)
    assert listed(alice, f"{URL}/{own}/nodebalancers") == []


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("10.0.0.1:80", "Must begin with 192.168"),
        ("", "Must begin with 192.168"),
        *(
            (address, "Must be an IPv4 address and a port, such as 192.168.128.7:80")
            for address in (
                "192.168.128.2",
                "192.168.128.2:",
                "192.168.128.2:0",
                "192.168.128.2:65536",
                "192.168.128.2:080",
                "192.168.128.2:8 0",
                "192.168.128.2:80\n",
                "192.168.300.2:80",
                "192.168.128.02:80",
                "192.168.128.2:80:90",
            )
        ),
        ("192.168.1.1:80", NOT_OURS),
    ],
)
def test_an_address_that_is_none_is_refused(alice: Client, front: Front, address: str, reason: str) -> None:
    refused(alice.post(front.nodes, json={"address": address, "label": "web"}), reason, "address")


def test_all_that_is_wrong_with_a_node_is_said_at_once(alice: Client, front: Front) -> None:
    body = {"address": "192.168.1.1:80", "label": "a b", "weight": 0, "mode": "fast"}
    assert errors(alice.post(front.nodes, json=body)) == [
        ("address", NOT_OURS),
        ("label", "Must only use ASCII letters, numbers, dashes, underscores and periods"),
        ("weight", "Must be 1-255"),
        ("mode", "Must be one of accept, reject, drain, backup"),
    ]
    assert errors(alice.post(front.nodes, json={})) == [
        ("address", "address is required"),
        ("label", "label is required"),
    ]


def test_only_own_instances_of_the_region_can_be_nodes(alice: Client, mallory: Client, front: Front) -> None:
    _, elsewhere = backend(alice, region="us-west")
    _, here = backend(alice)
    _, theirs = backend(mallory)
    assert elsewhere == here  # each region has the same private addresses
    refused(alice.post(front.nodes, json={"address": f"{theirs}:80", "label": "web"}), NOT_OURS, "address")
    made = add(alice, front.nodes, address=f"{here}:80", label="web")
    path = f"{front.nodes}/{made['id']}"
    refused(alice.put(path, json={"address": f"{theirs}:80"}), NOT_OURS, "address")
    public = view(alice, backend(alice)[0])["ipv4"][0]
    refused(
        alice.post(front.nodes, json={"address": f"{public}:80", "label": "web"}), "Must begin with 192.168", "address"
    )


def test_an_address_is_there_once(alice: Client, front: Front) -> None:
    _, host = backend(alice)
    add(alice, front.nodes, address=f"{host}:80", label="web")
    refused(alice.post(front.nodes, json={"address": f"{host}:80", "label": "other"}), TAKEN, "address")
    made = add(alice, front.nodes, address=f"{host}:81", label="web")
    refused(alice.put(f"{front.nodes}/{made['id']}", json={"address": f"{host}:80"}), TAKEN, "address")


def test_there_are_only_so_many(alice: Client, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_NODES", 1)
    _, host = backend(alice)
    add(alice, front.nodes, address=f"{host}:80", label="web")
    refused(alice.post(front.nodes, json={"address": f"{host}:81", "label": "web"}), rules.TOO_MANY)


def test_a_restricted_user_needs_the_instance_too(cloud: Cloud, alice: Client, front: Front) -> None:
    own, host = backend(alice)
    made = add(alice, front.nodes, address=f"{host}:80", label="web")
    level = [{"id": front.id, "permissions": "read_write"}]
    user = restricted(cloud, alice, "rita", nodebalancer=level, compute=[{"id": own, "permissions": "read_only"}])
    body = {"address": f"{host}:81", "label": "web"}
    refused(user.post(front.nodes, json=body), NOT_OURS, "address")
    assert user.put(f"{front.nodes}/{made['id']}", json={"address": f"{host}:80", "weight": 7}).status_code == 200
    alice.put("/v4/account/users/rita/grants", json={"compute": [{"id": own, "permissions": "read_write"}]})
    assert user.post(front.nodes, json=body).status_code == 200


def test_viewing_a_node_takes_a_scope_to_write_and_a_grant_to_read(cloud: Cloud, alice: Client, front: Front) -> None:
    _, host = backend(alice)
    path = f"{front.nodes}/{add(alice, front.nodes, address=f'{host}:80', label='web')['id']}"
    assert cloud.client(cloud.token("alice", "nodebalancers:read_only")).get(path).status_code == 403
    restricted(cloud, alice, "rita", nodebalancer=[{"id": front.id, "permissions": "read_only"}])
    reader = cloud.client(cloud.token("rita", "nodebalancers:read_write"))
    assert reader.get(path).status_code == 200
    assert reader.put(path, json={"weight": 1}).status_code == 403


# ---- how they fare ---------------------------------------------------------------------------------------------------


def fared(client: Client, front: Front) -> tuple[list[str], dict[str, Any]]:
    return [node["status"] for node in listed(client, front.nodes)], client.get(front.path).json()["nodes_status"]


def test_a_node_fares_as_its_instance_does(cloud: Cloud, alice: Client, front: Front) -> None:
    own, host = backend(alice, image=IMAGE, root_pass=PASSWORD)
    _, idle = backend(alice)
    cloud.settle()
    for address in (host, idle):
        add(alice, front.nodes, address=f"{address}:80", label="web")
    assert fared(alice, front) == (["UP", "DOWN"], {"down": 1, "up": 1})
    act(alice, own, "shutdown")
    cloud.settle()
    assert fared(alice, front) == (["DOWN", "DOWN"], {"down": 2, "up": 0})
    act(alice, own, "boot")
    cloud.settle()
    assert fared(alice, front) == (["UP", "DOWN"], {"down": 1, "up": 1})
    assert alice.put(front.path, json={"check": "none"}).status_code == 200
    assert fared(alice, front) == (["Unknown", "Unknown"], {"down": 0, "up": 0})
    assert events(alice, "nodebalancer_node_update") == []


# ---- when instances go -----------------------------------------------------------------------------------------------


def test_an_instance_that_is_deleted_is_a_node_no_more(cloud: Cloud, alice: Client, front: Front) -> None:
    own, host = backend(alice, image=IMAGE, root_pass=PASSWORD)
    _, other = backend(alice)
    cloud.settle()
    gone = add(alice, front.nodes, address=f"{host}:80", label="gone")
    kept = add(alice, front.nodes, address=f"{other}:80", label="kept")
    assert alice.delete(f"{URL}/{own}").status_code == 200
    cloud.settle()
    assert [node["id"] for node in listed(alice, front.nodes)] == [kept["id"]]
    event = last(alice, "nodebalancer_node_delete")
    assert (event["entity"]["id"], event["secondary_entity"]["id"]) == (front.id, gone["id"])
    refused(alice.post(front.nodes, json={"address": f"{host}:80", "label": "again"}), NOT_OURS, "address")


def test_one_that_is_being_deleted_becomes_no_node(cloud: Cloud, alice: Client, front: Front) -> None:
    own, host = backend(alice, image=IMAGE, root_pass=PASSWORD)
    cloud.settle()
    cloud.freeze()
    assert alice.delete(f"{URL}/{own}").status_code == 200
    refused(alice.post(front.nodes, json={"address": f"{host}:80", "label": "web"}), NOT_OURS, "address")


def test_an_instance_that_leaves_its_region_leaves_its_balancers(cloud: Cloud, alice: Client, front: Front) -> None:
    own, host = backend(alice)
    add(alice, front.nodes, address=f"{host}:80", label="web")
    act(alice, own, "migrate", region="us-west")
    cloud.settle()
    assert listed(alice, front.nodes) == listed(alice, f"{URL}/{own}/nodebalancers") == []
    assert len(events(alice, "nodebalancer_node_delete")) == 1


def test_an_instance_behind_a_balancer_is_not_transferred(alice: Client, front: Front) -> None:
    own, host = backend(alice)
    made = add(alice, front.nodes, address=f"{host}:80", label="web")
    body = {"entities": {"computes": [own]}}
    answer = alice.post("/v4/account/service-transfers", json=body)
    assert [reason for _, reason in errors(answer)] == [f"Compute {own} is a node of a NodeBalancer"]
    assert alice.delete(f"{front.nodes}/{made['id']}").status_code == 200
    assert alice.post("/v4/account/service-transfers", json=body).status_code == 200
