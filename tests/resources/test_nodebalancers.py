"""Load balancers through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client
from msgspec.structs import replace

from crofter.db import query
from crofter.db.sql import select
from crofter.region_settings import RegionSettings
from crofter.resources.billing.meters import meter
from crofter.resources.billing.prices import NODEBALANCERS
from crofter.resources.nodebalancers import rules
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.balancing import BALANCERS, backend, balancer, configs, nodes, restricted
from tests.resources.compute import create, entity, events, last, listed, refused

RUNNING = query(
    select(meter.c.object_id).where(meter.c.what == NODEBALANCERS, meter.c.ended.is_(None)).order_by(meter.c.object_id)
)
PLAN = {"Prefer": "plan"}
TAKEN = "Label must be unique among your NodeBalancers"
NOT_OURS = "Must be the private address of a Compute in the region of the NodeBalancer"


@pytest.mark.both
def test_a_balancer_has_defaults_for_everything(alice: Client) -> None:
    made = balancer(alice)
    first = made["ipv4"]
    assert made == {
        "client_conn_throttle": 0,
        "created": made["created"],
        "hostname": f"{first.replace('.', '-')}.ip.computeusercontent.com",
        "id": made["id"],
        "ipv4": first,
        "ipv6": made["ipv6"],
        "label": f"balancer{made['id']}",
        "region": "us-east",
        "tags": [],
        "transfer": {"in": None, "out": None, "total": None},
        "updated": made["created"],
    }
    assert first.startswith("100.")
    assert made["ipv6"].startswith("2001:db8:")
    assert alice.get(f"{BALANCERS}/{made['id']}").json() == made
    assert listed(alice, BALANCERS) == [made]
    event = last(alice, "nodebalancer_create")
    assert (event["status"], event["secondary_entity"]) == ("notification", None)
    assert entity(event["entity"]) == ("nodebalancer", made["id"], made["label"], f"{BALANCERS}/{made['id']}")


@pytest.fixture
def real_region(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings give eu-west real hosts."""
    settings = replace(cloud.runtime.settings, regions={"eu-west": RegionSettings("libvirt")})
    monkeypatch.setattr(cloud.runtime, "settings", settings)


@pytest.mark.usefixtures("real_region")
def test_a_region_of_real_hosts_has_no_balancers(alice: Client) -> None:
    shown = {region["id"]: region["capabilities"] for region in alice.get("/v4/regions").json()["data"]}
    assert "NodeBalancers" not in shown["eu-west"]
    assert "Computes" in shown["eu-west"]
    assert "NodeBalancers" in shown["us-east"]
    assert alice.get("/v4/regions/eu-west").json()["capabilities"] == shown["eu-west"]
    text = "NodeBalancers are not available in this region: its hosts are real, and no driver there serves them."
    refused(alice.post(BALANCERS, json={"region": "eu-west"}), text, "region")
    assert listed(alice, BALANCERS) == []
    assert balancer(alice, region="us-east")["region"] == "us-east"


def test_a_balancer_that_was_made_there_before_costs_nothing_any_more(
    cloud: Cloud, alice: Client, request: pytest.FixtureRequest
) -> None:
    here, elsewhere = balancer(alice, region="eu-west")["id"], balancer(alice, region="us-east")["id"]
    rules.stop_billing_unserved(cloud.runtime)
    assert _billed(cloud) == [here, elsewhere]
    request.getfixturevalue("real_region")
    rules.stop_billing_unserved(cloud.runtime)
    rules.stop_billing_unserved(cloud.runtime)
    assert _billed(cloud) == [elsewhere]
    assert alice.delete(f"{BALANCERS}/{here}").status_code == 200


def _billed(cloud: Cloud) -> list[int]:
    with cloud.runtime.database.read() as db:
        return db.column(RUNNING)


