"""Managed credentials, through HTTP, and what the support staff does with them."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key
from httpx2 import Client

from crofter import audit
from crofter.context import Context
from crofter.resources.managed.credentials import rules
from tests.cloud import Cloud
from tests.observed import errors

PATH = "/v4/managed/credentials"


@pytest.fixture
def dora(cloud: Cloud) -> Client:
    """The owner of a managed account."""
    return cloud.person(username="dora", managed=True)


def decrypted(cloud: Cloud, number: int) -> dict[str, str | None]:
    with cloud.runtime.database.write() as db:
        return rules.decrypt(Context(cloud.runtime, db), number, by="Eve of Support")


@pytest.mark.both
def test_a_credential_is_kept_and_never_shown(cloud: Cloud, dora: Client) -> None:
    made = dora.post(PATH, json={"label": "prod db", "username": "admin", "password": "hunter2"})
    assert made.json() == {"id": 1, "label": "prod db", "last_decrypted": None}
    assert dora.get(PATH).json()["data"] == [made.json()]
    assert dora.get(f"{PATH}/1").json() == made.json()
    assert dora.put(f"{PATH}/1", json={"label": "prod", "password": "x"}).json()["label"] == "prod"
    with cloud.runtime.database.read() as db:
        stored = db.raw("SELECT username, password FROM managed_credential").fetchone()
    assert b"hunter2" not in bytes(stored[1])
    assert b"admin" not in bytes(stored[0])


def test_the_staff_decrypts_it_and_that_stays_on_record(cloud: Cloud, dora: Client) -> None:
    dora.post(PATH, json={"label": "prod", "password": "hunter2"})
    assert decrypted(cloud, 1) == {"username": None, "password": "hunter2"}
    dora.post(f"{PATH}/1/update", json={"username": "admin", "password": "hunter3"})
    assert decrypted(cloud, 1) == {"username": "admin", "password": "hunter3"}
    dora.post(f"{PATH}/1/update", json={"password": "hunter4"})
    assert decrypted(cloud, 1) == {"username": "admin", "password": "hunter4"}
    assert dora.get(f"{PATH}/1").json()["last_decrypted"] is not None
    with cloud.runtime.database.read() as db:
        entries = [entry for entry in audit.entries(db, 2) if entry.username == "Eve of Support"]
        assert audit.verify(cloud.runtime.keyring, db) == []
    assert [entry.path for entry in entries] == ["/v4/managed/credentials/1"] * 3


def test_labels_are_unique_within_an_account(cloud: Cloud, dora: Client) -> None:
    for label in ("one", "two"):
        dora.post(PATH, json={"label": label, "password": "secret"})
    taken = "Label must be unique among your Managed Credentials"
    assert errors(dora.post(PATH, json={"label": "one", "password": "x"})) == [("label", taken)]
    assert errors(dora.put(f"{PATH}/2", json={"label": "one"})) == [("label", taken)]
    assert dora.put(f"{PATH}/1", json={"label": "one"}).status_code == 200
    other = cloud.person(username="mallory", managed=True)
    assert other.post(PATH, json={"label": "one", "password": "x"}).status_code == 200


def test_what_is_wrong_with_a_credential_is_said_all_at_once(dora: Client) -> None:
    assert errors(dora.post(PATH, json={})) == [
        ("label", "label is required"),
        ("password", "password is required"),
    ]
    assert errors(dora.post(PATH, json={"label": "x", "password": 5, "username": "u" * 5001})) == [
        ("label", "Length must be 2-75 characters"),
        ("password", "Must be of type String"),
        ("username", "Length must be 0-5000 characters"),
    ]
    assert [field for field, _ in errors(dora.post(PATH, json={"label": "a/b", "password": "x"}))] == ["label"]
    number = dora.post(PATH, json={"label": "good", "password": "x"}).json()["id"]
    refused = dora.post(f"{PATH}/{number}/update", json={"username": "u"})
    assert errors(refused) == [("password", "password is required")]


@pytest.mark.parametrize("revoked", [True, False])
def test_a_credential_that_was_taken_back_is_gone_from_services_too(dora: Client, revoked: bool) -> None:
    dora.post(PATH, json={"label": "prod", "password": "x"})
    body = {"label": "web", "service_type": "url", "address": "http://127.0.0.1:1/", "timeout": 5, "credentials": [1]}
    service = dora.post("/v4/managed/services", json=body).json()
    assert service["credentials"] == [1]
    answer = dora.post(f"{PATH}/1/revoke") if revoked else dora.delete(f"{PATH}/1")
    assert (answer.status_code, answer.json()) == (200, {})
    assert dora.get(f"{PATH}/1").status_code == 404
    assert dora.get(f"/v4/managed/services/{service['id']}").json()["credentials"] == []


def test_somebody_elses_credential_is_not_there(cloud: Cloud, dora: Client) -> None:
    dora.post(PATH, json={"label": "prod", "password": "x"})
    other = cloud.person(username="mallory", managed=True)
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/update"), ("POST", "/revoke")):
        answer = other.request(method, f"{PATH}/1{path}", json=None if method == "GET" else {})
        assert answer.status_code == 404, path
    assert other.get(PATH).json()["results"] == 0


def test_each_account_has_a_key_pair_of_its_own(cloud: Cloud, dora: Client) -> None:
    public = dora.get(f"{PATH}/sshkey").json()["ssh_key"]
    assert dora.get(f"{PATH}/sshkey").json() == {"ssh_key": public}
    other = cloud.person(username="mallory", managed=True)
    assert other.get(f"{PATH}/sshkey").json()["ssh_key"] != public
    key = load_ssh_public_key(public.encode())
    assert isinstance(key, Ed25519PublicKey)
    with cloud.runtime.database.write() as db:
        private = rules.private_key(Context(cloud.runtime, db), 2, by="Eve of Support")
    signature = load_ssh_private_key(private.encode(), None).sign(b"hello")  # type: ignore[call-arg]
    key.verify(signature, b"hello")
