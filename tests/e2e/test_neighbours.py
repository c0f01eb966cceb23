"""An instance with everything that can hang on it: made, tagged, refused for transfer, freed, transferred, deleted."""

from __future__ import annotations

from typing import Any

from httpx2 import Client

from crofter.db.tables import metadata
from tests.cloud import Cloud

PASSWORD = "Vq7!mmpx-Tolp"
NEW = {"type": "g6-nanode-1", "region": "us-east", "root_pass": PASSWORD}
SCRIPT = '#!/bin/sh\n# <UDF name="greeting" label="What to say" example="hello" />\necho "$GREETING"\n'
RULES = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
KINDS = ["compute", "domain", "nodebalancer", "volume"]


class Person:
    def __init__(self, cloud: Cloud, username: str) -> None:
        self.cloud = cloud
        self.client: Client = cloud.person(username=username)

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """Send a request that must succeed, and wait for its work."""
        answer = self.client.request(method, f"/v4/{path}", json=body if method != "GET" else None)
        assert answer.status_code == 200, f"{method} {path}: {answer.text}"
        self.cloud.settle()
        return answer.json()

    def post(self, path: str, **body: Any) -> Any:
        return self.ask("POST", path, **body)

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def delete(self, path: str) -> None:
        assert self.ask("DELETE", path) == {}


def private_image(owner: Person) -> str:
    """An image of an instance whose disk was made small enough for one."""
    source = owner.post("compute/instances", image="compute/alpine3.15", booted=False, label="golden", **NEW)
    disks = owner.get(f"compute/instances/{source['id']}/disks")["data"]
    owner.post(f"compute/instances/{source['id']}/disks/{disks[0]['id']}/resize", size=3000)
    image = owner.post("images", disk_id=disks[0]["id"], label="golden")
    owner.delete(f"compute/instances/{source['id']}")
    assert owner.get(f"images/{image['id']}")["status"] == "available"
    return str(image["id"])


def test_an_instance_with_all_its_neighbours_is_made_moved_and_deleted(cloud: Cloud) -> None:
    alice, bob = Person(cloud, "alice"), Person(cloud, "bob")
    script = alice.post("compute/stackscripts", label="greet", images=["compute/alpine3.15"], script=SCRIPT)
    scripted = alice.post(
        "compute/instances",
        image="compute/alpine3.15",
        stackscript_id=script["id"],
        stackscript_data={"greeting": "hello"},
        label="scripted",
        **NEW,
    )
    assert alice.get(f"compute/stackscripts/{script['id']}")["deployments_active"] == 1

    web = alice.post(
        "compute/instances", image=private_image(alice), label="web", private_ip=True, tags=["shop"], **NEW
    )
    path = f"compute/instances/{web['id']}"
    assert alice.get(path)["status"] == "running"
    volume = alice.post("volumes", label="data", compute_id=web["id"], tags=["shop"])
    firewall = alice.post("networking/firewalls", label="wall", rules=RULES, devices={"computes": [web["id"]]})
    node = {"address": f"{web['ipv4'][1]}:80", "label": "web"}
    configs = [{"check": "connection", "nodes": [node]}]
    balancer = alice.post("nodebalancers", region="us-east", label="front", configs=configs, tags=["shop"])
    alice.post("domains", domain="shop.example.org", type="master", soa_email="a@example.org", tags=["shop"])

    tagged = alice.get("tags/shop")["data"]
    assert [carrier["type"] for carrier in tagged] == KINDS
    assert [carrier["data"]["tags"] for carrier in tagged] == [["shop"]] * 4
    assert [attached["id"] for attached in alice.get(f"{path}/volumes")["data"]] == [volume["id"]]
    assert [assigned["id"] for assigned in alice.get(f"{path}/firewalls")["data"]] == [firewall["id"]]
    assert [listed["id"] for listed in alice.get(f"{path}/nodebalancers")["data"]] == [balancer["id"]]
    config = alice.get(f"nodebalancers/{balancer['id']}/configs")["data"][0]
    assert config["nodes_status"] == {"up": 1, "down": 0}

    offered = {"entities": {"computes": [web["id"]]}}
    refused = alice.client.post("/v4/account/service-transfers", json=offered)
    assert refused.status_code == 400
    reasons = " ".join(problem["reason"].lower() for problem in refused.json()["errors"])
    assert all(word in reasons for word in ("volume", "firewall", "nodebalancer")), reasons

    alice.post(f"volumes/{volume['id']}/detach")
    device = alice.get(f"networking/firewalls/{firewall['id']}/devices")["data"][0]
    alice.delete(f"networking/firewalls/{firewall['id']}/devices/{device['id']}")
    nodes = f"nodebalancers/{balancer['id']}/configs/{config['id']}/nodes"
    alice.delete(f"{nodes}/{alice.get(nodes)['data'][0]['id']}")
    transfer = alice.client.post("/v4/account/service-transfers", json=offered)
    assert transfer.status_code == 200, transfer.text
    bob.post(f"account/service-transfers/{transfer.json()['token']}/accept")
    assert alice.client.get(f"/v4/{path}").status_code == 404
    assert bob.get(path)["label"] == "web"

    bob.delete(path)
    assert bob.client.get(f"/v4/{path}").status_code == 404
    alice.delete(f"compute/instances/{scripted['id']}")
    assert alice.get(f"compute/stackscripts/{script['id']}")["deployments_active"] == 0
    assert alice.get("tags/shop")["results"] == 3  # the transferred instance left its tags behind
    inventory = cloud.runtime.hypervisor.list()
    assert (inventory.domains, inventory.disks) == ((), ())
    assert [ref.id for ref in inventory.volumes] == [volume["id"]]


