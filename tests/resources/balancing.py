"""Shared steps for tests of load balancers."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from httpx2 import Client

from tests.cloud import Cloud
from tests.resources.compute import create

BALANCERS = "/v4/nodebalancers"
THEN = datetime.datetime(2026, 1, 1)


def balancer(client: Client, **body: Any) -> dict[str, Any]:
    answer = client.post(BALANCERS, json={"region": "us-east", **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def add(client: Client, path: str, **body: Any) -> dict[str, Any]:
    """A POST that is expected to work."""
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def configs(balancer_id: int) -> str:
    return f"{BALANCERS}/{balancer_id}/configs"


def nodes(balancer_id: int, config_id: int) -> str:
    return f"{configs(balancer_id)}/{config_id}/nodes"


def backend(client: Client, **body: Any) -> tuple[int, str]:
    """An instance with a private address."""
    made = create(client, private_ip=True, **body)
    return int(made["id"]), str(made["ipv4"][1])


def restricted(cloud: Cloud, owner: Client, name: str, **grants: Any) -> Client:
    """A restricted user of an account, with these grants."""
    assert owner.post("/v4/account/users", json={"username": name, "email": f"{name}@example.com"}).status_code == 200
    answer = owner.put(f"/v4/account/users/{name}/grants", json=grants)
    assert answer.status_code == 200, answer.text
    return cloud.client(cloud.token(name))


@cache
def certificate(name: str = "www.example.com", number: int = 1) -> tuple[str, str]:
    """Return a self-signed certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(number)
        .not_valid_before(THEN)
        .not_valid_after(THEN + datetime.timedelta(days=90))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made.public_bytes(Encoding.PEM).decode(), pem.decode()


def locked_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame")).decode()
