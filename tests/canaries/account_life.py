"""Use of every part of the interface that carries a secret."""

from __future__ import annotations

import base64
from typing import Any

import httpx2
import pyotp
from stdnum import luhn

from tests.canaries.application import Application
from tests.resources.balancing import certificate
from tests.resources.serial import Terminal

SCRIPT = """#!/bin/sh
# <UDF name="word" label="A word" />
# <UDF name="db_password" label="Of the database" />
"""
_CVVS = ("7391", "8642", "9753")
_CARDS = ("402987611735284", "417650983241706")
"""Without the last digit, which follows from the others."""


def live(application: Application, client: httpx2.Client) -> None:
    """Every write-only field of the interface, each with a canary of its own."""
    machines(application, client)
    cards(application, client)
    experts(application, client)
    balancers(application, client)
    tokens(application, client)
    longview(application, client)
    files(application, client)
    consoles(application, client)
    neighbours(client)
    second_factor(application, client)
    belongings(client)


def settle(application: Application) -> None:
    with httpx2.Client(base_url=application.url, timeout=60) as sandbox:
        assert sandbox.post("/_sandbox/settle", json={}).status_code == 200


def machines(application: Application, client: httpx2.Client) -> None:
    images, then = "'[\"any/all\"]'", "'2026-01-01T00:00:00'"
    application.store.run(
        [
            "INSERT INTO stackscript (id, account_id, username, label, images, script, user_defined_fields, is_public,"
            f" created, updated) VALUES (1000, 1, 'admin', 'setup', {images}, '{SCRIPT}', '[]', false, {then}, {then})"
        ]
    )
    path = "/v4/compute/instances"
    made = _deploy(application, client, "create_instance", path, type="g6-standard-1", region="us-east")
    own = f"{path}/{made['id']}"
    _deploy(application, client, "rebuild_instance", f"{own}/rebuild", booted=False)
    disks = client.get(f"{own}/disks").json()["data"]
    for disk in disks[1:]:
        assert client.delete(f"{own}/disks/{disk['id']}").status_code == 200
    settle(application)
    assert client.post(f"{own}/disks/{disks[0]['id']}/resize", json={"size": 10000}).status_code == 200
    settle(application)
    password = application.canary("reset_instance_password root_pass")
    application.send(client, f"{own}/password", {"root_pass": password}, password)
    settle(application)
    disk = _deploy(application, client, "create_disk", f"{own}/disks", size=8000)
    password = application.canary("reset_disk_password password")
    application.send(client, f"{own}/disks/{disk['id']}/password", {"password": password}, password)
    settle(application)


def _deploy(application: Application, client: httpx2.Client, operation: str, path: str, **body: Any) -> Any:
    password = application.canary(f"{operation} root_pass")
    words = (
        application.canary(f"{operation} stackscript_data"),
        application.canary(f"{operation} stackscript_data, a password"),
    )
    script = {"stackscript_id": 1000, "stackscript_data": {"word": words[0], "db_password": words[1]}}
    sent = {"image": "compute/debian11", "root_pass": password, **script, **body}
    made = application.send(client, path, sent, password, *words)
    settle(application)
    return made


def cards(application: Application, client: httpx2.Client) -> None:
    def card(operation: str, path: str, begun: str, cvv: str) -> dict[str, Any]:
        number = application.known(f"{operation} {path}card_number", begun + luhn.calc_check_digit(begun), shown=4)
        application.known(f"{operation} {path}cvv", cvv)
        return {"card_number": number, "cvv": cvv, "expiry_month": 12, "expiry_year": 2099}

    body = card("update_credit_card", "", _CARDS[0], _CVVS[0])
    application.send(client, "/v4/account/credit-card", body, body["card_number"], body["cvv"])
    body = card("create_payment_method", "data.", _CARDS[1], _CVVS[1])
    sent = {"type": "credit_card", "is_default": True, "data": body}
    application.send(client, "/v4/account/payment-methods", sent, body["card_number"], body["cvv"])
    cvv = application.known("create_payment cvv", _CVVS[2])
    application.send(client, "/v4/account/payments", {"usd": "5.00", "cvv": cvv}, cvv)


def experts(application: Application, client: httpx2.Client) -> None:
    assert client.post("/v4/account/settings/managed-enable", json={}).status_code == 200
    path = "/v4/managed/credentials"

    def entrust(operation: str, at: str) -> Any:
        username, password = application.canary(f"{operation} username"), application.canary(f"{operation} password")
        sent = {"label": "of the database", "username": username, "password": password}
        return application.send(client, at, sent, username, password)

    made = entrust("create_managed_credential", path)
    entrust("update_managed_credential_secrets", f"{path}/{made['id']}/update")
    assert client.get(f"{path}/sshkey").status_code == 200