def test_deleting_an_instance_takes_its_place_among_neighbours_along(cloud: Cloud) -> None:
    alice = Person(cloud, "alice")
    web = alice.post("compute/instances", image="compute/alpine3.15", label="web", private_ip=True, **NEW)
    volume = alice.post("volumes", label="data", compute_id=web["id"])
    firewall = alice.post("networking/firewalls", label="wall", rules=RULES, devices={"computes": [web["id"]]})
    node = {"address": f"{web['ipv4'][1]}:80", "label": "web"}
    balancer = alice.post("nodebalancers", region="us-east", configs=[{"nodes": [node]}])
    alice.post("networking/ipv6/ranges", compute_id=web["id"], prefix_length=64)
    alice.delete(f"compute/instances/{web['id']}")
    assert alice.get(f"volumes/{volume['id']}")["compute_id"] is None
    assert alice.get(f"networking/firewalls/{firewall['id']}/devices")["data"] == []
    config = alice.get(f"nodebalancers/{balancer['id']}/configs")["data"][0]
    assert alice.get(f"nodebalancers/{balancer['id']}/configs/{config['id']}/nodes")["data"] == []
    assert alice.get("networking/ipv6/ranges")["data"] == []
    assert alice.get("networking/ips")["data"] == []
    actions = {event["action"] for event in alice.get("account/events")["data"]}
    assert {"volume_detach", "nodebalancer_node_delete", "firewall_device_remove", "compute_delete"} <= actions


REMEMBERED = {
    "account",
    "account_user",
    "audit",
    "audit_head",
    "charge",
    "event",
    "invoice",
    "invoice_item",
    "ledger",
    "meter",
    "operation",
    "payment",
    "payment_method",
    "revision",
    "token",
    "traffic",
}
"""Rows that are kept of a closed account: identity, audit and payments."""


def test_closing_an_account_leaves_nothing_of_its_objects(cloud: Cloud) -> None:
    alice = Person(cloud, "alice")
    web = alice.post(
        "compute/instances", image="compute/alpine3.15", label="web", private_ip=True, tags=["shop"], **NEW
    )
    volume = alice.post("volumes", label="data", compute_id=web["id"])
    alice.post("volumes", label="free", region="us-west")
    alice.post("networking/firewalls", label="wall", rules=RULES, devices={"computes": [web["id"]]})
    node = {"address": f"{web['ipv4'][1]}:80", "label": "web"}
    alice.post("nodebalancers", region="us-east", configs=[{"nodes": [node]}])
    alice.post("networking/ipv6/ranges", compute_id=web["id"], prefix_length=64)
    domain = alice.post("domains", domain="shop.example.org", type="master", soa_email="a@example.org")
    alice.post(f"domains/{domain['id']}/records", type="A", name="www", target="192.0.2.1")
    alice.post("longview/clients", label="agent")
    alice.ask("PUT", "longview/plan", longview_subscription="longview-10")
    alice.post("compute/stackscripts", label="greet", images=["any/all"], script=SCRIPT)
    alice.post("images/upload", label="sent", region="us-east")
    private_image(alice)
    assert volume["compute_id"] == web["id"]
    assert kept_of(cloud, "alice") - REMEMBERED > {"instance", "volume", "firewall", "nodebalancer", "domain", "image"}

    assert alice.client.post("/v4/account/cancel", json={"comments": "bye"}).status_code == 200
    cloud.settle()
    cloud.advance(3 * 86400)
    cloud.settle()
    assert kept_of(cloud, "alice") <= REMEMBERED
    inventory = cloud.runtime.hypervisor.list()
    assert [*inventory.domains, *inventory.disks, *inventory.volumes, *inventory.images] == []
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM meter WHERE ended IS NULL").fetchone()[0] == 0
        for table in ("nodebalancer_node", "firewall_device", "domain_record", "shared_address", "address"):
            assert db.raw(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table


def kept_of(cloud: Cloud, username: str) -> set[str]:
    """The tables that have rows of an account."""
    owned = [table.name for table in metadata.sorted_tables if "account_id" in table.c]
    with cloud.runtime.database.read() as db:
        account = db.raw(f"SELECT account_id FROM account_user WHERE username = '{username}'").fetchone()[0]
        own = "SELECT count(*) FROM {} WHERE account_id = {}"
        return {name for name in owned if db.raw(own.format(name, account)).fetchone()[0]}
