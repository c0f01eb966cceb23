"""Managed contacts, through HTTP."""

from __future__ import annotations

import pytest
from httpx2 import Client

from tests.cloud import Cloud
from tests.observed import errors

PATH = "/v4/managed/contacts"


@pytest.fixture
def dora(cloud: Cloud) -> Client:
    """The owner of a managed account."""
    return cloud.person(username="dora", managed=True)


@pytest.mark.both
def test_a_contact_is_created_changed_and_deleted(dora: Client) -> None:
    sent = {"name": "Jo Doe", "email": "jo@example.com", "group": "on-call", "phone": {"primary": "555-0100"}}
    made = dora.post(PATH, json=sent).json()
    assert made == {
        "email": "jo@example.com",
        "group": "on-call",
        "id": 1,
        "name": "Jo Doe",
        "phone": {"primary": "555-0100", "secondary": None},
        "updated": made["updated"],
    }
    changed = dora.put(f"{PATH}/1", json={"group": None, "phone": {"secondary": "555-0101"}}).json()
    assert changed["phone"] == {"primary": "555-0100", "secondary": "555-0101"}
    assert (changed["group"], changed["name"]) == (None, "Jo Doe")
    assert dora.get(f"{PATH}/1").json() == changed
    assert dora.delete(f"{PATH}/1").json() == {}
    assert dora.get(f"{PATH}/1").status_code == 404
    assert dora.get(PATH).json() == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_nothing_of_a_contact_is_required(dora: Client) -> None:
    made = dora.post(PATH, json={}).json()
    assert (made["email"], made["group"], made["name"]) == (None, None, None)
    assert made["phone"] == {"primary": None, "secondary": None}


def test_what_is_wrong_with_a_contact_is_said_all_at_once(dora: Client) -> None:
    sent = {"name": "J", "email": "nowhere", "group": "x" * 51, "phone": {"primary": 5}}
    assert errors(dora.post(PATH, json=sent)) == [
        ("email", "Must be a valid email address"),
        ("group", "Length must be 2-50 characters"),
        ("name", "Length must be 2-64 characters"),
        ("phone.primary", "Must be of type String"),
    ]
    refused = dora.post(PATH, json={"name": "Jo <b>"})
    assert [field for field, _ in errors(refused)] == ["name"]
    assert dora.get(PATH).json()["results"] == 0


def test_contacts_are_filtered_by_group_and_by_nothing_else(dora: Client) -> None:
    for group in ("red", "blue", "red"):
        dora.post(PATH, json={"group": group})
    page = dora.get(PATH, headers={"X-Filter": '{"group": "red"}'}).json()
    assert [contact["id"] for contact in page["data"]] == [1, 3]
    refused = dora.get(PATH, headers={"X-Filter": '{"name": "x"}'})
    assert errors(refused) == [("X-Filter", "Cannot filter on name")]


def test_somebody_elses_contact_is_not_there(cloud: Cloud, dora: Client) -> None:
    dora.post(PATH, json={"name": "Jo"})
    other = cloud.person(username="mallory", managed=True)
    for answer in (other.get(f"{PATH}/1"), other.put(f"{PATH}/1", json={}), other.delete(f"{PATH}/1")):
        assert answer.status_code == 404
    assert other.get(PATH).json()["results"] == 0
    assert dora.get(f"{PATH}/1").json()["name"] == "Jo"


def test_viewing_one_contact_needs_the_scope_of_a_change(cloud: Cloud, dora: Client) -> None:
    dora.post(PATH, json={"name": "Jo"})
    reader = cloud.client(cloud.token("dora", "account:read_only"))
    assert reader.get(PATH).status_code == 200
    assert reader.get(f"{PATH}/1").status_code == 403
    assert reader.post(PATH, json={}).status_code == 403