def balancers(application: Application, client: httpx2.Client) -> None:
    """Send keys of certificates to every endpoint that takes them."""

    def secure(field: str, number: int) -> tuple[dict[str, Any], str]:
        cert, key = certificate("www.example.com", number)
        core = key.splitlines()[2][:26]  # only the part of the number that is secret
        sent = application.enclosed(field, key, core)
        return {"port": 443 + number, "protocol": "https", "ssl_cert": cert, "ssl_key": sent}, core

    config, core = secure("create_nodebalancer configs[].ssl_key", 1)
    made = application.send(client, "/v4/nodebalancers", {"region": "us-east", "configs": [config]}, core)
    path = f"/v4/nodebalancers/{made['id']}/configs"
    config, core = secure("create_nodebalancer_config ssl_key", 2)
    number = application.send(client, path, config, core)["id"]
    config, core = secure("rebuild_nodebalancer_config ssl_key", 3)
    application.send(client, f"{path}/{number}/rebuild", config, core)
    config, core = secure("update_nodebalancer_config ssl_key", 4)
    application.spoil(client, f"{path}/{number}", config, core)
    machine = {"type": "g6-nanode-1", "region": "us-east", "private_ip": True}
    host = client.post("/v4/compute/instances", json=machine).json()["ipv4"][1]
    node = {"address": f"{host}:80", "label": "web"}
    assert client.post(f"{path}/{number}/nodes", json=node).status_code == 200
    named = {"Idempotency-Key": "a port of mine"}
    for _ in range(2):
        assert client.put(f"{path}/{number}", json=config, headers=named).status_code == 200


def tokens(application: Application, client: httpx2.Client) -> None:
    named = {"Idempotency-Key": "a token of mine"}
    for _ in range(2):  # the second answer is the first one, kept
        answer = client.post("/v4/profile/tokens", json={"label": "mine"}, headers=named)
        application.excuse("TokenView.token")
    token = application.learn("TokenView.token", answer.json()["token"], shown=16)
    application.spoil(client, "/v4/profile/tokens", {"label": "mine", "token": token}, token)
    application.again.append(lambda: _token(application, client))
    assert application.client(token).get("/v4/profile").status_code == 200


def longview(application: Application, client: httpx2.Client) -> None:
    made = client.post("/v4/longview/clients", json={"label": "agent"}).json()
    for name in ("api_key", "install_code"):
        application.learn(f"LongviewClientView.{name}", made[name])
    path = f"/v4/longview/clients/{made['id']}"
    assert client.get(path).json()["api_key"] == made["api_key"]
    assert client.put(path, json={"label": "renamed", "api_key": made["api_key"]}).status_code == 200
    application.again.append(lambda: client.post("/v4/longview/clients", json={"label": application.name("agent")}))


def files(application: Application, client: httpx2.Client) -> None:
    """Upload a file: the address is a credential."""
    answer = client.post("/v4/images/upload", json={"label": "sent", "region": "us-east"})
    application.excuse("ImageUploadView.upload_to")
    secret = answer.json()["upload_to"].rpartition("/")[2]
    application.learn("ImageUploadView.upload_to", secret)
    assert httpx2.put(f"{application.url}/uploads/{secret}", content=b"no gzip").status_code == 400


def consoles(application: Application, client: httpx2.Client) -> None:
    """Open serial consoles: the token is part of the address, of a socket that opens and of one that does not."""
    machine = client.get("/v4/compute/instances").json()["data"][0]["id"]
    answer = client.post(f"/v4/compute/instances/{machine}/lish_token")
    token = application.learn("LishTokenView.lish_token", answer.json()["lish_token"])
    for shown in (token, token + "x"):
        terminal = Terminal(application.url, shown)
        terminal.end()  # the machine is off
        terminal.close()


def neighbours(client: httpx2.Client) -> None:
    """Create objects without secrets."""
    domain = _made(client, "domains", domain="canary.example", type="master", soa_email="a@canary.example")
    _made(client, f"domains/{domain}/records", type="A", name="www", target="192.0.2.1")
    _made(client, "volumes", label="data", region="us-east")
    machine = client.get("/v4/compute/instances").json()["data"][0]["id"]
    rules = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
    _made(client, "networking/firewalls", label="wall", rules=rules, devices={"computes": [machine]})


def _made(client: httpx2.Client, path: str, **body: Any) -> Any:
    answer = client.post(f"/v4/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def belongings(client: httpx2.Client) -> None:
    """Create objects without secrets that appear beside secret ones."""
    key = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes(range(32))).decode()
    for path, body in (
        ("tags", {"label": "mine"}),
        ("profile/sshkeys", {"label": "laptop", "ssh_key": key}),
        ("managed/contacts", {"name": "Jo", "email": "jo@example.com"}),
        ("support/tickets", {"summary": "Help", "description": "Please."}),
        ("support/tickets/1/replies", {"description": "Thank you."}),
    ):
        answer = client.post(f"/v4/{path}", json=body)
        assert answer.status_code == 200, f"{path}: {answer.text}"


def _token(application: Application, client: httpx2.Client) -> httpx2.Response:
    named = {"Idempotency-Key": application.name("key")}
    return client.post("/v4/profile/tokens", json={"label": "another"}, headers=named)


def second_factor(application: Application, client: httpx2.Client) -> None:
    code = "0"
    while int(code) % 2 == 0:  # unlike sizes and prices of six digits, which are in the database as well
        secret = client.post("/v4/profile/tfa-enable", json={}).json()["secret"]
        code = pyotp.TOTP(secret).now()
    application.learn("TwoFactorSecretView.secret", secret, also=(base64.b32decode(secret),))
    application.known("confirm_two_factor tfa_code", code)
    answer = application.send(client, "/v4/profile/tfa-enable-confirm", {"tfa_code": code}, code)
    application.learn("TwoFactorScratchView.scratch", answer["scratch"])
    application.spoil(client, "/v4/profile/tfa-enable-confirm", {"tfa_code": answer["scratch"]}, answer["scratch"])
    assert client.post("/v4/profile/tfa-disable", json={}).status_code == 200
