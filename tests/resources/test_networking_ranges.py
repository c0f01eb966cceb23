"""IPv6 ranges and private networks of an account through HTTP."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from httpx2 import Client, Response

from tests.at_once import at_once
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.compute import NOT_FOUND, act, configs, create, deploy, entity, last, listed, refused, view
from tests.resources.test_networking import INSTANCES, assign, host_addresses, restricted, share

URL = "/v4/networking/ipv6/ranges"
VLANS = "/v4beta/networking/vlans"
VLAN = {"purpose": "vlan", "label": "inside", "ipam_address": "10.0.0.1/24"}


def new(client: Client, **body: Any) -> Response:
    return client.post(URL, json={"prefix_length": 64, **body})


def ranged(client: Client, own: int, **body: Any) -> tuple[str, str]:
    """Return a new range, and its address without the prefix."""
    answer = new(client, compute_id=own, **body)
    assert answer.status_code == 200, answer.text
    text = str(answer.json()["range"])
    return text, text.partition("/")[0]


@pytest.mark.both
def test_a_range_is_made_shown_everywhere_and_given_back(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = deploy(cloud, alice, label="web")
    slaac = view(alice, own)["ipv6"].partition("/")[0]
    answer = new(alice, compute_id=own)
    text, name = answer.json()["range"], answer.json()["range"].partition("/")[0]
    assert answer.json() == {"range": f"{name}/64", "route_target": slaac}
    shown = {"range": name, "prefix": 64, "region": "us-east", "route_target": slaac}
    page = alice.get(URL).json()
    assert (page["data"], page["results"]) == ([shown], 1)
    assert alice.get(f"{INSTANCES}/{own}/ips").json()["ipv6"]["global"] == shown
    routed = {"range": name, "prefix": 64, "region": "us-east", "is_bgp": False, "computes": [own]}
    assert alice.get(f"{URL}/{name}").json() == routed
    event = last(alice, "compute_addip")
    assert entity(event["secondary_entity"]) == ("ipaddress", text, text, f"{URL}/{name}")
    assert text in host_addresses(cloud, own)
    for path in (f"{URL}/{name}/64", f"{URL}/{name}%2F64", f"{URL}/x", f"{URL}/2001:db8::", f"{URL}/::", f"{URL}/1"):
        assert alice.get(path).status_code == 404
    assert mallory.get(f"{URL}/{name}").json() == mallory.delete(f"{URL}/{name}").json() == NOT_FOUND
    assert mallory.get(URL).json()["data"] == []
    assert alice.delete(f"{URL}/{name}").json() == {}
    assert last(alice, "compute_deleteip")["secondary_entity"]["id"] == text
    assert (alice.get(URL).json()["data"], alice.get(f"{URL}/{name}").status_code) == ([], 404)
    assert alice.get(f"{INSTANCES}/{own}/ips").json()["ipv6"]["global"] is None
    assert text not in host_addresses(cloud, own)
    again, _ = ranged(alice, own, prefix_length=56)
    assert (again.endswith("/56"), again != text) == (True, True)
    assert alice.get("/v4/networking/ipv6/pools").json() == {"data": [], "page": 1, "pages": 1, "results": 0}
    assert listed(alice, "/v4/networking/ipv6/pools", region="us-east") == []


def test_a_range_may_be_routed_to_an_address(cloud: Cloud, alice: Client, mallory: Client) -> None:
    made, strange = create(alice), create(mallory)
    slaac = made["ipv6"].partition("/")[0]
    no = "Must be the SLAAC address of a Compute"
    local = alice.get(f"{INSTANCES}/{made['id']}/ips").json()["ipv6"]["link_local"]["address"]
    for wrong in (strange["ipv6"].partition("/")[0], "2001:db8::1", local):
        refused(new(alice, route_target=wrong), no, "route_target")
    refused(new(alice, route_target="x"), "Must be an IPv6 address", "route_target")
    both = "Only one of compute_id and route_target may be given"
    refused(new(alice, route_target=slaac, compute_id=made["id"]), both, "route_target")
    refused(new(alice), "Either compute_id or route_target is required", "compute_id")
    assert errors(new(alice, compute_id=made["id"], prefix_length=60)) == [("prefix_length", "Must be one of 56, 64")]
    assert errors(alice.post(URL, json={"compute_id": made["id"]})) == [("prefix_length", "prefix_length is required")]
    other = new(alice, compute_id=strange["id"])
    refused(other, "You do not have permission to access this Compute", "compute_id", status=403)
    assert new(alice, route_target=slaac).json()["route_target"] == slaac


@pytest.mark.both
def test_there_is_one_range_in_a_region_and_one_of_an_instance(cloud: Cloud, alice: Client, mallory: Client) -> None:
    first, second, far = create(alice)["id"], create(alice)["id"], create(alice, region="us-west")["id"]
    answers = at_once(*(partial(new, alice, compute_id=own) for own in (first, second, first, second)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    (held,) = listed(alice, URL)
    owner = alice.get(f"{URL}/{held['range']}").json()["computes"][0]
    refused(new(alice, compute_id=owner), "This Compute already has an IPv6 range.", "compute_id")
    other = first + second - owner
    refused(new(alice, compute_id=other), "Only one IPv6 range is allowed in each region.", "compute_id")
    ranged(alice, far)
    ranged(mallory, create(mallory)["id"])
    assert len(listed(alice, URL)) == 2


def test_a_range_is_assigned_shared_and_goes_with_its_instance(cloud: Cloud, alice: Client) -> None:
    first, second, third = (deploy(cloud, alice) for _ in range(3))
    text, name = ranged(alice, first)
    refused(assign(alice, (f"{name}/56", second)), "IP Address not found.")
    assert assign(alice, (text, second)).json() == {}
    assert alice.get(f"{URL}/{name}").json()["computes"] == [second]
    assert listed(alice, URL)[0]["route_target"] == view(alice, second)["ipv6"].partition("/")[0]
    assert share(alice, third, name).json() == {}
    shown = alice.get(f"{URL}/{name}").json()
    assert (shown["is_bgp"], shown["computes"]) == (True, [second, third])
    assert text in host_addresses(cloud, second) & host_addresses(cloud, third)
    for own, what in ((second, "has an IPv6 range"), (third, "shares an IP address")):
        assert alice.post(f"{INSTANCES}/{own}/migrate", json={"region": "us-west"}).status_code == 400
        offer = alice.post("/v4/account/service-transfers", json={"entities": {"computes": [own]}})
        assert f"Compute {own} {what}" in [reason for _, reason in errors(offer)]
    alice.delete(f"{INSTANCES}/{second}")
    cloud.settle()
    assert (listed(alice, URL), alice.get(f"{URL}/{name}").status_code) == ([], 404)
    assert text not in host_addresses(cloud, third)
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM shared_address").fetchone()[0] == 0
    cloud.freeze()
    act(alice, third, "migrate", region="us-west")
    refused(new(alice, compute_id=third), "Compute busy.")


def test_sharing_a_range_with_the_instance_that_has_it_changes_nothing(cloud: Cloud, alice: Client) -> None:
    own, other = deploy(cloud, alice), deploy(cloud, alice)
    _, name = ranged(alice, own)
    before = (alice.get(f"{URL}/{name}").json(), host_addresses(cloud, own), alice.get(f"{INSTANCES}/{own}/ips").json())
    written = len(listed(alice, "/v4/account/events"))
    assert share(alice, own, name).json() == {}
    after = (alice.get(f"{URL}/{name}").json(), host_addresses(cloud, own), alice.get(f"{INSTANCES}/{own}/ips").json())
    assert (before, before[0]["is_bgp"], len(listed(alice, "/v4/account/events"))) == (after, False, written)
    (lent,) = view(alice, other)["ipv4"]
    assert share(alice, own, name, lent).json() == {}
    assert alice.get(f"{INSTANCES}/{own}/ips").json()["ipv4"]["shared"][0]["address"] == lent
    assert alice.get(f"{URL}/{name}").json() == before[0]
    refused(share(alice, own, view(alice, own)["ipv4"][0]), "The Compute has this address already.", "ips[0]")


def test_restricted_users_see_ranges_of_what_they_see(cloud: Cloud, alice: Client) -> None:
    mine, hidden = create(alice)["id"], create(alice, region="us-west")["id"]
    (_, own), (_, other) = ranged(alice, mine), ranged(alice, hidden)
    share_with = create(alice)["id"]
    share(alice, share_with, own)
    helper = restricted(cloud, alice, **{f"i{mine}": "read_only"})
    assert [row["range"] for row in listed(helper, URL)] == [own]
    assert helper.get(f"{URL}/{own}").json()["computes"] == [mine]
    assert (helper.get(f"{URL}/{other}").status_code, helper.delete(f"{URL}/{own}").status_code) == (403, 403)
    assert new(helper, compute_id=mine).status_code == 403
    target = view(alice, hidden)["ipv6"].partition("/")[0]
    refused(new(helper, route_target=target), "Must be the SLAAC address of a Compute", "route_target")


@pytest.mark.both
def test_private_networks_come_and_go_with_the_profiles_that_use_them(cloud: Cloud, alice: Client) -> None:
    where = {"region": "us-southeast"}
    first = deploy(cloud, alice, **where, interfaces=[VLAN])
    second = deploy(cloud, alice, **where)
    (own,), (other,) = configs(alice, first), configs(alice, second)
    (shown,) = listed(alice, VLANS)
    assert (shown["label"], shown["region"], shown["computes"]) == ("inside", "us-southeast", [first])
    assert shown["created"]
    assert alice.get("/v4/networking/vlans").status_code == 404
    path = f"{INSTANCES}/{second}/configs/{other['id']}"
    outside = {"purpose": "vlan", "label": "outside"}
    assert alice.put(path, json={"interfaces": [VLAN, outside]}).status_code == 200
    assert {vlan["label"]: vlan["computes"] for vlan in listed(alice, VLANS)} == {
        "inside": [first, second],
        "outside": [second],
    }
    assert [vlan["label"] for vlan in listed(alice, VLANS, label="outside")] == ["outside"]
    assert listed(alice, VLANS, region="us-east") == []
    assert alice.put(path, json={"interfaces": [outside]}).status_code == 200
    assert [vlan["computes"] for vlan in listed(alice, VLANS)] == [[first], [second]]
    assert listed(alice, VLANS)[0] == shown
    helper = restricted(cloud, alice, **{f"i{second}": "read_only"})
    assert [(vlan["label"], vlan["computes"]) for vlan in listed(helper, VLANS)] == [("outside", [second])]
    alice.put(f"{INSTANCES}/{first}/configs/{own['id']}", json={"interfaces": []})
    assert [vlan["label"] for vlan in listed(alice, VLANS)] == ["outside"]
    alice.delete(f"{INSTANCES}/{second}")
    cloud.settle()
    assert listed(alice, VLANS) == []
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM vlan").fetchone()[0] <= 1  # of the first network, which a save removes


def test_a_network_that_nobody_uses_leaves_its_place_to_another(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, region="us-southeast")
    (config,) = configs(alice, own)
    path = f"{INSTANCES}/{own}/configs/{config['id']}"
    for number in range(25):
        answer = alice.put(path, json={"interfaces": [{"purpose": "vlan", "label": f"net-{number}"}]})
        assert answer.status_code == 200, answer.text
    assert [vlan["label"] for vlan in listed(alice, VLANS)] == ["net-24"]
    clone = act(alice, own, "clone", region="us-southeast", type="g6-standard-1")["id"]
    cloud.settle()
    assert listed(alice, VLANS)[0]["computes"] == [own, clone]
