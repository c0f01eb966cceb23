"""Logins, through HTTP. They are put on record the way the login service does it."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter import clock
from crofter.db import query
from crofter.db.sql import select
from crofter.resources.logins.store import login, note
from crofter.resources.users.store import BY_USERNAME
from tests.cloud import Cloud

DAY = 86400


def log_in(cloud: Cloud, username: str, ip: str = "192.0.2.7", *, successful: bool = True) -> int:
    with cloud.runtime.database.write() as db:
        user = db.one(BY_USERNAME, username=username)
        return note(
            cloud.runtime,
            db,
            account_id=user.account_id,
            user_id=user.id,
            username=user.username,
            restricted=user.restricted,
            ip=ip,
            successful=successful,
        )


def add_bob(cloud: Cloud, owner: Client) -> Client:
    answer = owner.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    assert answer.status_code == 200
    return cloud.client(cloud.token("bob"))


def ids(answer: Any) -> list[int]:
    return [login["id"] for login in answer.json()["data"]]


@pytest.mark.both
def test_logins_are_listed_newest_first(cloud: Cloud, alice: Client) -> None:
    add_bob(cloud, alice)
    first, second = log_in(cloud, "alice"), log_in(cloud, "bob", "2001:db8::1", successful=False)
    answer = alice.get("/v4/account/logins")
    assert ids(answer) == [second, first]
    assert answer.json()["results"] == 2
    shown = dict(answer.json()["data"][0])
    moment = shown.pop("datetime")
    assert len(moment) == len("2026-03-01T12:00:00")
    assert shown == {"id": second, "ip": "2001:db8::1", "restricted": True, "status": "failed", "username": "bob"}
    assert alice.get(f"/v4/account/logins/{first}").json()["status"] == "successful"
    assert alice.get("/v4/account/logins/").json() == answer.json()


def age(cloud: Cloud, login_id: int, seconds: int) -> None:
    """Make a login one of long ago: quicker than living through three months."""
    at = clock.text(cloud.runtime.clock.now() - seconds * clock.SECOND)
    with cloud.runtime.database.write() as db:
        db.update(login, {"id": login_id}, at=at)


def test_logins_can_be_read_for_ninety_days(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    old, edge, new = (log_in(cloud, "alice") for _ in range(3))
    age(cloud, old, 90 * DAY + 1)
    age(cloud, edge, 90 * DAY)
    for path in ("/v4/account/logins", "/v4/profile/logins"):
        assert ids(alice.get(path)) == [new, edge]
        assert alice.get(f"{path}/{old}").status_code == 404
        assert alice.get(f"{path}/{edge}").status_code == 200


def test_only_unrestricted_users_read_the_logins_of_all(cloud: Cloud, alice: Client) -> None:
    bob = add_bob(cloud, alice)
    alice.put("/v4/account/users/bob/grants", json={"global": {"account_access": "read_write"}})
    alices, bobs = log_in(cloud, "alice"), log_in(cloud, "bob")
    for path in ("/v4/account/logins", f"/v4/account/logins/{bobs}"):
        refused = bob.get(path)
        assert refused.status_code == 403
        assert refused.json() == {"errors": [{"reason": "Unauthorized"}]}
    assert ids(bob.get("/v4/profile/logins")) == [bobs]
    assert bob.get(f"/v4/profile/logins/{bobs}").status_code == 200
    assert bob.get(f"/v4/profile/logins/{alices}").status_code == 404
    assert ids(alice.get("/v4/profile/logins")) == [alices]


def test_logins_of_another_account_are_not_there(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = log_in(cloud, "alice")
    assert mallory.get("/v4/account/logins").json()["results"] == 0
    assert mallory.get(f"/v4/account/logins/{own}").status_code == 404
    assert mallory.get(f"/v4/profile/logins/{own}").status_code == 404


def test_logins_outlive_a_change_of_name_and_the_user_itself(cloud: Cloud, alice: Client) -> None:
    add_bob(cloud, alice)
    login = log_in(cloud, "bob")
    alice.put("/v4/account/users/bob", json={"username": "robert"})
    assert alice.get(f"/v4/account/logins/{login}").json()["username"] == "bob"
    alice.delete("/v4/account/users/robert")
    assert alice.get(f"/v4/account/logins/{login}").json()["username"] == "bob"


def test_logins_need_the_scope_of_the_account(cloud: Cloud, alice: Client) -> None:
    assert cloud.client(cloud.token("alice", "events:read_only")).get("/v4/account/logins").status_code == 403
    assert cloud.client(cloud.token("alice", "account:read_only")).get("/v4/account/logins").status_code == 200


def test_logins_that_nobody_can_read_are_forgotten(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    old, new = log_in(cloud, "alice"), log_in(cloud, "alice")
    age(cloud, old, 91 * DAY)
    cloud.advance(DAY + 60)
    with cloud.runtime.database.read() as db:
        assert db.column(query(select(login.c.id))) == [new]
