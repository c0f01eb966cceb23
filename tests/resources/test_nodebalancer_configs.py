"""Ports of load balancers, and the certificates of those with https."""

from __future__ import annotations

import hashlib
import ssl
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from httpx2 import Client

from crofter.resources.nodebalancers.configs import rules
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.balancing import (
    BALANCERS,
    add,
    backend,
    balancer,
    certificate,
    configs,
    locked_key,
    nodes,
)
from tests.resources.compute import entity, events, last, listed, refused

TAKEN = "Port must be unique among the configs of a NodeBalancer"
HIDDEN = "<REDACTED>"


@pytest.fixture
def own(alice: Client) -> int:
    return int(balancer(alice, label="front")["id"])


@pytest.mark.both
def test_a_config_has_defaults_for_everything(alice: Client, own: int) -> None:
    made = add(alice, configs(own))
    assert made == {
        "algorithm": "roundrobin",
        "check": "none",
        "check_attempts": 3,
        "check_body": "",
        "check_interval": 0,
        "check_passive": True,
        "check_path": "",
        "check_timeout": 30,
        "cipher_suite": "recommended",
        "id": made["id"],
        "nodebalancer_id": own,
        "nodes_status": {"down": 0, "up": 0},
        "port": 80,
        "protocol": "http",
        "proxy_protocol": "none",
        "ssl_cert": None,
        "ssl_commonname": "",
        "ssl_fingerprint": "",
        "ssl_key": None,
        "stickiness": "none",
    }
    path = f"{configs(own)}/{made['id']}"
    assert alice.get(path).json() == made
    assert listed(alice, configs(own)) == [made]
    event = last(alice, "nodebalancer_config_create")
    assert entity(event["entity"]) == ("nodebalancer", own, "front", f"{BALANCERS}/{own}")
    assert entity(event["secondary_entity"]) == ("config", made["id"], "port 80", path)
    assert event["status"] == "notification"


def test_a_config_is_changed_and_deleted(alice: Client, own: int) -> None:
    _, host = backend(alice)
    made = add(alice, configs(own), port=80)
    path = f"{configs(own)}/{made['id']}"
    add(alice, f"{path}/nodes", address=f"{host}:80", label="one")
    sent = {"port": 8080, "algorithm": "leastconn", "check": "http", "check_path": "/up?x=1", "check_interval": 10}
    changed = alice.put(path, json=sent).json()
    assert changed == made | sent | {"check_timeout": 9, "nodes_status": {"down": 1, "up": 0}}
    assert alice.put(path, json=changed).json() == changed
    assert last(alice, "nodebalancer_config_update")["secondary_entity"]["label"] == "port 8080"
    assert alice.delete(path).json() == {}
    assert alice.get(path).status_code == alice.get(f"{path}/nodes").status_code == 404
    assert last(alice, "nodebalancer_config_delete")["secondary_entity"]["id"] == made["id"]
    assert events(alice, "nodebalancer_node_delete") == []


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"port": 0}, [("port", "Must be 1-65535")]),
        ({"protocol": "udp"}, [("protocol", "Must be one of http, https, tcp")]),
        ({"port": 80}, [("port", TAKEN)]),
        ({"check": "http"}, [("check_path", "check_path is required")]),
        ({"check": "http_body", "check_path": "/"}, [("check_body", "check_body is required")]),
        ({"check_path": "/a b"}, [("check_path", "Must only use ASCII letters, numbers and / - % ? & = .")]),
        ({"check_path": "/\n"}, [("check_path", "Must only use ASCII letters, numbers and / - % ? & = .")]),
        (
            {"check": "connection", "check_interval": 5, "check_timeout": 5},
            [("check_interval", "Must be greater than check_timeout")],
        ),
        (
            {"check_timeout": 31, "check_attempts": 0},
            [("check_timeout", "Must be 1-30"), ("check_attempts", "Must be 1-30")],
        ),
        ({"protocol": "tcp", "stickiness": "http_cookie"}, [("stickiness", "Protocol tcp has no cookies")]),
        ({"proxy_protocol": "v1"}, [("proxy_protocol", "Must be none unless protocol is tcp")]),
        ({"ssl_key": "x"}, [("ssl_key", "Only protocol https has a certificate")]),
        (
            {"protocol": "https"},
            [("ssl_cert", "ssl_cert is required"), ("ssl_key", "ssl_key is required")],
        ),
        (
            {"protocol": "https", "ssl_cert": HIDDEN, "ssl_key": HIDDEN},
            [("ssl_cert", "ssl_cert is required"), ("ssl_key", "ssl_key is required")],
        ),
    ],
)
def test_what_cannot_be_is_refused(alice: Client, own: int, body: dict[str, Any], wrong: list[Any]) -> None:
    add(alice, configs(own), port=80)
    answer = alice.post(configs(own), json={"port": 81, **body})
    assert (answer.status_code, errors(answer)) == (400, wrong)
    assert len(listed(alice, configs(own))) == 1


