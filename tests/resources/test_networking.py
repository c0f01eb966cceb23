"""Addresses of an account through HTTP: list, allocate, view, name; assign and share."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.db.tally import BLOCK_BITS, exact
from crofter.resources.instances.ips import rules as instance_ips
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.compute import BUSY, NOT_FOUND, act, create, deploy, entity, events, last, listed, refused, view

URL = "/v4/networking/ips"
INSTANCES = "/v4/compute/instances"


@pytest.fixture
def rich(cloud: Cloud) -> Client:
    """The owner of an account whose instances may have nine public addresses."""
    return cloud.person(username="rich", public_ips=9)


def more(client: Client, own: int, *, public: bool = True) -> str:
    answer = client.post(URL, json={"type": "ipv4", "public": public, "compute_id": own})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["address"])


def assign(client: Client, *pairs: tuple[str, int], region: str = "us-east", path: str = "ips") -> Response:
    moves = [{"address": address, "compute_id": own} for address, own in pairs]
    return client.post(f"/v4/networking/{path}/assign", json={"region": region, "assignments": moves})


def share(client: Client, own: int, *ips: str, path: str = "ips") -> Response:
    return client.post(f"/v4/networking/{path}/share", json={"compute_id": own, "ips": list(ips)})


def shared(client: Client, own: int) -> list[str]:
    return [address["address"] for address in client.get(f"{INSTANCES}/{own}/ips").json()["ipv4"]["shared"]]


def restricted(cloud: Cloud, owner: Client, **levels: Any) -> Client:
    """A restricted user with these permissions on instances."""
    owner.post("/v4/account/users", json={"username": "helper", "email": "h@example.com", "restricted": True})
    grants = [{"id": int(number[1:]), "permissions": level} for number, level in levels.items()]
    assert owner.put("/v4/account/users/helper/grants", json={"compute": grants}).status_code == 200
    return cloud.client(cloud.token("helper"))


def host_addresses(cloud: Cloud, own: int) -> set[str]:
    """Return the addresses of an instance on its host."""
    cloud.settle()
    with cloud.runtime.database.read() as db:
        rows = db.raw(f"SELECT doc FROM hypervisor_thing WHERE id = {own}").fetchall()
    (network,) = [doc["network"] for doc in (json.loads(row[0]) for row in rows if row[0]) if "network" in doc]
    return set(network["addresses"])


@pytest.mark.both
def test_all_but_private_addresses_are_listed_as_each_instance_shows_them(cloud: Cloud, rich: Client) -> None:
    first, second = create(rich, private_ip=True)["id"], create(rich, region="us-west")["id"]
    extra = more(rich, first)
    wanted = []
    for own in (first, second):
        shown = rich.get(f"{INSTANCES}/{own}/ips").json()
        wanted += [*shown["ipv4"]["public"], shown["ipv6"]["slaac"], shown["ipv6"]["link_local"]]
    page = rich.get(URL).json()
    assert (page["data"], page["results"], page["pages"]) == (wanted, 7, 1)
    assert wanted[1]["address"] == extra
    assert listed(rich, URL, compute_id=second) == wanted[4:]
    assert listed(rich, URL, region="us-east") == wanted[:4]
    assert listed(rich, URL, **{"+or": [{"compute_id": first}, {"region": "us-west"}]}) == wanted
    backwards = listed(rich, URL, **{"+order_by": "compute_id", "+order": "desc"})
    assert [address["compute_id"] for address in backwards] == [second] * 3 + [first] * 4
    bad = rich.get(URL, headers={"X-Filter": '{"gateway": "x"}'})
    refused(bad, "Cannot filter on gateway", "X-Filter")
    for address in wanted:
        assert rich.get(f"{URL}/{address['address']}").json() == address
    private = view(rich, first)["ipv4"][-1]
    assert rich.get(f"{URL}/{private}").json()["public"] is False


@pytest.mark.both
def test_pages_are_exact_however_deep(cloud: Cloud, rich: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        own = create(rich)["id"]
        for _ in range(number % 3):
            more(rich, own)
    whole = rich.get(URL, params={"page_size": 500}).json()["data"]
    assert len(whole) == 9 * 3 + 9
    monkeypatch.setattr("crofter.resources.networking.store.SHALLOW", -1)
    for size in (1, 4, 7, 36):
        pages = [rich.get(URL, params={"page": n + 1, "page_size": size}).json() for n in range(-(-36 // size))]
        assert [address for page in pages for address in page["data"]] == whole
        assert {page["results"] for page in pages} == {36}
    assert rich.get(URL, params={"page": 99}).json()["data"] == []


@pytest.mark.both
def test_what_is_counted_is_what_is_there(cloud: Cloud, rich: Client) -> None:
    first, second = deploy(cloud, rich, private_ip=True), create(rich)["id"]
    extra = more(rich, first)
    assert assign(rich, (extra, second)).status_code == 200
    more(rich, first)
    assert rich.delete(f"{INSTANCES}/{second}/ips/{extra}").status_code == 200
    act(rich, first, "migrate", region="us-west")
    cloud.settle()
    rich.delete(f"{INSTANCES}/{second}")
    cloud.settle()
    with cloud.runtime.database.read() as db:
        (counted,) = [row for row in exact(db, "address") if row[2]]
        held = db.raw("SELECT count(*), min(instance_id) FROM address WHERE public = true").fetchone()
    assert tuple(counted[1:]) == (held[1] >> BLOCK_BITS, held[0])
    assert (rich.get(URL).json()["results"], held[0]) == (4, 2)


def test_an_address_is_allocated_as_at_its_instance(cloud: Cloud, rich: Client, alice: Client) -> None:
    own = deploy(cloud, rich, label="web")
    made = rich.post(URL, json={"type": "ipv4", "public": True, "compute_id": own})
    assert (made.status_code, made.json()["compute_id"]) == (200, own)
    new = made.json()["address"]
    event = last(rich, "compute_addip")
    assert entity(event["entity"])[:3] == ("compute", own, "web")  # type: ignore[index]
    assert entity(event["secondary_entity"]) == ("ipaddress", new, new, f"{URL}/{new}")
    assert view(rich, own)["ipv4"][1] == new
    assert new in host_addresses(cloud, own)
    refused(
        alice.post(URL, json={"type": "ipv4", "public": True, "compute_id": create(alice)["id"]}), instance_ips.JUSTIFY
    )
    other = alice.post(URL, json={"type": "ipv4", "public": True, "compute_id": own})
    refused(other, "You do not have permission to access this Compute", "compute_id", status=403)
    wrong = rich.post(URL, json={"type": "ipv6", "public": "x"})
    assert errors(wrong) == [
        (None, "Only addresses of type ipv4 are currently supported."),
        ("public", "Must be of type Boolean"),
        ("compute_id", "compute_id is required"),
    ]


def test_an_address_is_named_as_at_its_instance(cloud: Cloud, alice: Client, mallory: Client) -> None:
    made = create(alice)
    (public,) = made["ipv4"]
    six = made["ipv6"].partition("/")[0]
    for address in (public, six):
        answer = alice.put(f"{URL}/{address}", json={"rdns": "host.example.com"})
        assert (answer.status_code, answer.json()["rdns"]) == (200, "host.example.com")
        assert alice.get(f"{INSTANCES}/{made['id']}/ips/{address}").json()["rdns"] == "host.example.com"
        assert last(alice, "ipaddress_update")["entity"]["id"] == address
        assert mallory.get(f"{URL}/{address}").json() == NOT_FOUND
        assert mallory.put(f"{URL}/{address}", json={"rdns": None}).status_code == 404
    assert next(row for row in listed(alice, URL) if row["address"] == six)["rdns"] == "host.example.com"
    assert alice.put(f"{URL}/{public}", json={}).json() == alice.get(f"{URL}/{public}").json()  # and leaves no event
    refused(alice.put(f"{URL}/{public}", json={"rdns": "no name"}), "Domain is not valid.", "rdns")
    default = alice.put(f"{URL}/{public}", json={"rdns": None}).json()["rdns"]
    assert default.endswith(".ip.computeusercontent.com")
    for name in ("nonsense", "10.0.0.1", "2001:db8::1", "fe80::1", "::", "1.2.3", "%00"):
        assert alice.get(f"{URL}/{name}").status_code == 404


@pytest.mark.parametrize("path", ["ips", "ipv4"])
def test_addresses_change_hands(cloud: Cloud, rich: Client, path: str) -> None:
    first, second = deploy(cloud, rich, label="one"), deploy(cloud, rich, label="two")
    (kept,), (other,) = view(rich, first)["ipv4"], view(rich, second)["ipv4"]
    extra = more(rich, first)
    assert rich.put(f"{URL}/{extra}", json={"rdns": "a.example.com"}).status_code == 200
    before = len(events(rich))
    answer = assign(rich, (extra, second), path=path)
    assert (answer.status_code, answer.json()) == (200, {})
    assert (view(rich, first)["ipv4"], view(rich, second)["ipv4"]) == ([kept], [other, extra])
    moved = rich.get(f"{URL}/{extra}").json()
    assert (moved["compute_id"], moved["rdns"]) == (second, "a.example.com")
    address_events = [
        (event["action"], event["entity"]["id"], event["secondary_entity"]["id"]) for event in events(rich)[before:]
    ]
    assert address_events == [("compute_deleteip", first, extra), ("compute_addip", second, extra)]
    assert extra in host_addresses(cloud, second)
    assert extra not in host_addresses(cloud, first)
    with cloud.runtime.database.read() as db:
        paid = db.raw("SELECT object_id FROM meter WHERE what = 'ip' AND ended IS NULL").fetchall()
    assert [row[0] for row in paid] == [second]


def test_two_instances_may_swap_their_only_addresses(cloud: Cloud, alice: Client) -> None:
    first, second = create(alice, private_ip=True), create(alice, private_ip=True)
    swapped = [(address, second["id"]) for address in first["ipv4"]] + [
        (address, first["id"]) for address in second["ipv4"]
    ]
    assert assign(alice, *swapped).json() == {}
    assert view(alice, first["id"])["ipv4"] == second["ipv4"]
    assert view(alice, second["id"])["ipv4"] == first["ipv4"]
    before = len(events(alice))
    assert assign(alice, (first["ipv4"][0], second["id"])).json() == {}  # already assigned there
    assert len(events(alice)) == before


def test_what_cannot_be_assigned_is_refused_and_nothing_moves(cloud: Cloud, rich: Client, mallory: Client) -> None:
    first, second = create(rich, private_ip=True), create(rich, private_ip=True)
    far, strange = create(rich, region="us-west"), create(mallory)
    (kept, private), (other, _) = first["ipv4"], second["ipv4"]
    extra = more(rich, first["id"])
    refused(assign(rich, (extra, strange["id"])), f"Invalid Compute ID {strange['id']}")
    refused(assign(rich, (strange["ipv4"][0], first["id"])), "IP Address not found.")
    for text in ("nonsense", first["ipv6"], first["ipv6"].partition("/")[0], f"{extra}/24"):
        refused(assign(rich, (text, second["id"])), "IP Address not found.")
    refused(assign(rich, (extra, far["id"])), "The Compute is not in this region.", "assignments[0].compute_id")
    refused(assign(rich, (far["ipv4"][0], second["id"])), "IP Address not found.")
    refused(assign(rich, (extra, second["id"]), region="nowhere"), "region is not valid", "region")
    empty = f"Compute {second['id']} would have no public IPv4 address."
    refused(assign(rich, (extra, second["id"]), (other, first["id"]), (extra, first["id"])), ONCE, "assignments")
    refused(assign(rich, (other, first["id"])), empty, "assignments")
    refused(assign(rich, (extra, 999), (kept, 999)), "Invalid Compute ID 999")
    reason = f"Compute {second['id']} would have more than one private IPv4 address."
    refused(assign(rich, (private, second["id"]), (extra, second["id"])), reason, "assignments")
    wrong = rich.post(f"{URL}/assign", json={"region": 5, "assignments": [{"address": 1}, {"compute_id": "x"}]})
    assert [field for field, _ in errors(wrong)] == [
        "region",
        *("assignments[0].address", "assignments[0].compute_id"),
        *("assignments[1].address", "assignments[1].compute_id"),
    ]
    assert rich.post(f"{URL}/assign", json={"region": "us-east", "assignments": []}).status_code == 400
    assert view(rich, first["id"])["ipv4"] == [kept, extra, private]
    assert view(rich, second["id"])["ipv4"] == second["ipv4"]


ONCE = "An address may be assigned only once"


@pytest.mark.parametrize("path", ["ips", "ipv4"])
def test_an_address_is_shared_and_shared_no_more(cloud: Cloud, alice: Client, path: str) -> None:
    first, second = deploy(cloud, alice), deploy(cloud, alice, label="two")
    (lent,), (own,) = view(alice, first)["ipv4"], view(alice, second)["ipv4"]
    assert share(alice, second, lent, path=path).json() == {}
    (shown,) = alice.get(f"{INSTANCES}/{second}/ips").json()["ipv4"]["shared"]
    assert shown == alice.get(f"{URL}/{lent}").json()
    assert (shown["compute_id"], view(alice, second)["ipv4"], shared(alice, first)) == (first, [own], [])
    event = last(alice, "ipaddress_update")
    assert (event["entity"]["id"], entity(event["secondary_entity"])[:3]) == (lent, ("compute", second, "two"))  # type: ignore[index]
    assert {own, lent} <= host_addresses(cloud, second)
    before = len(events(alice))
    assert share(alice, second, lent, lent, path=path).json() == {}
    assert len(events(alice)) == before
    third = create(alice)
    assert share(alice, second, third["ipv4"][0], path=path).json() == {}
    assert shared(alice, second) == third["ipv4"]
    assert share(alice, second, path=path).json() == {}
    assert shared(alice, second) == []
    assert host_addresses(cloud, second) & {lent, *third["ipv4"]} == set()


def test_what_cannot_be_shared_is_refused(cloud: Cloud, alice: Client, mallory: Client) -> None:
    first, second = create(alice, private_ip=True), create(alice)
    far, strange = create(alice, region="us-west"), create(mallory)
    public, private = first["ipv4"]
    answer = share(alice, second["id"], private, far["ipv4"][0], strange["ipv4"][0], second["ipv4"][0], "x", public)
    assert (answer.status_code, errors(answer)) == (
        400,
        [
            ("ips[0]", "Only public addresses can be shared."),
            ("ips[1]", "The address is not in the region of the Compute."),
            ("ips[2]", "IP Address not found."),
            ("ips[3]", "The Compute has this address already."),
            ("ips[4]", "IP Address not found."),
        ],
    )
    assert shared(alice, second["id"]) == []
    other = share(alice, strange["id"], public)
    refused(other, "You do not have permission to access this Compute", "compute_id", status=403)


def test_who_is_given_what_was_shared_need_not_share_it(cloud: Cloud, rich: Client) -> None:
    first, second, third = (create(rich)["id"] for _ in range(3))
    extra = more(rich, first)
    for own in (second, third):
        assert share(rich, own, extra).json() == {}
    assert assign(rich, (extra, second)).json() == {}
    assert (shared(rich, second), shared(rich, third)) == ([], [extra])
    assert rich.delete(f"{INSTANCES}/{second}/ips/{extra}").json() == {}
    assert shared(rich, third) == []


def test_what_shares_an_address_stays_where_it_is(cloud: Cloud, alice: Client) -> None:
    first, second = deploy(cloud, alice), deploy(cloud, alice)
    (lent,) = view(alice, first)["ipv4"]
    share(alice, second, lent)
    reason = "A Compute that shares an IP address cannot be migrated to another region"
    for own in (first, second):
        refused(alice.post(f"{INSTANCES}/{own}/migrate", json={"region": "us-west"}), reason, "region")
        offer = alice.post("/v4/account/service-transfers", json={"entities": {"computes": [own]}})
        refused(offer, f"Compute {own} shares an IP address", "entities.computes")
    share(alice, second)
    cloud.freeze()
    act(alice, second, "migrate", region="us-west")
    refused(share(alice, second, lent), BUSY["errors"][0]["reason"])
    cloud.settle()
    refused(share(alice, second, lent), "The address is not in the region of the Compute.", "ips[0]")


@pytest.mark.both
def test_a_deleted_instance_takes_its_addresses_out_of_everything(cloud: Cloud, alice: Client) -> None:
    first, second, third = (deploy(cloud, alice) for _ in range(3))
    (lent,), (own,), _ = (view(alice, instance)["ipv4"] for instance in (first, second, third))
    share(alice, second, lent)
    share(alice, third, own, lent)
    cloud.freeze()
    assert alice.delete(f"{INSTANCES}/{first}").json() == {}
    refused(assign(alice, (own, first)), "Compute busy.")
    cloud.settle()
    assert (shared(alice, second), shared(alice, third)) == ([], [own])
    assert lent not in host_addresses(cloud, second) | host_addresses(cloud, third)
    assert alice.get(f"{URL}/{lent}").status_code == 404
    alice.delete(f"{INSTANCES}/{third}")
    cloud.settle()
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM shared_address").fetchone()[0] == 0


def test_restricted_users_use_the_addresses_of_what_they_were_granted(cloud: Cloud, rich: Client) -> None:
    mine, seen, hidden = (create(rich) for _ in range(3))
    helper = restricted(cloud, rich, **{f"i{mine['id']}": "read_write", f"i{seen['id']}": "read_only"})
    assert {address["compute_id"] for address in listed(helper, URL)} == {mine["id"], seen["id"]}
    assert helper.get(URL).json()["results"] == 6
    extra = more(helper, mine["id"])
    no = "You do not have permission to access this Compute"
    body = {"type": "ipv4", "public": True, "compute_id": seen["id"]}
    refused(helper.post(URL, json=body), no, "compute_id", status=403)
    assert helper.get(f"{URL}/{seen['ipv4'][0]}").status_code == 200
    for instance in (seen, hidden):
        assert helper.put(f"{URL}/{instance['ipv4'][0]}", json={"rdns": None}).status_code == 403
    assert helper.get(f"{URL}/{hidden['ipv4'][0]}").status_code == 403
    refused(assign(helper, (extra, seen["id"])), no, "assignments[0].compute_id", status=403)
    refused(assign(helper, (seen["ipv4"][0], mine["id"])), no, "assignments[0].address", status=403)
    refused(assign(helper, (extra, hidden["id"])), f"Invalid Compute ID {hidden['id']}")
    refused(assign(helper, (hidden["ipv4"][0], mine["id"])), "IP Address not found.")
    refused(share(helper, mine["id"], seen["ipv4"][0]), no, "ips[0]", status=403)
    refused(share(helper, mine["id"], hidden["ipv4"][0]), "IP Address not found.", "ips[0]")


def test_a_plan_of_moving_addresses_says_what_it_costs_and_moves_none(cloud: Cloud, rich: Client) -> None:
    first, second = create(rich), create(rich)
    extra = more(rich, first["id"])
    rich.headers["Prefer"] = "plan"
    answer = assign(rich, (extra, second["id"]))
    assert answer.status_code == 200
    del rich.headers["Prefer"]
    assert view(rich, second["id"])["ipv4"] == second["ipv4"]
