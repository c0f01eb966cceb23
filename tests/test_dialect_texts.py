"""User texts are returned unchanged, even if they contain the dialect's word or the interface's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from msgspec import Struct
from msgspec import inspect as shape

from crofter.edge.router import Router
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud

ROUTER = Router(ENDPOINTS)
THEIRS = "wug"
BOTH = f"compute {THEIRS} Computes {THEIRS.capitalize()}s COMPUTE {THEIRS.upper()}"
NAME = f"compute-{THEIRS}"
PASSWORD = "a-long-Winding-r0ad"
KEY = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfeUOdIeUkKK4zEYS1tJtAdEOIMVRNUKPyHRS8REcxv {NAME}"
SCRIPT = f'#!/bin/sh\n# <UDF name="compute" label="{BOTH}" default="{THEIRS}">\necho compute {THEIRS}\n'
INSTANCE = {"type": "g6-nanode-1", "region": "us-east"}
WITH_VLANS = "us-southeast"
DEPLOYED = {"image": f"{THEIRS}/debian11", "root_pass": PASSWORD}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    file = tmp_path_factory.mktemp("dialect") / "dialect.toml"
    file.write_text(f'[words]\ncompute = "{THEIRS}"\n')
    cloud = Cloud(dialect=str(file), disguised=None)
    yield cloud
    cloud.close()


class Sent(Struct):
    """Bodies that were sent, by their endpoint, and what came of them."""

    client: httpx2.Client
    names: set[str] = set()

    def __call__(self, method: str, path: str, body: dict[str, Any], expected: dict[str, Any] | None = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.status_code == 200, (path, answer.text)
        self.names |= {f"{path_of(method, path)} {name}" for name in _leaves(body)}
        shown = answer.json()
        assert _differences(body if expected is None else expected, shown) == []
        if "id" in shown and method == "POST" and self.client.get(f"{path}/{shown['id']}").status_code == 200:
            assert _differences(body, self.client.get(f"{path}/{shown['id']}").json()) == []
        return shown


def path_of(method: str, path: str) -> str:
    """The operation of a path that was sent in the dialect."""
    own = path.replace(f"/{THEIRS}/", "/compute/").replace(f"{THEIRS}-settings", "compute-settings")
    match = ROUTER.match(method, own.encode())
    assert match is not None, path
    assert match.endpoint is not None, path
    return match.endpoint.name


def _leaves(body: Any, before: str = "") -> Iterator[str]:
    for name, value in body.items() if isinstance(body, dict) else ():
        here = f"{before}{name}"
        if isinstance(value, str) or (isinstance(value, list) and value and isinstance(value[0], str)):
            yield here
        for inner in value if isinstance(value, list) else [value]:
            yield from _leaves(inner, f"{here}.")


def _differences(sent: Any, shown: Any) -> list[Any]:
    """Texts that were sent and are shown, and are not the same."""
    if isinstance(sent, dict) and isinstance(shown, dict):
        return [pair for name, value in sent.items() if name in shown for pair in _differences(value, shown[name])]
    if isinstance(sent, list) and isinstance(shown, list) and sent and isinstance(sent[0], dict):
        return [pair for first, other in zip(sent, shown, strict=True) for pair in _differences(first, other)]
    if isinstance(sent, list) and isinstance(shown, list):
        return [] if sorted(sent) == sorted(shown) else [(sent, shown)]
    return [] if sent == shown or not isinstance(sent, str) else [(sent, shown)]


def test_every_text_comes_back_as_it_was_written(cloud: Cloud) -> None:
    owner = cloud.account(username=NAME, managed=True)
    sent = Sent(cloud.client(owner["token"]))
    _about_people(sent)
    _about_machines(sent, cloud)
    _about_networks(sent)
    _about_service(sent)
    tried = sent.names | NOT_SHOWN.keys()
    assert {name for name in _texts() - tried if name.rpartition(".")[2].split()[-1] not in NO_WORDS} == set()
    assert sent.names & NOT_SHOWN.keys() == set(), "these were tried"


def _about_people(sent: Sent) -> None:
    named = dict.fromkeys(("address_1", "address_2", "company", "first_name", "last_name", "tax_id"), BOTH[:50])
    sent("PUT", "/v4/account", {**named, "city": f"Compute {THEIRS}", "email": f"compute@{THEIRS}.example"})
    sent("PUT", "/v4/account", {"country": "DE", "state": f"compute {THEIRS}"})
    sent("POST", "/v4/account/users", {"username": "compute", "email": f"{THEIRS}@compute.example", "restricted": True})
    sent("PUT", "/v4/account/users/compute", {"username": THEIRS, "email": f"compute@{THEIRS}.example"})
    assert sent.client.get(f"/v4/account/users/{THEIRS}").json()["username"] == THEIRS
    grants = sent.client.get(f"/v4/account/users/{THEIRS}/grants").json()
    assert f"add_{THEIRS}s" in grants["global"]
    assert grants[THEIRS] == []
    sent("PUT", "/v4/profile", {"email": f"compute@{THEIRS}.example", "authorized_keys": [KEY]})
    sent("POST", "/v4/profile/sshkeys", {"label": BOTH, "ssh_key": KEY})
    sent("PUT", "/v4/profile/sshkeys/1", {"label": f"{BOTH}."})
    sent("POST", "/v4/profile/tokens", {"label": BOTH, "scopes": f"{THEIRS}s:read_only"})
    sent("PUT", "/v4/profile/tokens/2", {"label": f"{BOTH}."})
    free = {"compute": {THEIRS: ["compute", THEIRS]}, THEIRS: {"compute_id": f"compute {THEIRS}"}}
    assert sent.client.put("/v4/profile/preferences", json=free).json() == free
    assert sent.client.get("/v4/profile/preferences").json() == free
    where = f"https://compute.{THEIRS}.example/compute"
    sent("POST", "/v4/account/oauth-clients", {"label": BOTH, "redirect_uri": where})
    client_id = sent.client.get("/v4/account/oauth-clients").json()["data"][0]["id"]
    sent("PUT", f"/v4/account/oauth-clients/{client_id}", {"label": f"{BOTH}.", "redirect_uri": where})
    ticket = sent("POST", "/v4/support/tickets", {"summary": BOTH, "description": BOTH})
    sent("POST", f"/v4/support/tickets/{ticket['id']}/replies", {"description": BOTH})
    for label in ("compute", THEIRS):
        sent("POST", "/v4/tags", {"label": label})
        assert sent.client.get(f"/v4/tags/{label}").status_code == 200


def _about_machines(sent: Sent, cloud: Cloud) -> None:
    script = {"label": BOTH, "description": BOTH, "rev_note": BOTH, "script": SCRIPT, "images": [f"{THEIRS}/debian11"]}
    made = sent("POST", f"/v4/{THEIRS}/stackscripts", script)
    assert made["user_defined_fields"][0] | {"name": "compute", "label": BOTH} == made["user_defined_fields"][0]
    sent("PUT", f"/v4/{THEIRS}/stackscripts/{made['id']}", {**script, "rev_note": "compute"})
    data = {"stackscript_id": made["id"], "stackscript_data": {"compute": THEIRS}}
    tags = ["compute", THEIRS]
    instance_body = {
        **INSTANCE,
        **DEPLOYED,
        **data,
        "label": "compute",
        "group": THEIRS,
        "tags": tags,
        "authorized_keys": [KEY],
    }
    instance = f"/v4/{THEIRS}/instances/{sent('POST', f'/v4/{THEIRS}/instances', instance_body)['id']}"
    assert cloud.settle() > 0
    sent("PUT", instance, {"label": THEIRS, "group": "compute", "tags": ["compute"]})
    events = sent.client.get("/v4/account/events", headers={"X-Filter": f'{{"action": "{THEIRS}_update"}}'}).json()
    assert events["data"][0]["entity"]["label"] == THEIRS
    by_tag = sent.client.get(f"/v4/{THEIRS}/instances", headers={"X-Filter": '{"tags": "compute"}'}).json()
    assert [carrier["label"] for carrier in by_tag["data"]] == [THEIRS]
    vlan = [{"purpose": "vlan", "label": NAME, "ipam_address": "10.0.0.1/24"}]
    other = {**INSTANCE, "region": WITH_VLANS, "label": f"{NAME}-other", "interfaces": vlan}
    sent("POST", f"/v4/{THEIRS}/instances", {**other, **DEPLOYED, "authorized_users": [NAME]})
    ticket = {"summary": BOTH, "description": BOTH, "region": WITH_VLANS, "vlan": NAME}
    assert sent("POST", "/v4/support/tickets", ticket)["entity"]["label"] == NAME
    empty = sent("POST", f"/v4/{THEIRS}/instances", {**INSTANCE, "region": WITH_VLANS, "label": f"{NAME}-empty"})
    instance = f"/v4/{THEIRS}/instances/{empty['id']}"
    disk = sent("POST", f"{instance}/disks", {"label": BOTH[:48], "size": 100, "filesystem": "ext4"})
    assert cloud.settle() > 0
    sent("PUT", f"{instance}/disks/{disk['id']}", {"label": "compute"})
    config = {"label": BOTH[:48], "comments": BOTH, "root_device": "/dev/sda", "interfaces": vlan, "devices": {}}
    made = sent("POST", f"{instance}/configs", {**config, "devices": {"sda": {"disk_id": disk["id"]}}})
    sent("PUT", f"{instance}/configs/{made['id']}", {**config, "devices": {"sda": {"disk_id": disk["id"]}}})
    image = sent("POST", "/v4/images", {"disk_id": disk["id"], "label": BOTH[:50], "description": BOTH})
    assert image["created_by"] == NAME
    assert cloud.settle() > 0
    sent("PUT", f"/v4/images/{image['id']}", {"label": "compute", "description": THEIRS})
    upload = {"label": BOTH[:50], "description": BOTH, "region": "us-east"}
    sent("POST", "/v4/images/upload", upload, {"image": upload})
    assert sent.client.post(f"{instance}/backups/enable").status_code == 200
    sent("POST", f"{instance}/backups", {"label": BOTH})
    assert cloud.settle() > 0
    sent("POST", f"{instance}/clone", {**INSTANCE, "region": WITH_VLANS, "label": NAME, "group": "compute"})
    assert cloud.settle() > 0


def _about_networks(sent: Sent) -> None:
    instance = f"/v4/{THEIRS}/instances/1"
    address = sent.client.get(f"{instance}/ips").json()["ipv4"]["public"][0]["address"]
    for name in (f"compute.{THEIRS}.example", f"a.ip.{THEIRS}usercontent.com", "a.ip.computeusercontent.com"):
        sent("PUT", f"{instance}/ips/{address}", {"rdns": name})
        sent("PUT", f"/v4/networking/ips/{address}", {"rdns": name})
    rule = {"protocol": "TCP", "ports": "22", "action": "ACCEPT", "label": NAME, "description": BOTH}
    both_ways = {key: [{**rule, "addresses": {"ipv4": ["192.0.2.0/24"]}}] for key in ("inbound", "outbound")}
    rules = {**both_ways, "inbound_policy": "DROP", "outbound_policy": "DROP"}
    firewall = {"label": NAME, "tags": ["compute", THEIRS], "rules": rules}
    made = sent("POST", "/v4/networking/firewalls", firewall)
    sent("PUT", f"/v4/networking/firewalls/{made['id']}", {"label": "compute", "tags": [THEIRS]})
    sent("PUT", f"/v4/networking/firewalls/{made['id']}/rules", rules)
    check = {"port": 80, "check": "http_body", "check_path": f"/compute/{THEIRS}", "check_body": BOTH}
    node = {"label": NAME, "address": f"{_private(sent)}:80"}
    balancer_body = {"region": "us-east", "label": NAME, "tags": ["compute", THEIRS]}
    balancer = sent("POST", "/v4/nodebalancers", {**balancer_body, "configs": [{**check, "nodes": [node]}]})
    path = f"/v4/nodebalancers/{balancer['id']}"
    sent("PUT", path, {"label": "compute", "tags": [THEIRS]})
    made = sent("POST", f"{path}/configs", {**check, "port": 81})
    config = f"{path}/configs/{made['id']}"
    sent("PUT", config, check | {"port": 81})
    sent("POST", f"{config}/rebuild", {**check, "port": 81, "nodes": [node]})
    made = sent("POST", f"{config}/nodes", {**node, "address": node["address"].replace(":80", ":81")})
    sent("PUT", f"{config}/nodes/{made['id']}", {"label": THEIRS + "-node"})
    volume = sent("POST", "/v4/volumes", {"label": NAME, "region": "us-east", "tags": ["compute", THEIRS]})
    assert volume["filesystem_path"] == f"/dev/disk/by-id/scsi-0{THEIRS.capitalize()}_Volume_{NAME}"
    sent("PUT", f"/v4/volumes/{volume['id']}", {"label": THEIRS, "tags": ["compute"]})
    domain = {"domain": f"compute.{THEIRS}.example", "type": "master", "description": BOTH, "group": BOTH[:50]}
    more = {"soa_email": f"{THEIRS}@compute.example", "tags": ["compute", THEIRS]}
    made = sent("POST", "/v4/domains", {**domain, **more})
    path = f"/v4/domains/{made['id']}"
    sent("PUT", path, {**domain, **more, "domain": f"{THEIRS}.compute.example"})
    sent("POST", f"{path}/clone", {"domain": f"copy.{THEIRS}.compute.example"})
    record = {"type": "TXT", "name": f"compute.{THEIRS}", "target": BOTH}
    made = sent("POST", f"{path}/records", record)
    sent("PUT", f"{path}/records/{made['id']}", {"name": "compute", "target": f"{BOTH}."})
    service = {"type": "SRV", "service": "_compute", "protocol": "_tcp", "port": 80, "target": f"{THEIRS}.example"}
    made = sent("POST", f"{path}/records", service)
    sent("PUT", f"{path}/records/{made['id']}", {"service": f"_{THEIRS}", "target": "compute.example"})
    sent("POST", "/v4/longview/clients", {"label": NAME})
    sent("PUT", "/v4/longview/clients/1", {"label": THEIRS})


def _private(sent: Sent) -> str:
    body = {"public": False, "type": "ipv4"}
    return str(sent.client.post(f"/v4/{THEIRS}/instances/1/ips", json=body).json()["address"])


def _about_service(sent: Sent) -> None:
    contact = {"name": BOTH, "group": BOTH[:50], "email": f"compute@{THEIRS}.example"}
    contact["phone"] = {"primary": "compute", "secondary": THEIRS}  # type: ignore[assignment]
    made = sent("POST", "/v4/managed/contacts", contact)
    sent("PUT", f"/v4/managed/contacts/{made['id']}", contact)
    made = sent("POST", "/v4/managed/credentials", {"label": BOTH, "password": "compute", "username": THEIRS})
    sent("PUT", f"/v4/managed/credentials/{made['id']}", {"label": f"{BOTH}."})
    where = {"address": f"https://compute.{THEIRS}.example/compute", "service_type": "url", "timeout": 30}
    service = {**where, "label": BOTH[:64], "body": BOTH, "notes": BOTH, "consultation_group": BOTH[:50]}
    made = sent("POST", "/v4/managed/services", service)
    sent("PUT", f"/v4/managed/services/{made['id']}", service)
    settings = sent.client.get(f"/v4/managed/{THEIRS}-settings").json()["data"][0]
    sent("PUT", f"/v4/managed/{THEIRS}-settings/{settings['id']}", {"ssh": {"user": "compute"}})


NO_WORDS = {
    *("address", "ip", "ipam_address", "ips", "route_target", "remote_nameserver"),  # addresses
    *("region", "type", "protocol", "ssl_cert", "usd", "promo_code", "payer_id", "payment_id"),  # of few values
}
"""Fields in which neither word is ever right."""
NOT_SHOWN = {
    "cancel_account comments": "nobody is shown why an account was closed",
    "create_disk authorized_keys": "they are written to the disk",
    "create_disk authorized_users": "likewise",
    "rebuild_instance authorized_keys": "likewise",
    "rebuild_instance authorized_users": "likewise",
}


def _texts() -> set[str]:
    """Every text of people in every body, by its operation."""
    return {f"{endpoint.name} {name}" for endpoint in ENDPOINTS if endpoint.body for name in _in(endpoint.body)}


def _in(body: Any) -> Iterator[str]:
    yield from _walk(shape.type_info(body), "", marked=False)


def _walk(kind: shape.Type, here: str, *, marked: bool) -> Iterator[str]:
    if isinstance(kind, shape.Metadata):
        extra = kind.extra or {}
        if not (extra.get("secret") or extra.get("check")):
            yield from _walk(kind.type, here, marked=marked or "word" in extra)
    elif isinstance(kind, shape.UnionType):
        for option in kind.types:
            yield from _walk(option, here, marked=marked)
    elif isinstance(kind, shape.ListType):
        yield from _walk(kind.item_type, here, marked=marked)
    elif isinstance(kind, shape.StructType):
        for field in kind.fields:
            yield from _walk(field.type, f"{here}.{field.encode_name}" if here else field.encode_name, marked=False)
    elif isinstance(kind, shape.StrType) and not marked:
        yield here