def test_an_update_is_judged_with_what_stays(alice: Client, own: int) -> None:
    add(alice, configs(own), port=80)
    made = add(alice, configs(own), port=81, stickiness="http_cookie")
    path = f"{configs(own)}/{made['id']}"
    refused(alice.put(path, json={"protocol": "tcp"}), "Protocol tcp has no cookies", "stickiness")
    refused(alice.put(path, json={"port": 80}), TAKEN, "port")
    assert alice.put(path, json={"port": 81, "stickiness": "table", "protocol": "tcp"}).status_code == 200


def test_there_are_only_so_many(alice: Client, own: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_CONFIGS", 1)
    add(alice, configs(own), port=80)
    refused(alice.post(configs(own), json={"port": 81}), rules.TOO_MANY)


# ---- certificates ----------------------------------------------------------------------------------------------------


def secure(name: str = "www.example.com", **more: Any) -> dict[str, Any]:
    cert, key = certificate(name)
    return {"port": 443, "protocol": "https", "ssl_cert": cert, "ssl_key": key, **more}


def fingerprint(cert: str) -> str:
    digest = hashlib.sha1(ssl.PEM_cert_to_DER_cert(cert)).hexdigest().upper()
    return ":".join(digest[place : place + 2] for place in range(0, 40, 2))


def test_of_a_certificate_only_name_and_fingerprint_are_shown(cloud: Cloud, alice: Client, own: int) -> None:
    body = secure()
    made = add(alice, configs(own), **body)
    assert (made["ssl_cert"], made["ssl_key"]) == (HIDDEN, HIDDEN)
    assert made["ssl_commonname"] == "www.example.com"
    assert made["ssl_fingerprint"] == fingerprint(body["ssl_cert"])
    with cloud.runtime.database.read() as db:
        kept = bytes(db.raw("SELECT ssl_key FROM nodebalancer_config").fetchone()[0])
    assert body["ssl_key"].encode() not in kept
    associated = f"nodebalancer_config:{made['id']}:ssl_key"
    assert cloud.runtime.keyring.open(kept, associated).decode() == body["ssl_key"]


def test_a_certificate_is_kept_replaced_and_dropped(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(alice, configs(own), **secure())
    path = f"{configs(own)}/{made['id']}"
    assert alice.put(path, json={**made, "port": 444}).json() == {**made, "port": 444}
    other = secure("other.example.com")
    only = {"ssl_cert": other["ssl_cert"]}
    refused(alice.put(path, json=only), "ssl_key is required", "ssl_key")
    changed = alice.put(path, json={**only, "ssl_key": other["ssl_key"]}).json()
    assert changed["ssl_commonname"] == "other.example.com"
    dropped = alice.put(path, json={**changed, "protocol": "http"}).json()
    assert (dropped["ssl_cert"], dropped["ssl_key"], dropped["ssl_fingerprint"]) == (None, None, "")
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT count(*) FROM nodebalancer_config WHERE ssl_key IS NOT NULL").fetchone()[0] == 0
    assert errors(alice.put(path, json={"protocol": "https"})) == [
        ("ssl_cert", "ssl_cert is required"),
        ("ssl_key", "ssl_key is required"),
    ]


def test_a_chain_may_follow(alice: Client, own: int) -> None:
    cert, key = certificate("www.example.com")
    chain = cert + certificate("authority.example.com")[0]
    assert add(alice, configs(own), **secure(ssl_cert=chain))["ssl_fingerprint"] == fingerprint(cert)
    swapped = certificate("authority.example.com")[0] + cert
    body = secure(port=444, ssl_cert=swapped, ssl_key=key)
    refused(alice.post(configs(own), json=body), "The key does not belong to the certificate", "ssl_key")


def _rsa_that_does_not_fit() -> str:
    first, other = (rsa.generate_private_key(65537, 2048).private_numbers() for _ in range(2))
    numbers = rsa.RSAPrivateNumbers(first.p, first.q, other.d, first.dmp1, first.dmq1, first.iqmp, first.public_numbers)
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


NO_CERTIFICATE = ("ssl_cert", "Must be a PEM certificate, followed by those that vouch for it")
NO_KEY = ("ssl_key", "Must be a PEM private key without a passphrase")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda: {"ssl_cert": "nonsense", "ssl_key": "nonsense"}, [NO_CERTIFICATE, NO_KEY]),
        (lambda: {"ssl_cert": certificate()[1]}, [NO_CERTIFICATE]),
        (lambda: {"ssl_cert": certificate()[0] * 11}, [NO_CERTIFICATE]),
        (lambda: {"ssl_cert": certificate()[0].replace("MI", "MA")}, [NO_CERTIFICATE]),
        (lambda: {"ssl_key": certificate()[0]}, [NO_KEY]),
        (lambda: {"ssl_key": locked_key()}, [NO_KEY]),
        (lambda: {"ssl_key": _rsa_that_does_not_fit()}, [NO_KEY]),
        (
            lambda: {"ssl_key": certificate("b.example.com")[1]},
            [("ssl_key", "The key does not belong to the certificate")],
        ),
        (lambda: {"ssl_key": "x" * 16385}, [("ssl_key", "Length must be 0-16384 characters")]),
    ],
)
def test_certificate_and_key_must_be_a_pair(alice: Client, own: int, change: Any, wrong: list[Any]) -> None:
    answer = alice.post(configs(own), json={**secure(), **change()})
    assert (answer.status_code, errors(answer)) == (400, wrong)