def test_everything_can_be_said_when_it_is_made(alice: Client) -> None:
    _, host = backend(alice)
    sent: list[dict[str, Any]] = [
        {"port": 80, "check": "connection", "nodes": [{"address": f"{host}:80", "label": "one"}]},
        {"port": 81, "protocol": "tcp", "proxy_protocol": "v2"},
    ]
    made = balancer(alice, label="front", client_conn_throttle=5, tags=["blue"], configs=sent)
    assert (made["label"], made["client_conn_throttle"], made["tags"]) == ("front", 5, ["blue"])
    first, second = listed(alice, configs(made["id"]))
    assert [(config["port"], config["protocol"]) for config in (first, second)] == [(80, "http"), (81, "tcp")]
    (node,) = listed(alice, nodes(made["id"], first["id"]))
    assert (node["address"], node["weight"], node["mode"]) == (f"{host}:80", 50, "accept")
    assert listed(alice, nodes(made["id"], second["id"])) == []
    assert [event["action"] for event in events(alice) if "nodebalancer" in event["action"]] == [
        "nodebalancer_create",
        "nodebalancer_config_create",
        "nodebalancer_node_create",
        "nodebalancer_config_create",
    ]
    assert listed(alice, "/v4/tags/blue") == [{"type": "nodebalancer", "data": made}]


def test_all_that_is_wrong_is_said_at_once(alice: Client) -> None:
    _, host = backend(alice)
    _, elsewhere = backend(alice, region="us-west")
    balancer(alice, label="front")
    node = {"address": f"{host}:80", "label": "one"}
    body = {
        "region": "us-east",
        "label": "front",
        "configs": [
            {"port": 80, "check": "http_body", "nodes": [node, {"address": f"{elsewhere[:-1]}254:80", "label": "two"}]},
            {"port": 80, "protocol": "tcp", "stickiness": "http_cookie", "nodes": [node, node]},
            {"port": 443, "protocol": "https", "proxy_protocol": "v1"},
        ],
    }
    assert errors(alice.post(BALANCERS, json=body)) == [
        ("label", TAKEN),
        ("configs[0].check_path", "check_path is required"),
        ("configs[0].check_body", "check_body is required"),
        ("configs[0].nodes[1].address", NOT_OURS),
        ("configs[1].port", "Port must be unique among the configs of a NodeBalancer"),
        ("configs[1].stickiness", "Protocol tcp has no cookies"),
        ("configs[1].nodes[1].address", "Address must be unique among the nodes of a config"),
        ("configs[2].proxy_protocol", "Must be none unless protocol is tcp"),
        ("configs[2].ssl_cert", "ssl_cert is required"),
        ("configs[2].ssl_key", "ssl_key is required"),
    ]
    wrong = {"label": "x y", "client_conn_throttle": 21, "configs": [{"nodes": [{"address": "10.0.0.1:80"}]}]}
    assert errors(alice.post(BALANCERS, json=wrong)) == [
        ("region", "region is required"),
        ("label", "Must only use ASCII letters, numbers, dashes and underscores"),
        ("client_conn_throttle", "Must be 0-20"),
        ("configs[0].nodes[0].address", "Must begin with 192.168"),
        ("configs[0].nodes[0].label", "label is required"),
    ]
    refused(alice.post(BALANCERS, json={"region": "mars"}), "region is not valid", "region")
    refused(alice.post(BALANCERS, json={"region": "us-east", "label": "front"}), TAKEN, "label")
    assert len(listed(alice, BALANCERS)) == 1


def test_a_balancer_is_changed_and_paid_for_under_its_new_name(cloud: Cloud, alice: Client) -> None:
    made = balancer(alice, label="front", tags=["blue"])
    path = f"{BALANCERS}/{made['id']}"
    cloud.advance(10)
    changed = alice.put(path, json={"label": "gate", "client_conn_throttle": 3, "tags": ["red"]}).json()
    assert (changed["label"], changed["client_conn_throttle"], changed["tags"]) == ("gate", 3, ["red"])
    assert changed["updated"] > made["updated"]
    assert entity(last(alice, "nodebalancer_update")["entity"])[2] == "gate"  # type: ignore[index]
    assert alice.put(path, json=changed).json()["label"] == "gate"
    balancer(alice, label="other")
    refused(alice.put(path, json={"label": "other"}), TAKEN, "label")
    with cloud.runtime.database.read() as db:
        label = db.raw(f"SELECT label FROM meter WHERE what = 'nodebalancer' AND object_id = {made['id']}").fetchone()[
            0
        ]
    assert label == f"NodeBalancer - gate ({made['id']})"


