"""The profile, SSH keys, devices and preferences, through HTTP."""

from __future__ import annotations

from base64 import b64encode

import pytest
from httpx2 import Client

from crofter import clock, ssh
from crofter.resources.logins.store import device
from crofter.resources.users.store import BY_USERNAME
from tests.cloud import Cloud
from tests.observed import actions, errors

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfeUOdIeUkKK4zEYS1tJtHg0whT5IDj7xp1EnRzkVGz alice@home"


def add_bob(cloud: Cloud, owner: Client) -> Client:
    answer = owner.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    assert answer.status_code == 200
    return cloud.client(cloud.token("bob"))


def test_a_profile_shows_who_asks(alice: Client) -> None:
    profile = alice.get("/v4/profile").json()
    referrals = profile.pop("referrals")
    assert profile.pop("uid") > 0
    assert profile == {
        "authentication_type": "password",
        "authorized_keys": None,
        "email": "alice@example.com",
        "email_notifications": True,
        "ip_whitelist_enabled": False,
        "lish_auth_method": "password_keys",
        "restricted": False,
        "timezone": "UTC",
        "two_factor_auth": False,
        "username": "alice",
    }
    assert {name: referrals[name] for name in ("total", "completed", "pending", "credit")} == {
        "total": 0,
        "completed": 0,
        "pending": 0,
        "credit": 0,
    }
    assert referrals["code"] in referrals["url"]


@pytest.mark.both
def test_a_profile_is_changed_in_part_and_what_is_not_ones_own_is_ignored(cloud: Cloud, alice: Client) -> None:
    bob = add_bob(cloud, alice)
    changed = bob.put(
        "/v4/profile",
        json={
            "email": "robert@example.com",
            "timezone": "Europe/Berlin",
            "lish_auth_method": "keys_only",
            "authorized_keys": [KEY + "\n"],
            "restricted": False,
            "two_factor_auth": True,
            "ip_whitelist_enabled": True,
            "username": "root",
        },
    )
    assert changed.status_code == 200
    profile = changed.json()
    assert profile == bob.get("/v4/profile").json()
    assert profile["email"] == "robert@example.com"
    assert profile["timezone"] == "Europe/Berlin"
    assert profile["authorized_keys"] == [KEY]
    assert profile["email_notifications"] is True
    assert (profile["restricted"], profile["two_factor_auth"], profile["username"]) == (True, False, "bob")
    assert profile["ip_whitelist_enabled"] is False
    event = bob.get("/v4/account/events").json()["data"][0]
    assert event["action"] == "profile_update"
    assert event["entity"] == {"id": None, "label": "bob", "type": "profile", "url": "/v4/profile"}
    assert bob.put("/v4/profile", json={"authorized_keys": None, "timezone": None}).json()["authorized_keys"] is None


def test_a_profile_that_cannot_be_is_refused(alice: Client) -> None:
    answer = alice.put(
        "/v4/profile",
        json={
            "email": "here",
            "timezone": "Middle/Earth",
            "email_notifications": "no",
            "lish_auth_method": "open",
            "authorized_keys": ["ssh-rsa nonsense"],
        },
    )
    assert answer.status_code == 400
    assert [field for field, _ in errors(answer)] == [
        "email",
        "timezone",
        "email_notifications",
        "lish_auth_method",
        "authorized_keys[0]",
    ]
    assert ("timezone", "timezone is not valid") in errors(answer)
    assert ("lish_auth_method", "Must be one of password_keys, keys_only, disabled") in errors(answer)
    assert actions(alice) == []


def test_any_token_sees_the_profile_and_the_account_scope_changes_it(cloud: Cloud, alice: Client) -> None:
    narrow = cloud.client(cloud.token("alice", "computes:read_only"))
    assert narrow.get("/v4/profile").status_code == 200
    assert narrow.get("/v4/profile/grants").status_code == 204
    assert narrow.put("/v4/profile", json={}).status_code == 403
    assert narrow.get("/v4/profile/tokens").status_code == 403
    assert cloud.client(None).get("/v4/profile").status_code == 401


# ---- SSH keys -------------------------------------------------------------------------------------------------------


def test_an_ssh_key_is_added_renamed_and_removed(alice: Client) -> None:
    made = alice.post("/v4/profile/sshkeys", json={"label": "home", "ssh_key": KEY + "\n"}).json()
    assert (made["label"], made["ssh_key"]) == ("home", KEY)
    path = f"/v4/profile/sshkeys/{made['id']}"
    assert alice.get(path).json() == made
    assert alice.get("/v4/profile/sshkeys").json()["data"] == [made]
    assert alice.get("/v4/account/users/alice").json()["ssh_keys"] == ["home"]
    renamed = alice.put(path, json={"label": "office", "ssh_key": "ignored"}).json()
    assert renamed == made | {"label": "office"}
    assert alice.delete(path).json() == {}
    assert alice.get(path).status_code == 404
    assert actions(alice) == ["user_ssh_key_delete", "user_ssh_key_update", "user_ssh_key_add"]
    entity = alice.get("/v4/account/events").json()["data"][0]["entity"]
    assert entity == {"id": made["id"], "label": "office", "type": "user_ssh_key", "url": path}


COMPRESSED = (
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAAAhA4l5YbVOvHKTEkcHQ1j0WVvrnHLjUiqG/Dsch//hXDVs"
)
"""A key whose point is written in short, which OpenSSH does not take either."""


