"""Domains, through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.resources.domains import operations
from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.resources.compute import create as create_instance

DOMAINS = "/v4/domains"
MASTER = {"type": "master", "domain": "example.org", "soa_email": "admin@example.org"}


def new(client: Client, **body: Any) -> Response:
    return client.post(DOMAINS, json={**MASTER, **body})


def create(client: Client, **body: Any) -> dict[str, Any]:
    answer = new(client, **body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def restricted(cloud: Cloud, owner: Client, name: str = "bob", **grants: Any) -> Client:
    assert owner.post("/v4/account/users", json={"username": name, "email": "b@example.com"}).status_code == 200
    if grants:
        assert owner.put(f"/v4/account/users/{name}/grants", json=grants).status_code == 200
    return cloud.client(cloud.token(name))


@pytest.mark.both
def test_a_domain_is_created_viewed_listed_changed_and_deleted(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    now = cloud.sandbox.get("/_sandbox/clock").json()["now"]
    made = create(alice, group="sites", description="The shop", tags=["blue"], ttl_sec=3599, axfr_ips=["192.0.2.1"])
    assert made == {
        "id": made["id"],
        "type": "master",
        "domain": "example.org",
        "group": "sites",
        "status": "active",
        "description": "The shop",
        "soa_email": "admin@example.org",
        "retry_sec": 0,
        "master_ips": [],
        "axfr_ips": ["192.0.2.1"],
        "expire_sec": 0,
        "refresh_sec": 0,
        "ttl_sec": 3600,
        "tags": ["blue"],
        "created": now,
        "updated": now,
    }
    path = f"{DOMAINS}/{made['id']}"
    assert alice.get(path).json() == made
    assert alice.get(DOMAINS).json() == {"data": [made], "page": 1, "pages": 1, "results": 1}
    assert alice.put(path, json=made).json() == made
    cloud.advance(60)
    wanted = {"status": "disabled", "group": "", "domain": "Example.net", "tags": []}
    changed = alice.put(path, json=wanted).json()
    assert changed == made | wanted | {"updated": changed["updated"]}
    assert changed["updated"] > now
    for field in ("created", "updated"):
        later = {field: {"+gte": changed["updated"]}}
        page = alice.get(DOMAINS, headers={"X-Filter": json.dumps(later)}).json()
        assert page["results"] == (field == "updated")
    assert alice.delete(path).json() == {}
    assert alice.get(path).status_code == 404
    assert actions(alice)[:3] == ["dns_zone_delete", "dns_zone_update", "dns_zone_update"]
    event = alice.get("/v4/account/events").json()["data"][-1]
    assert event["action"] == "tag_create"
    entity = alice.get("/v4/account/events").json()["data"][0]["entity"]
    assert entity == {"id": made["id"], "label": "Example.net", "type": "domain", "url": path}
    cloud.settle()


def test_all_that_is_wrong_is_said_at_once(alice: Client) -> None:
    refused = alice.post(
        DOMAINS,
        json={"type": "other", "domain": "no dots", "group": "", "description": "x" * 256, "master_ips": ["1.2.3"]},
    )
    assert refused.status_code == 400
    assert errors(refused) == [
        ("type", "Must be one of master, slave"),
        ("domain", "Must be a valid domain name"),
        ("group", "Length must be 1-50 characters"),
        ("description", "Length must be 1-255 characters"),
        ("master_ips[0]", "Must be a valid IP address"),
    ]
    assert errors(alice.post(DOMAINS, json={})) == [("type", "type is required"), ("domain", "domain is required")]


@pytest.mark.parametrize("name", ["example", "-", "a..org", "example.org\n", "exa mple.org", "x" * 64 + ".org", "a.b"])
def test_what_is_no_name_of_a_domain_is_refused(alice: Client, name: str) -> None:
    assert errors(new(alice, domain=name)) == [("domain", "Must be a valid domain name")]


@pytest.mark.parametrize("name", ["*.example.org", "a_b.example.org", "shop.xn--p1ai", "x.co.uk"])
def test_odd_names_are_names_too(alice: Client, name: str) -> None:
    assert create(alice, domain=name)["domain"] == name


def test_a_name_is_had_once_whoever_asks_and_however_it_is_written(alice: Client, mallory: Client) -> None:
    create(alice)
    for client in (alice, mallory):
        refused = new(client, domain="EXAMPLE.org")
        assert refused.status_code == 400
        assert errors(refused) == [("domain", "DNS zone already exists.")]
    other = create(mallory, domain="example.net")
    path = f"{DOMAINS}/{other['id']}"
    assert errors(mallory.put(path, json={"domain": "Example.ORG"})) == [("domain", "DNS zone already exists.")]
    assert mallory.put(path, json={"domain": "Example.NET"}).json()["domain"] == "Example.NET"


def test_a_master_needs_an_address_to_write_to_and_a_slave_a_master(alice: Client) -> None:
    assert errors(new(alice, soa_email="")) == [("soa_email", "SOA_Email required when type=master")]
    nobody = [("master_ips", "You need at least one master DNS server IP address for this zone.")]
    assert errors(new(alice, type="slave")) == nobody
    slave = create(alice, type="slave", master_ips=["192.0.2.53"], soa_email="")
    path = f"{DOMAINS}/{slave['id']}"
    assert errors(alice.put(path, json={"master_ips": []})) == nobody
    assert errors(alice.put(path, json={"type": "master"})) == [("soa_email", "SOA_Email required when type=master")]
    refused = alice.post(f"{path}/records", json={"type": "A", "name": "www", "target": "192.0.2.1"})
    assert refused.status_code == 400
    assert "slave" in errors(refused)[0][1]
    assert alice.get(f"{path}/zone-file").json() == {"zone_file": []}


@pytest.mark.parametrize(
    ("sent", "shown"), [(0, 0), (1, 300), (300, 300), (301, 3600), (86401, 172800), (2419200, 2419200), (9**9, 2419200)]
)
def test_times_become_the_next_longer_one_that_is_allowed(alice: Client, sent: int, shown: int) -> None:
    made = create(alice, refresh_sec=sent, retry_sec=sent, expire_sec=sent, ttl_sec=sent)
    assert {made[name] for name in ("refresh_sec", "retry_sec", "expire_sec", "ttl_sec")} == {shown}


def test_somebody_elses_domain_is_not_there(alice: Client, mallory: Client) -> None:
    path = f"{DOMAINS}/{create(alice)['id']}"
    for answer in (
        mallory.get(path),
        mallory.put(path, json={}),
        mallory.delete(path),
        mallory.get(f"{path}/zone-file"),
        mallory.post(f"{path}/clone", json={"domain": "other.org"}),
        mallory.get(f"{path}/records"),
        mallory.post(f"{path}/records", json={"type": "TXT", "target": "x"}),
    ):
        assert answer.status_code == 404
    assert mallory.get(DOMAINS).json()["results"] == 0


def test_restricted_users_see_and_do_what_was_granted(cloud: Cloud, alice: Client) -> None:
    seen, hidden = create(alice), create(alice, domain="hidden.org")
    bob = restricted(cloud, alice, domain=[{"id": seen["id"], "permissions": "read_only"}])
    assert [domain["id"] for domain in bob.get(DOMAINS).json()["data"]] == [seen["id"]]
    assert bob.get(f"{DOMAINS}/{seen['id']}").status_code == 200
    assert bob.put(f"{DOMAINS}/{seen['id']}", json={"group": "x"}).status_code == 403
    assert bob.get(f"{DOMAINS}/{hidden['id']}").status_code == 403
    assert new(bob, domain="new.org").status_code == 403
    granted = {"global": {"add_domains": True}}
    assert alice.put("/v4/account/users/bob/grants", json=granted).status_code == 200
    own = create(bob, domain="new.org")
    assert bob.put(f"{DOMAINS}/{own['id']}", json={"group": "x"}).json()["group"] == "x"
    assert new(bob, domain="tagged.org", tags=["blue"]).status_code == 403
    assert {domain["id"] for domain in bob.get(DOMAINS).json()["data"]} == {seen["id"], own["id"]}
    assert bob.delete(f"{DOMAINS}/{own['id']}").status_code == 200
    assert [grant["id"] for grant in alice.get("/v4/account/users/bob/grants").json()["domain"]] == [
        seen["id"],
        hidden["id"],
    ]


def test_domains_are_filtered_tagged_and_written_about(alice: Client) -> None:
    first, second = create(alice, group="a", tags=["blue"]), create(alice, domain="other.org", group="b")
    for wanted in (
        '{"domain": "Example.ORG"}',
        '{"group": "a"}',
        '{"tags": "blue"}',
        '{"domain": {"+contains": "xam"}}',
    ):
        assert [domain["id"] for domain in alice.get(DOMAINS, headers={"X-Filter": wanted}).json()["data"]] == [
            first["id"]
        ]
    refused = alice.get(DOMAINS, headers={"X-Filter": '{"status": "active"}'})
    assert errors(refused) == [("X-Filter", "Cannot filter on status")]
    assert alice.post("/v4/tags", json={"label": "green", "domains": [second["id"]]}).status_code == 200
    assert alice.get("/v4/tags/green").json()["data"] == [{"type": "domain", "data": second | {"tags": ["green"]}}]
    ticket = {"summary": "Help", "description": "It is slow.", "domain_id": first["id"]}
    about = alice.post("/v4/support/tickets", json=ticket).json()["entity"]
    assert about == {"id": first["id"], "label": "example.org", "type": "domain", "url": f"{DOMAINS}/{first['id']}"}


def test_a_domain_is_cloned_with_its_records(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "AT_ONCE", 3)
    cloud.freeze()
    made = create(alice, group="a", tags=["blue"], ttl_sec=300)
    path = f"{DOMAINS}/{made['id']}"
    for number in range(8):
        record = {"type": "A", "name": f"www{number}", "target": "192.0.2.1"}
        assert alice.post(f"{path}/records", json=record).status_code == 200
    assert errors(alice.post(f"{path}/clone", json={"domain": "EXAMPLE.org"}))[0][0] == "domain"
    copy = alice.post(f"{path}/clone", json={"domain": "copy.org"}).json()
    assert copy == made | {"id": copy["id"], "domain": "copy.org"}
    cloud.settle()
    names = [copied["name"] for copied in alice.get(f"{DOMAINS}/{copy['id']}/records").json()["data"]]
    assert names == [f"www{number}" for number in range(8)]
    assert actions(alice)[0] == "dns_zone_create"
    assert alice.delete(path).status_code == 200
    cloud.settle()
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM domain_record").fetchone()[0] == 8


def served(cloud: Cloud, name: str) -> Any:
    return cloud.runtime.name_server.published(name)


def test_a_zone_is_served_while_its_account_has_something_that_costs(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    made = create(alice)
    path = f"{DOMAINS}/{made['id']}"
    cloud.settle()
    assert served(cloud, "example.org") is None
    instance = create_instance(alice)
    cloud.settle()
    first = served(cloud, "example.org")
    assert first.lines == tuple(alice.get(f"{path}/zone-file").json()["zone_file"])
    for number in range(5):
        alice.post(f"{path}/records", json={"type": "A", "name": f"www{number}", "target": "192.0.2.1"})
    with cloud.runtime.database.read() as db:
        queued = db.raw("SELECT count(*) FROM operation WHERE kind = 'domain.publish'").fetchone()[0]
    assert queued == 1
    cloud.settle()
    second = served(cloud, "example.org")
    assert second.serial > first.serial
    assert len(second.lines) == len(first.lines) + 5
    alice.put(path, json={"domain": "other.org"})
    cloud.settle()
    assert served(cloud, "example.org") is None
    assert served(cloud, "other.org").serial > second.serial
    alice.put(path, json={"status": "disabled"})
    cloud.settle()
    assert served(cloud, "other.org") is None
    alice.put(path, json={"status": "active"})
    alice.delete(f"/v4/compute/instances/{instance['id']}")
    cloud.settle()
    assert served(cloud, "other.org") is None
    assert "crofter_zones_behind 0.0" in cloud.sandbox.get("/metrics").text


@pytest.mark.both
def test_a_closed_account_leaves_no_zone_and_no_record(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    create_instance(alice)
    path = f"{DOMAINS}/{create(alice)['id']}"
    alice.post(f"{path}/records", json={"type": "A", "name": "www", "target": "192.0.2.1"})
    cloud.settle()
    assert served(cloud, "example.org") is not None
    assert alice.post("/v4/account/cancel", json={}).status_code == 200
    cloud.settle()
    assert served(cloud, "example.org") is None
    with cloud.runtime.database.read() as db:
        for table in ("domain", "domain_record", "simulated_zone"):
            assert db.raw(f"SELECT count(*) FROM {table}").fetchone()[0] == 0


def test_name_servers_that_cannot_be_told_are_told_again(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crofter.drivers.dns import NotPublished, Zone

    cloud.freeze()
    create_instance(alice)
    cloud.settle()
    server, attempted_serials = cloud.runtime.name_server, []
    publish = server.publish

    def failing(zone: Zone) -> None:
        attempted_serials.append(zone.serial)
        if len(attempted_serials) < 4:
            raise NotPublished("away")
        publish(zone)

    monkeypatch.setattr(server, "publish", failing)
    create(alice)
    cloud.advance(4)
    assert "crofter_zones_behind 1.0" in cloud.sandbox.get("/metrics").text
    cloud.settle()
    assert len(attempted_serials) == 4
    assert served(cloud, "example.org") is not None


def test_a_tag_that_is_new_comes_with_a_domain(alice: Client) -> None:
    zone = {"type": "master", "domain": "tagged.example.org", "soa_email": "a@example.org"}
    made = alice.post("/v4/domains", json=zone).json()
    changed = alice.put(f"/v4/domains/{made['id']}", json={"tags": ["brand-new"]})
    assert (changed.status_code, changed.json()["tags"]) == (200, ["brand-new"])
    assert alice.get("/v4/tags").json()["data"] == [{"label": "brand-new"}]