def test_it_costs_by_the_hour_up_to_a_cap(alice: Client) -> None:
    answer = alice.post(BALANCERS, json={"region": "us-east"}, headers=PLAN)
    assert answer.json()["plan"]["price"] == {"hourly": 0.015, "monthly": 10}
    assert answer.json()["plan"]["events"] == ["nodebalancer_create"]
    assert listed(alice, BALANCERS) == []
    made = balancer(alice)
    planned = alice.delete(f"{BALANCERS}/{made['id']}", headers=PLAN).json()["plan"]
    assert (planned["price"], planned["events"]) == ({"hourly": -0.015, "monthly": -10}, ["nodebalancer_delete"])


def test_one_that_is_deleted_leaves_nothing(cloud: Cloud, alice: Client) -> None:
    _, host = backend(alice)
    node = {"address": f"{host}:80", "label": "one"}
    made = balancer(alice, tags=["blue"], configs=[{"nodes": [node]}])
    restricted(cloud, alice, "rita", nodebalancer=[{"id": made["id"], "permissions": "read_only"}])
    path = f"{BALANCERS}/{made['id']}"
    assert alice.delete(path).json() == {}
    assert alice.get(path).status_code == 404
    assert listed(alice, BALANCERS) == listed(alice, "/v4/tags/blue") == []
    assert last(alice, "nodebalancer_delete")["entity"]["id"] == made["id"]
    with cloud.runtime.database.read() as db:
        for table in ("nodebalancer_config", "nodebalancer_node", "user_grant"):
            assert db.raw(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
        assert db.raw(f"SELECT count(*) FROM released_address WHERE address = '{made['ipv4']}'").fetchone()[0] == 1
        assert db.raw("SELECT count(*) FROM meter WHERE what = 'nodebalancer' AND ended IS NULL").fetchone()[0] == 0


def test_addresses_are_nobody_elses(alice: Client) -> None:
    taken = [create(alice)["ipv4"][0], balancer(alice)["ipv4"], create(alice)["ipv4"][0], balancer(alice)["ipv4"]]
    assert len(set(taken)) == 4


def test_another_account_sees_nothing(alice: Client, mallory: Client) -> None:
    _, host = backend(alice)
    made = balancer(alice, configs=[{"nodes": [{"address": f"{host}:80", "label": "one"}]}])
    config = listed(alice, configs(made["id"]))[0]["id"]
    node = listed(alice, nodes(made["id"], config))[0]["id"]
    other = balancer(mallory)["id"]
    for path in (f"{BALANCERS}/{made['id']}", f"{configs(made['id'])}/{config}", f"{nodes(made['id'], config)}/{node}"):
        assert mallory.get(path).status_code == 404
        assert mallory.put(path, json={}).status_code == 404
        assert mallory.delete(path).status_code == 404
    assert mallory.get(f"{configs(other)}/{config}").status_code == 404
    assert mallory.get(f"{nodes(other, config)}/{node}").status_code == 404
    assert mallory.get(nodes(other, config)).status_code == 404
    theirs = {"address": f"{host}:80", "label": "mine"}
    refusal = mallory.post(BALANCERS, json={"region": "us-east", "configs": [{"nodes": [theirs]}]})
    refused(refusal, NOT_OURS, "configs[0].nodes[0].address")
    assert balancer(mallory, label=made["label"])["label"] == made["label"]


def test_restricted_users_need_grants(cloud: Cloud, alice: Client) -> None:
    own, host = backend(alice)
    seen, hidden = balancer(alice), balancer(alice)
    reader = restricted(cloud, alice, "rita", nodebalancer=[{"id": seen["id"], "permissions": "read_only"}])
    assert [balancer["id"] for balancer in listed(reader, BALANCERS)] == [seen["id"]]
    assert reader.get(f"{BALANCERS}/{hidden['id']}").status_code == 403
    assert reader.put(f"{BALANCERS}/{seen['id']}", json={"label": "mine"}).status_code == 403
    assert reader.post(BALANCERS, json={"region": "us-east"}).status_code == 403
    maker = restricted(cloud, alice, "max", **{"global": {"add_nodebalancers": True}})
    made = balancer(maker, label="of-max")
    assert maker.put(f"{BALANCERS}/{made['id']}", json={"label": "still-of-max"}).status_code == 200
    assert maker.post(BALANCERS, json={"region": "us-east", "tags": ["blue"]}).status_code == 403
    node = {"address": f"{host}:80", "label": "one"}
    refusal = maker.post(BALANCERS, json={"region": "us-east", "configs": [{"nodes": [node]}]})
    refused(refusal, NOT_OURS, "configs[0].nodes[0].address")
    alice.put("/v4/account/users/max/grants", json={"compute": [{"id": own, "permissions": "read_write"}]})
    assert balancer(maker, configs=[{"nodes": [node]}])


def test_rebuilding_needs_the_right_to_change_the_balancer_too(cloud: Cloud, alice: Client) -> None:
    made = balancer(alice, configs=[{}])
    config = listed(alice, configs(made["id"]))[0]["id"]
    granted = [{"id": made["id"], "permissions": "read_only"}]
    maker = restricted(cloud, alice, "max", **{"global": {"add_nodebalancers": True}}, nodebalancer=granted)
    path = f"{configs(made['id'])}/{config}/rebuild"
    assert maker.post(path, json={"port": 81}).status_code == 403
    alice.put("/v4/account/users/max/grants", json={"nodebalancer": [{**granted[0], "permissions": "read_write"}]})
    assert maker.post(path, json={"port": 81}).status_code == 200


def test_lists_are_paged_and_filtered(alice: Client) -> None:
    first, second = balancer(alice, label="first", tags=["blue"]), balancer(alice, label="second", region="us-west")
    for wanted in ({"label": "FIRST"}, {"region": "us-east"}, {"ipv4": first["ipv4"]}, {"tags": "blue"}):
        assert listed(alice, BALANCERS, **wanted) == [first]
    assert listed(alice, BALANCERS, **{"+order_by": "label", "+order": "desc"}) == [second, first]
    page = alice.get(BALANCERS, params={"page": 2, "page_size": 1}).json()
    assert (page["data"], page["pages"], page["results"]) == ([second], 2, 2)
    answer = alice.get(BALANCERS, headers={"X-Filter": '{"hostname": "x"}'})
    refused(answer, "Cannot filter on hostname", "X-Filter")


def test_statistics_come_with_time(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    made = balancer(alice, label="front")
    path = f"{BALANCERS}/{made['id']}/stats"
    refused(alice.get(path), "Stats are unavailable at this time.")
    cloud.advance(600)
    shown = alice.get(path).json()
    assert shown["title"] == f"front (#{made['id']}) - day (5 min avg)"
    series = [shown["data"]["connections"], shown["data"]["traffic"]["in"], shown["data"]["traffic"]["out"]]
    assert [len(points) for points in series] == [288] * 3
    assert set(shown["data"]) == {"connections", "traffic"}


def test_who_owes_money_makes_none(cloud: Cloud) -> None:
    poor = cloud.person(username="poor", card="declined")
    create(poor, type="g6-standard-32")
    for _ in range(40):
        cloud.advance(3600 * 24)
        if poor.get("/v4/account").json()["balance"] > 0:
            break
    answer = poor.post(BALANCERS, json={"region": "us-east"})
    assert answer.status_code == 400
    assert "past due" in errors(answer)[0][1]


def test_a_closed_account_keeps_none(cloud: Cloud, alice: Client, mallory: Client) -> None:
    balancer(alice, tags=["blue"], configs=[{}])
    balancer(mallory)
    assert alice.post("/v4/account/cancel").status_code == 200
    cloud.settle()
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM nodebalancer").fetchone()[0] == 1
        assert db.raw("SELECT count(*) FROM nodebalancer_config").fetchone()[0] == 0
        assert db.raw("SELECT count(*) FROM tagged").fetchone()[0] == 0