def rsa(bits: int) -> str:
    """Return a public key of this length, without a private key."""
    parts = (b"ssh-rsa", b"\x01\x00\x01", (2**bits - 1).to_bytes(bits // 8 + 1, "big"))
    return "ssh-rsa " + b64encode(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).decode()


def test_a_long_rsa_key_is_good(alice: Client) -> None:
    assert alice.post("/v4/profile/sshkeys", json={"label": "home", "ssh_key": rsa(16_384)}).status_code == 200


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfeUOdIeUkKK4zEYS1tJtHg0whT5IDj7xp1EnRzkVGz\nssh-rsa AAAA",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIGfeUOdIeUkKK4zEYS1tJtHg0whT5IDj7xp1EnRzkVGz",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        'command="sh" ' + KEY,
        COMPRESSED,
        rsa(16_384 + 2048),
    ],
)
def test_what_is_no_public_key_is_refused(alice: Client, key: str) -> None:
    answer = alice.post("/v4/profile/sshkeys", json={"label": "home", "ssh_key": key})
    assert answer.status_code == 400
    assert errors(answer) == [("ssh_key", ssh.INVALID)]


def test_labels_of_ssh_keys_have_bounds(alice: Client) -> None:
    answer = alice.post("/v4/profile/sshkeys", json={"label": "x" * 65, "ssh_key": KEY})
    assert errors(answer) == [("label", "Length must be 1-64 characters")]
    assert errors(alice.post("/v4/profile/sshkeys", json={})) == [
        ("label", "label is required"),
        ("ssh_key", "ssh_key is required"),
    ]


def test_ssh_keys_are_each_users_own(cloud: Cloud, alice: Client, mallory: Client) -> None:
    bob = add_bob(cloud, alice)
    made = bob.post("/v4/profile/sshkeys", json={"label": "bobs", "ssh_key": KEY}).json()
    path = f"/v4/profile/sshkeys/{made['id']}"
    for other in (alice, mallory):
        assert other.get(path).status_code == 404
        assert other.put(path, json={"label": "x"}).status_code == 404
        assert other.delete(path).status_code == 404
        assert other.get("/v4/profile/sshkeys").json()["results"] == 0
    assert bob.get(path).json() == made


# ---- devices --------------------------------------------------------------------------------------------------------


def trust(cloud: Cloud, username: str, seconds: int = 3600) -> int:
    """Insert the row of a trusted browser, as the login service does."""
    now = cloud.runtime.clock.now()
    with cloud.runtime.database.write() as db:
        return db.insert(
            device,
            user_id=db.one(BY_USERNAME, username=username).id,
            digest=cloud.runtime.rng.bytes(32),
            user_agent="Firefox",
            created=clock.text(now),
            expiry=clock.text(now + seconds * 1000),
            last_authenticated=clock.text(now),
            last_remote_addr="192.0.2.7",
        )


def test_trusted_devices_are_listed_until_they_expire_and_can_be_forgotten(cloud: Cloud, alice: Client) -> None:
    first, gone = trust(cloud, "alice"), trust(cloud, "alice", -1)
    listed = alice.get("/v4/profile/devices").json()["data"]
    assert [device["id"] for device in listed] == [first]
    assert listed[0]["user_agent"] == "Firefox"
    assert listed[0]["last_remote_addr"] == "192.0.2.7"
    assert set(listed[0]) == {
        "created",
        "expiry",
        "id",
        "last_authenticated",
        "last_remote_addr",
        "user_agent",
    }
    assert alice.get(f"/v4/profile/devices/{gone}").status_code == 404
    assert alice.get(f"/v4/profile/devices/{first}").json() == listed[0]
    assert alice.delete(f"/v4/profile/devices/{first}").json() == {}
    assert alice.get("/v4/profile/devices").json()["results"] == 0


def test_devices_are_each_users_own(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = trust(cloud, "alice")
    assert mallory.get(f"/v4/profile/devices/{own}").status_code == 404
    assert mallory.delete(f"/v4/profile/devices/{own}").status_code == 404
    assert alice.get(f"/v4/profile/devices/{own}").status_code == 200


# ---- preferences ----------------------------------------------------------------------------------------------------


def test_preferences_are_any_object_and_replaced_whole(alice: Client) -> None:
    assert alice.get("/v4/profile/preferences").json() == {}
    document = {"theme": "dark", "columns": [1, 2.5, None, {"deep": True}], "big": 2**60}
    assert alice.put("/v4/profile/preferences", json=document).json() == document
    assert alice.get("/v4/profile/preferences").json() == document
    assert alice.put("/v4/profile/preferences", json={"theme": "light"}).json() == {"theme": "light"}
    assert alice.get("/v4/profile/preferences").json() == {"theme": "light"}
    assert actions(alice) == []


def test_preferences_must_be_a_small_json_object(alice: Client) -> None:
    assert errors(alice.put("/v4/profile/preferences", json=[1])) == [(None, "Must be of type Object")]
    json = {"Content-Type": "application/json"}
    assert errors(alice.put("/v4/profile/preferences", content=b"{", headers=json)) == [(None, "Invalid JSON")]
    assert alice.put("/v4/profile/preferences", json={"x": "y" * 70_000}).status_code == 413
    text = {"Content-Type": "text/plain"}
    assert alice.put("/v4/profile/preferences", content=b"{}", headers=text).status_code == 415


def test_preferences_are_each_users_own(cloud: Cloud, alice: Client, mallory: Client) -> None:
    bob = add_bob(cloud, alice)
    alice.put("/v4/profile/preferences", json={"mine": True})
    for other in (bob, mallory):
        assert other.get("/v4/profile/preferences").json() == {}
    again = cloud.client(cloud.token("alice", "account:read_only"))
    assert again.get("/v4/profile/preferences").json() == {"mine": True}
    assert again.put("/v4/profile/preferences", json={}).status_code == 403