def test_an_rsa_key_will_do(alice: Client, own: int) -> None:
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = rsa.generate_private_key(65537, 2048)
    names = x509.SubjectAlternativeName([x509.DNSName("san.example.com")])
    cert = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([]))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime.datetime(2020, 1, 1))
        .not_valid_after(datetime.datetime(2021, 1, 1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    body = secure(ssl_cert=cert.public_bytes(Encoding.PEM).decode(), ssl_key=pem)
    assert add(alice, configs(own), **body)["ssl_commonname"] == "san.example.com"


# ---- rebuilding ------------------------------------------------------------------------------------------------------


def test_a_rebuild_replaces_the_nodes_and_keeps_what_is_not_sent(alice: Client, own: int) -> None:
    (_, first), (_, second), (_, third) = backend(alice), backend(alice), backend(alice)
    made = add(alice, configs(own), port=81, check="connection")
    path = f"{configs(own)}/{made['id']}"
    kept = add(alice, f"{path}/nodes", address=f"{first}:80", label="one")
    gone = add(alice, f"{path}/nodes", address=f"{second}:80", label="two")
    sent = [{"address": f"{first}:80", "label": "one", "weight": 9}, {"address": f"{third}:80", "label": "three"}]
    changed = alice.post(f"{path}/rebuild", json={"algorithm": "source", "nodes": sent}).json()
    assert changed == alice.get(path).json()
    assert (changed["port"], changed["algorithm"], changed["nodes_status"]) == (81, "source", {"down": 2, "up": 0})
    now = listed(alice, nodes(own, made["id"]))
    assert [(node["label"], node["weight"]) for node in now] == [("one", 9), ("three", 50)]
    assert now[0]["id"] == kept["id"]
    assert alice.get(f"{path}/nodes/{gone['id']}").status_code == 404
    assert [event["action"] for event in events(alice)][-4:] == [
        "nodebalancer_config_update",
        "nodebalancer_node_delete",
        "nodebalancer_node_update",
        "nodebalancer_node_create",
    ]
    assert alice.post(f"{path}/rebuild", json={"port": 82}).status_code == 200
    assert listed(alice, nodes(own, made["id"])) == now
    assert alice.post(f"{path}/rebuild", json={"nodes": []}).status_code == 200
    assert listed(alice, nodes(own, made["id"])) == []


def test_a_rebuild_that_is_refused_changes_nothing(alice: Client, own: int) -> None:
    _, host = backend(alice)
    add(alice, configs(own), port=80)
    made = add(alice, configs(own), port=81)
    path = f"{configs(own)}/{made['id']}"
    node = {"address": f"{host}:80", "label": "one"}
    lost = {"address": "192.168.1.1:80", "label": "two"}
    body = {"port": 80, "check": "http", "nodes": [node, lost, node]}
    assert sorted(errors(alice.post(f"{path}/rebuild", json=body))) == sorted(
        [
            ("port", TAKEN),
            ("check_path", "check_path is required"),
            ("nodes[1].address", "Must be the private address of a Compute in the region of the NodeBalancer"),
            ("nodes[2].address", "Address must be unique among the nodes of a config"),
        ]
    )
    assert alice.get(path).json() == made
    assert listed(alice, nodes(own, made["id"])) == []
