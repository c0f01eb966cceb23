"""Two-factor authentication: set up through HTTP, checked as the login service does."""

from __future__ import annotations

import pyotp
import pytest
from httpx2 import Client

from crofter.db import query
from crofter.db.sql import select
from crofter.resources.profile.two_factor.store import accepts
from crofter.resources.users.store import BY_USERNAME, user
from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.resources.test_profile import trust


def code(cloud: Cloud, secret: str, steps: int = 0) -> str:
    return pyotp.TOTP(secret).at(cloud.runtime.clock.now() // 1000 + 30 * steps)


def begin(cloud: Cloud, client: Client) -> str:
    """A secret of which no code is that of another moment, too, as one in a thousand has it."""
    while True:
        secret = str(client.post("/v4/profile/tfa-enable").json()["secret"])
        if len({code(cloud, secret, steps) for steps in range(-20, 21)}) == 41:
            return secret


def enable(cloud: Cloud, client: Client) -> tuple[str, str]:
    secret = begin(cloud, client)
    confirmed = client.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": code(cloud, secret)})
    assert confirmed.status_code == 200, confirmed.text
    return secret, confirmed.json()["scratch"]


def lets_in(cloud: Cloud, given: str, username: str = "alice") -> bool:
    with cloud.runtime.database.write() as db:
        return accepts(cloud.runtime, db, db.one(BY_USERNAME, username=username).id, given)


@pytest.mark.both
def test_two_factor_is_enabled_by_a_code_of_the_new_secret(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    begun = alice.post("/v4/profile/tfa-enable").json()
    assert len(begun["secret"]) == 32
    assert set(begun) == {"secret", "expiry"}
    assert alice.get("/v4/profile").json()["two_factor_auth"] is False
    assert actions(alice) == []
    confirmed = alice.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": code(cloud, begun["secret"])})
    assert set(confirmed.json()) == {"scratch"}
    assert alice.get("/v4/profile").json()["two_factor_auth"] is True
    assert alice.get("/v4/account/users/alice").json()["tfa_enabled"] is True
    assert actions(alice) == ["tfa_enabled"]
    assert alice.post("/v4/profile/tfa-disable").json() == {}
    assert alice.get("/v4/profile").json()["two_factor_auth"] is False
    assert actions(alice) == ["tfa_disabled", "tfa_enabled"]
    assert alice.post("/v4/profile/tfa-disable").json() == {}
    assert len(actions(alice)) == 2


def test_a_wrong_code_confirms_nothing(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    secret = begin(cloud, alice)
    for wrong in (code(cloud, secret, 5), "", "12345", "é" * 6):
        answer = alice.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": wrong})
        assert answer.status_code == 400
        assert [field for field, _ in errors(answer)] == ["tfa_code"]
    assert errors(alice.post("/v4/profile/tfa-enable-confirm", json={})) == [("tfa_code", "tfa_code is required")]
    assert alice.get("/v4/profile").json()["two_factor_auth"] is False


def test_a_secret_waits_a_day_to_be_confirmed(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    secret = begin(cloud, alice)
    cloud.advance(86400)
    answer = alice.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": code(cloud, secret)})
    assert errors(answer) == [("tfa_code", "There is no secret to confirm, or it has expired")]


def test_a_code_is_good_once(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    secret, _ = enable(cloud, alice)
    assert not lets_in(cloud, code(cloud, secret))
    cloud.advance(30)
    assert lets_in(cloud, code(cloud, secret))
    assert not lets_in(cloud, code(cloud, secret))
    assert not lets_in(cloud, code(cloud, secret, -1))


def test_clocks_may_differ_by_one_step_and_no_more(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    secret, _ = enable(cloud, alice)
    cloud.advance(300)
    assert not lets_in(cloud, code(cloud, secret, -2))
    assert not lets_in(cloud, code(cloud, secret, 2))
    assert lets_in(cloud, code(cloud, secret, -1))
    spaced = code(cloud, secret, 1)
    assert lets_in(cloud, f"{spaced[:3]} {spaced[3:]}")
    assert not lets_in(cloud, code(cloud, secret))


def test_the_scratch_code_lets_in_once(cloud: Cloud, alice: Client) -> None:
    _, scratch = enable(cloud, alice)
    assert not lets_in(cloud, scratch[:-1])
    assert lets_in(cloud, scratch)
    assert not lets_in(cloud, scratch)


def test_without_a_second_factor_no_code_lets_in(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    secret = begin(cloud, alice)
    assert not lets_in(cloud, code(cloud, secret))


def test_a_new_secret_replaces_the_old_one_only_when_confirmed(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    old, _ = enable(cloud, alice)
    new = begin(cloud, alice)
    cloud.advance(60)
    assert not lets_in(cloud, code(cloud, new))
    assert lets_in(cloud, code(cloud, old))
    assert alice.get("/v4/profile").json()["two_factor_auth"] is True
    alice.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": code(cloud, new)})
    cloud.advance(60)
    assert not lets_in(cloud, code(cloud, old))
    assert lets_in(cloud, code(cloud, new))


def test_trust_in_browsers_ends_with_the_factor_that_they_skipped(cloud: Cloud, alice: Client) -> None:
    trust(cloud, "alice")
    enable(cloud, alice)
    assert alice.get("/v4/profile/devices").json()["results"] == 0


def test_the_secret_is_sealed_and_the_scratch_code_hashed(cloud: Cloud, alice: Client) -> None:
    secret, scratch = enable(cloud, alice)
    kept = (user.c.tfa_secret, user.c.tfa_scratch)
    with cloud.runtime.database.read() as db:
        rows = b" ".join(bytes(value) for column in kept for value in db.column(query(select(column))) if value)
    assert len(rows) > 64
    assert secret.encode() not in rows
    assert scratch.encode() not in rows


def test_a_second_factor_needs_the_scope_of_the_account(cloud: Cloud, alice: Client) -> None:
    reader = cloud.client(cloud.token("alice", "account:read_only"))
    for path in ("tfa-enable", "tfa-enable-confirm", "tfa-disable"):
        assert reader.post(f"/v4/profile/{path}", json={}).status_code == 403
