"""Firewalls through HTTP: what is kept and shown, what is refused, and who may do what."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import errors

PATH = "/v4/networking/firewalls"
POLICIES = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
ANYWHERE = {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]}
WEB = {"protocol": "TCP", "ports": "22, 8000-9000", "addresses": ANYWHERE, "action": "ACCEPT"}


def instance(client: Client, **body: Any) -> int:
    answer = client.post("/v4/compute/instances", json={"region": "us-east", "type": "g6-nanode-1", **body})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def make(client: Client, label: str = "wall", computes: tuple[int, ...] = (), **rules: Any) -> dict[str, Any]:
    body = {"label": label, "rules": {**POLICIES, **rules}, "devices": {"computes": list(computes)}}
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(client: Client, *rules: Any, **more: Any) -> list[Any]:
    answer = client.post(PATH, json={"label": "wall", "rules": {**POLICIES, "inbound": list(rules)}, **more})
    assert answer.status_code == 400, answer.text
    return errors(answer)


def firewall_events(client: Client) -> list[tuple[str, Any, Any]]:
    """Actions of the events that are about firewalls, oldest first."""
    events = client.get("/v4/account/events").json()["data"][::-1]
    named = [event for event in events if (event["entity"] or {}).get("type") == "firewall"]
    return [(event["action"], event["entity"]["id"], (event["secondary_entity"] or {}).get("id")) for event in named]


@pytest.mark.both
def test_a_firewall_is_made_shown_changed_and_deleted(alice: Client) -> None:
    own = instance(alice)
    ping = {"protocol": "ICMP", "addresses": {"ipv6": ["2001:db8::/32"]}, "action": "DROP"}
    named = {**WEB, "label": "ssh", "description": "For people."}
    body = {
        "label": "wall-1",
        "rules": {**POLICIES, "inbound": [named, ping]},
        "tags": ["blue"],
        "devices": {"computes": [own, own]},
    }
    made = alice.post(PATH, json=body).json()
    number = made["id"]
    assert made["rules"] == {**POLICIES, "inbound": [named, ping], "outbound": []}
    assert (made["label"], made["status"], made["tags"]) == ("wall-1", "enabled", ["blue"])
    assert alice.get(f"{PATH}/{number}").json() == made
    assert (
        alice.get(PATH).json()["data"] == alice.get(f"/v4/compute/instances/{own}/firewalls").json()["data"] == [made]
    )
    assert alice.get(f"{PATH}/{number}/rules").json() == made["rules"]
    changed = alice.put(f"{PATH}/{number}", json={"label": "other", "tags": [], "status": "disabled"}).json()
    assert (changed["label"], changed["status"], changed["tags"]) == ("other", "disabled", [])
    assert alice.put(f"{PATH}/{number}", json={"status": "enabled"}).json()["status"] == "enabled"
    assert alice.delete(f"{PATH}/{number}").json() == {}
    assert alice.get(f"{PATH}/{number}").status_code == 404
    assert firewall_events(alice) == [
        ("firewall_create", number, None),
        ("firewall_device_add", number, own),
        ("firewall_disable", number, None),
        ("firewall_update", number, None),
        ("firewall_enable", number, None),
        ("firewall_delete", number, None),
    ]


def test_rules_are_replaced_by_direction_and_keep_their_order(alice: Client) -> None:
    inbound = [{**WEB, "ports": str(port)} for port in (5, 3, 4)]
    number = make(alice, inbound=inbound, outbound=[WEB])["id"]
    path = f"{PATH}/{number}/rules"
    assert [rule["ports"] for rule in alice.get(path).json()["inbound"]] == ["5", "3", "4"]
    changed = alice.put(path, json={"inbound": [], "outbound_policy": "DROP"}).json()
    assert changed == {"inbound": [], "inbound_policy": "DROP", "outbound": [WEB], "outbound_policy": "DROP"}
    assert alice.put(path, json={}).json() == changed == alice.get(path).json()
    assert alice.get(f"{PATH}/{number}").json()["rules"] == changed
    assert [action for action, *_ in firewall_events(alice)] == [
        "firewall_create",
        "firewall_update",
        "firewall_update",
    ]


@pytest.mark.parametrize(
    "ports",
    [
        *(
            "0",
            "65536",
            "022",
            "22-",
            "-22",
            "80-22",
            "22,,80",
            "22,",
            "22;80",
            "a",
            "٢٢",
            "２２",
            "1e3",
            "22\n",
            "+22",
        ),
        *("2 2", "22 - 80", ",".join(str(port) for port in range(1, 17)), ",".join(["1-2"] * 8), "9" * 300, "\t22"),
    ],
)
def test_what_is_no_list_of_ports_is_refused(alice: Client, ports: str) -> None:
    (complaint,) = refused(alice, WEB, {**WEB, "ports": ports})
    assert complaint[0] == "rules.inbound[1].ports"


def test_fifteen_ports_are_enough_and_a_range_counts_as_two(alice: Client) -> None:
    for ports in (",".join(str(port) for port in range(1, 16)), ", ".join(["1-65535"] * 7 + ["22"])):
        assert (
            make(alice, f"wall{len(ports)}", inbound=[{**WEB, "ports": ports}])["rules"]["inbound"][0]["ports"] == ports
        )


AS_SENT = (
    {"protocol": "TCP", "addresses": {"ipv4": ["192.0.2.5/24"]}, "action": "ACCEPT"},
    {"protocol": "UDP", "addresses": {"ipv6": ["2001:DB8::1/32"], "ipv4": []}, "action": "DROP", "ports": ""},
    {"protocol": "ICMP", "addresses": {"ipv6": ["::/0"]}, "action": "DROP", "label": "ping", "ports": " "},
)


@pytest.mark.both
def test_rules_are_answered_as_they_were_sent(alice: Client) -> None:
    rules: dict[str, Any] = {**POLICIES, "inbound": list(AS_SENT), "outbound": list(AS_SENT[::-1])}
    number = make(alice, **rules)["id"]
    changed = alice.put(f"{PATH}/{number}/rules", json={"outbound": list(AS_SENT)}).json()
    assert changed == {**rules, "outbound": list(AS_SENT)}
    assert alice.get(f"{PATH}/{number}/rules").json() == changed
    assert alice.get(f"{PATH}/{number}").json()["rules"] == changed
    nulls = {**AS_SENT[0], "addresses": {"ipv4": ["192.0.2.5/24"], "ipv6": None}, "ports": None}
    assert alice.put(f"{PATH}/{number}/rules", json={"inbound": [nulls]}).json()["inbound"] == [AS_SENT[0]]


def test_unknown_kinds_of_devices_are_refused(alice: Client) -> None:
    body = {"label": "wall", "rules": POLICIES, "devices": {"instances": [1], "computes": ["a"], "volumes": []}}
    answer = alice.post(PATH, json=body)
    assert (answer.status_code, errors(answer)) == (
        400,
        [
            ("devices.computes[0]", "Must be of type Integer"),
            ("devices.instances", "Unknown field"),
            ("devices.volumes", "Unknown field"),
        ],
    )
    assert alice.get(PATH).json()["results"] == 0


@pytest.mark.both
def test_an_instance_is_created_behind_a_firewall(cloud: Cloud, alice: Client, mallory: Client) -> None:
    number = make(alice)["id"]
    own = instance(alice, firewall_id=number)
    (device,) = alice.get(f"{PATH}/{number}/devices").json()["data"]
    assert device["entity"]["id"] == own
    assert [wall["id"] for wall in alice.get(f"/v4/compute/instances/{own}/firewalls").json()["data"]] == [number]
    assert firewall_events(alice) == [("firewall_create", number, None), ("firewall_device_add", number, own)]
    for client, wanted in ((alice, number + 1), (mallory, number)):
        body = {"region": "us-east", "type": "g6-nanode-1", "firewall_id": wanted}
        answer = client.post("/v4/compute/instances", json=body)
        reason = "You do not have permission to access this Firewall"
        assert (answer.status_code, errors(answer)) == (403, [("firewall_id", reason)])
    assert mallory.get("/v4/compute/instances").json()["results"] == 0


def test_a_restricted_user_needs_the_firewall_to_create_an_instance_behind_it(cloud: Cloud, alice: Client) -> None:
    number = make(alice)["id"]
    body = {"region": "us-east", "type": "g6-nanode-1", "firewall_id": number}
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com", "restricted": True})
    bob = cloud.client(cloud.token("bob"))
    for level, status in (("read_only", 403), ("read_write", 200)):
        grants = {"global": {"add_computes": True}, "firewall": [{"id": number, "permissions": level}]}
        assert alice.put("/v4/account/users/bob/grants", json=grants).status_code == 200
        assert bob.post("/v4/compute/instances", json=body).status_code == status


def test_ports_go_with_the_protocol(alice: Client) -> None:
    for protocol in ("TCP", "UDP"):
        for ports in ({}, {"ports": ""}, {"ports": None}):
            rule = {"protocol": protocol, "addresses": ANYWHERE, "action": "DROP", **ports}
            assert make(alice, f"{protocol}-{len(ports)}-{ports.get('ports')}", inbound=[rule])["status"] == "enabled"
    assert refused(alice, {**WEB, "protocol": "ICMP"}) == [("rules.inbound[0].ports", "Must not be given for ICMP")]
    made = make(alice, inbound=[{**WEB, "protocol": "ICMP", "ports": ""}])
    assert made["rules"]["inbound"][0]["ports"] == ""


@pytest.mark.parametrize(
    ("family", "network"),
    [
        *[
            ("ipv4", address)
            for address in ("192.0.2.1", "192.0.2.1/33", "192.0.2.1/", "192.0.2.1/024", "192.0.2/24", "::/0")
        ],
        *[
            ("ipv4", address)
            for address in ("1.2.3.4/255.255.255.0", "٣.2.3.4/8", "1.2.3.4/٨", " 1.2.3.4/8", "01.2.3.4/8")
        ],
        *[
            ("ipv6", address)
            for address in ("2001:db8::1", "2001:db8::1/129", "fe80::1%eth0/64", "192.0.2.1/24", "x" * 9999)
        ],
        *[("ipv6", address) for address in ("::ffff:192.0.2.1/128", "::ffff:c000:201/120", "2001:db8::/-1", "/64", "")],
    ],
)
def test_what_is_no_network_is_refused(alice: Client, family: str, network: str) -> None:
    (complaint,) = refused(
        alice, {**WEB, "addresses": {family: ["0.0.0.0/0" if family == "ipv4" else "::/0", network]}}
    )
    assert complaint[0] == f"rules.inbound[0].addresses.{family}[1]"


def test_counts_have_limits(alice: Client) -> None:
    many = {"ipv4": [f"10.0.{number}.0/24" for number in range(200)]}
    more = {"ipv6": [f"2001:db8:{number:x}::/48" for number in range(56)]}
    assert [error[0] for error in refused(alice, {**WEB, "addresses": many | more})] == ["rules.inbound[0].addresses"]
    assert [error[0] for error in refused(alice, {**WEB, "addresses": {}})] == ["rules.inbound[0].addresses"]
    more["ipv6"].pop()
    number = make(alice, "large", inbound=[{**WEB, "addresses": many | more}] * 13, outbound=[WEB] * 12)["id"]
    assert [error[0] for error in refused(alice, *[WEB] * 26)] == ["rules.inbound"]
    answer = alice.post(
        PATH, json={"label": "two", "rules": {**POLICIES, "inbound": [WEB] * 13, "outbound": [WEB] * 13}}
    )
    assert [error[0] for error in errors(answer)] == ["rules"]
    for direction, amount in (("inbound", 14), ("outbound", 13)):
        answer = alice.put(f"{PATH}/{number}/rules", json={direction: [WEB] * amount})
        assert [error[0] for error in errors(answer)] == [direction]
    assert alice.put(f"{PATH}/{number}/rules", json={"inbound": [WEB], "outbound": [WEB] * 24}).status_code == 200


def test_everything_that_is_wrong_is_said_at_once(alice: Client) -> None:
    make(alice, "taken")
    worst = {
        "protocol": "IPENCAP",
        "addresses": {"ipv4": ["1.2.3.4"]},
        "action": "LOG",
        "label": "ab",
        "description": "",
    }
    rules = {"inbound": [worst, {}], "outbound": [{**WEB, "ports": "0"}], "inbound_policy": "REJECT"}
    answer = alice.post(PATH, json={"label": "taken", "rules": rules, "tags": ["x"], "devices": {"computes": ["a"]}})
    assert {field for field, _ in errors(answer)} == {
        *("label", "rules.inbound_policy", "rules.outbound_policy", "tags[0]", "devices.computes[0]"),
        *(f"rules.inbound[0].{name}" for name in ("protocol", "addresses.ipv4[0]", "action", "label", "description")),
        *(f"rules.inbound[1].{name}" for name in ("protocol", "addresses", "action")),
        "rules.outbound[0].ports",
    }
    assert errors(alice.post(PATH, json={})) == [("label", "label is required"), ("rules", "rules is required")]
    missing = errors(alice.post(PATH, json={"label": "wall", "rules": {}}))
    assert missing == [(f"rules.{name}", f"{name} is required") for name in POLICIES]


def test_labels_are_checked_and_unique(alice: Client, mallory: Client) -> None:
    number = make(alice, "first")["id"]
    for label in ("ab", "a" * 33, "1st", "a--b", "a__b", "a..b", "a b", "ünicode", "-ab", "", "wall\n"):
        answer = alice.post(PATH, json={"label": label, "rules": POLICIES})
        assert [error[0] for error in errors(answer)] == ["label"], label
        assert [error[0] for error in errors(alice.put(f"{PATH}/{number}", json={"label": label}))] == ["label"]
    taken = [("label", "Label must be unique among your Cloud Firewalls")]
    assert errors(alice.post(PATH, json={"label": "first", "rules": POLICIES})) == taken
    other = make(alice, "second-_.b")["id"]
    assert errors(alice.put(f"{PATH}/{other}", json={"label": "first"})) == taken
    assert alice.put(f"{PATH}/{other}", json={"label": "second-_.b"}).status_code == 200
    assert make(mallory, "first")["label"] == "first"
    for status in ("deleted", "on", 1):
        assert [error[0] for error in errors(alice.put(f"{PATH}/{number}", json={"status": status}))] == ["status"]


def test_devices_come_and_go(alice: Client) -> None:
    own, number = instance(alice, label="web"), make(alice)["id"]
    path = f"{PATH}/{number}/devices"
    made = alice.post(path, json={"id": own, "type": "compute"}).json()
    url = f"/v4/compute/instances/{own}"
    assert made["entity"] == {"id": own, "type": "compute", "label": "web", "url": url}
    assert alice.get(path).json() == {"data": [made], "page": 1, "pages": 1, "results": 1}
    assert alice.get(f"{path}/{made['id']}").json() == made
    assert errors(alice.post(path, json={"id": own, "type": "compute"}))[0][0] == "id"
    assert {error[0] for error in errors(alice.post(path, json={"type": "volume"}))} == {"id", "type"}
    absent = alice.post(path, json={"id": 4711, "type": "compute"})
    assert absent.status_code == 403
    assert errors(absent) == [("id", "You do not have permission to access this Compute")]
    other = make(alice, "other")["id"]
    assert alice.get(f"{PATH}/{other}/devices/{made['id']}").status_code == 404
    assert alice.delete(f"{path}/{made['id']}").json() == {}
    assert alice.get(path).json()["results"] == 0
    assert firewall_events(alice)[-1] == ("firewall_device_remove", number, own)


def test_an_instance_has_one_enabled_firewall(alice: Client) -> None:
    own = instance(alice)
    make(alice, "first", (own,))
    second = make(alice, "second")["id"]
    body = {"id": own, "type": "compute"}
    assert errors(alice.post(f"{PATH}/{second}/devices", json=body))[0][0] == "id"
    answer = alice.post(PATH, json={"label": "third", "rules": POLICIES, "devices": {"computes": [own]}})
    assert answer.status_code == 400
    assert [error[0] for error in errors(answer)] == ["devices.computes"]
    assert alice.put(f"{PATH}/{second}", json={"status": "disabled"}).status_code == 200
    assert alice.post(f"{PATH}/{second}/devices", json=body).status_code == 200
    answer = alice.put(f"{PATH}/{second}", json={"status": "enabled", "label": "first"})
    assert [error[0] for error in errors(answer)] == ["label", "status"]
    assert alice.get(f"{PATH}/{second}").json()["status"] == "disabled"
    assert len(alice.get(f"/v4/compute/instances/{own}/firewalls").json()["data"]) == 2


@pytest.mark.both
def test_of_many_at_once_one_guards_the_instance(alice: Client) -> None:
    own = instance(alice)
    walls = [make(alice, f"wall{number}")["id"] for number in range(4)]

    def add(number: int) -> int:
        return alice.post(f"{PATH}/{number}/devices", json={"id": own, "type": "compute"}).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(add, walls * 2))
    assert sorted(statuses) == [200] + [400] * 7


def test_somebody_elses_firewall_is_not_there(alice: Client, mallory: Client) -> None:
    own, theirs = instance(alice), instance(mallory)
    number = make(alice, computes=(own,))["id"]
    device = alice.get(f"{PATH}/{number}/devices").json()["data"][0]["id"]
    for path in ("", "/rules", "/devices", f"/devices/{device}"):
        assert mallory.get(f"{PATH}/{number}{path}").status_code == 404
    mine = make(mallory)["id"]
    assert mallory.get(f"{PATH}/{mine}/devices/{device}").status_code == 404
    assert mallory.delete(f"{PATH}/{mine}/devices/{device}").status_code == 404
    assert mallory.put(f"{PATH}/{number}/rules", json={"inbound": []}).status_code == 404
    assert mallory.post(f"{PATH}/{number}/devices", json={"id": theirs, "type": "compute"}).status_code == 404
    assert mallory.post(f"{PATH}/{mine}/devices", json={"id": own, "type": "compute"}).status_code == 403


def test_a_restricted_user_needs_grants_on_both(cloud: Cloud, alice: Client) -> None:
    granted, other = instance(alice), instance(alice)
    number, hidden = make(alice, computes=(other,))["id"], make(alice, "hidden")["id"]
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    bob = cloud.client(cloud.token("bob"))
    assert bob.post(PATH, json={"label": "bobs", "rules": POLICIES}).status_code == 403
    grants = {
        "global": {"add_firewalls": True},
        "firewall": [{"id": number, "permissions": "read_write"}],
        "compute": [{"id": granted, "permissions": "read_write"}, {"id": other, "permissions": "read_only"}],
    }
    assert alice.put("/v4/account/users/bob/grants", json=grants).status_code == 200
    assert [firewall["id"] for firewall in bob.get(PATH).json()["data"]] == [number]
    assert bob.get(f"{PATH}/{hidden}").status_code == 403
    device = bob.get(f"{PATH}/{number}/devices").json()["data"][0]["id"]
    assert bob.delete(f"{PATH}/{number}/devices/{device}").status_code == 403
    assert bob.post(f"{PATH}/{number}/devices", json={"id": other, "type": "compute"}).status_code == 403
    assert bob.post(f"{PATH}/{number}/devices", json={"id": granted, "type": "compute"}).status_code == 200
    assert bob.put(f"{PATH}/{number}", json={"tags": ["blue"]}).status_code == 403
    assert bob.post(PATH, json={"label": "bobs", "rules": POLICIES, "tags": ["blue"]}).status_code == 403
    made = make(bob, "bobs")["id"]
    assert bob.put(f"{PATH}/{made}", json={"status": "disabled"}).status_code == 200
    assert [firewall["id"] for firewall in bob.get(PATH).json()["data"]] == [number, made]


def test_lists_are_filtered(alice: Client) -> None:
    first = make(alice, "first")["id"]
    second = alice.post(PATH, json={"label": "second", "rules": POLICIES, "tags": ["blue"]}).json()["id"]

    def listed(**wanted: Any) -> list[int]:
        answer = alice.get(PATH, headers={"X-Filter": json.dumps(wanted)})
        return [firewall["id"] for firewall in answer.json()["data"]]

    assert listed(label="FIRST") == [first]
    assert listed(tags="blue") == [second]
    assert listed(id={"+gt": first}, created={"+gte": "2020-01-01T00:00:00"}) == [second]
    assert listed(**{"+order_by": "label", "+order": "desc"}) == [second, first]
    answer = alice.get(PATH, headers={"X-Filter": '{"status": "enabled"}'})
    assert errors(answer) == [("X-Filter", "Cannot filter on status")]
    assert alice.get(f"{PATH}?page=2&page_size=1").json()["data"][0]["id"] == second


def test_the_objects_of_a_tag_are_not_firewalls(alice: Client) -> None:
    own = instance(alice, tags=["blue"])
    number = alice.post(PATH, json={"label": "wall", "rules": POLICIES, "tags": ["blue", "red"]}).json()["id"]
    assert {tag["label"] for tag in alice.get("/v4/tags").json()["data"]} == {"blue", "red"}
    carriers = alice.get("/v4/tags/blue").json()
    assert (carriers["results"], [carrier["data"]["id"] for carrier in carriers["data"]]) == (1, [own])
    assert alice.get("/v4/tags/red").json()["results"] == 0
    assert alice.delete("/v4/tags/blue").status_code == 200
    assert alice.get(f"{PATH}/{number}").json()["tags"] == ["red"]


def test_an_instance_with_a_firewall_is_not_transferred(cloud: Cloud, alice: Client) -> None:
    own = instance(alice)
    number = make(alice, computes=(own,))["id"]
    offer = {"entities": {"computes": [own]}}
    answer = alice.post("/v4/account/service-transfers", json=offer)
    assert answer.status_code == 400
    assert "has a firewall" in answer.text
    alice.delete(f"{PATH}/{number}")
    assert alice.post("/v4/account/service-transfers", json=offer).status_code == 200


def test_a_deleted_instance_leaves_its_firewalls(cloud: Cloud, alice: Client) -> None:
    own = instance(alice)
    number = make(alice, computes=(own,))["id"]
    cloud.freeze()  # else it may be gone by the next call
    assert alice.delete(f"/v4/compute/instances/{own}").status_code == 200
    assert alice.post(f"{PATH}/{number}/devices", json={"id": own, "type": "compute"}).status_code == 400
    cloud.settle()
    assert alice.get(f"{PATH}/{number}/devices").json()["results"] == 0
    assert firewall_events(alice)[-1] == ("firewall_device_remove", number, own)


@pytest.mark.both
def test_a_closed_account_leaves_nothing(cloud: Cloud, alice: Client) -> None:
    make(alice, computes=(instance(alice),))
    alice.post(PATH, json={"label": "other", "rules": POLICIES, "tags": ["blue"]})
    assert alice.post("/v4/account/cancel", json={}).status_code == 200
    cloud.settle()
    with cloud.runtime.database.read() as db:
        for table in ("firewall", "firewall_device", "tagged WHERE kind = 'firewall'"):
            assert db.raw(f"SELECT count(*) FROM {table}").fetchone()[0] == 0


def test_a_plan_says_what_would_come_of_it(alice: Client) -> None:
    own = instance(alice)
    body = {"label": "wall", "rules": POLICIES, "devices": {"computes": [own]}}
    plan = alice.post(PATH, json=body, headers={"Prefer": "plan"}).json()["plan"]
    assert plan["events"] == ["firewall_create", "firewall_device_add"]
    assert alice.get(PATH).json()["results"] == 0


def test_a_tag_that_is_new_comes_with_a_firewall(alice: Client) -> None:
    rules = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
    made = alice.post("/v4/networking/firewalls", json={"label": "tagged-wall", "rules": rules}).json()
    changed = alice.put(f"/v4/networking/firewalls/{made['id']}", json={"tags": ["brand-new"]})
    assert (changed.status_code, changed.json()["tags"]) == (200, ["brand-new"])
    assert alice.get("/v4/tags").json()["data"] == [{"label": "brand-new"}]
