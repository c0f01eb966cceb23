"""The serial console of an instance: a token, a web socket, and what closes it."""

from __future__ import annotations

import json

import pytest
from httpx2 import Client

from crofter.clock import MINUTE
from tests.cloud import Cloud
from tests.resources.compute import INSTANCES, NOT_FOUND, UNAUTHORIZED, act, deploy
from tests.resources.serial import Closed, Terminal, joined, sign_in, token_of

OFF = Closed(4409, "The instance is off.")


@pytest.mark.both
def test_a_console_answers_what_is_typed(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = deploy(cloud, alice)
    cloud.advance(3 * 3600)
    with joined(cloud, token_of(alice, own)) as terminal:
        assert f"i-{own} login: " in terminal.expect("login: ")
        terminal.type("root\r")
        terminal.expect("Password: ")
        terminal.type("secret\r")
        assert "secret" not in terminal.expect(f"root@i-{own}:~# ")
        terminal.type("uname\r")
        assert terminal.expect("# ").split("\r\n")[:2] == ["uname", "Linux"]
        terminal.type("uptime\r")
        assert " up 3:0" in terminal.expect("# ")
        terminal.type("exit\r")
        terminal.expect(f"i-{own} login: ")


def test_the_token_is_one_for_one_instance_and_for_a_minute(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    first, second = deploy(cloud, alice), deploy(cloud, alice)
    token = token_of(alice, first)
    with joined(cloud, token) as terminal:
        assert f"i-{first} " in terminal.expect("login: ")
    middle = len(token) // 2
    altered = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]
    for bad in (altered, token[:-8], token + "AAAA", "x", "%00", "A" * 5000, token_of(alice, second) + token):
        assert Terminal(cloud.url, bad).end().code == 401
    cloud.advance(MINUTE / 1000)
    refused = Terminal(cloud.url, token).end()
    assert (refused.code, json.loads(refused.reason)) == (401, {"errors": [{"reason": "Invalid Token"}]})


def test_somebody_elses_instance_has_no_console(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = deploy(cloud, alice)
    answer = mallory.post(f"{INSTANCES}/{own}/lish_token")
    assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


def test_a_restricted_user_needs_to_be_able_to_change_the_instance(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com", "restricted": True})
    bob = cloud.client(cloud.token("bob"))
    path = f"{INSTANCES}/{own}/lish_token"
    for level, expected in ((None, 403), ("read_only", 403), ("read_write", 200)):
        grants = {"compute": [{"id": own, "permissions": level}]}
        assert alice.put("/v4/account/users/bob/grants", json=grants).status_code == 200
        answer = bob.post(path)
        assert answer.status_code == expected
        assert expected == 200 or answer.json() == UNAUTHORIZED
    with joined(cloud, answer.json()["lish_token"]) as terminal:
        sign_in(terminal)
        lesser = {"compute": [{"id": own, "permissions": "read_only"}]}
        assert alice.put("/v4/account/users/bob/grants", json=lesser).status_code == 200
        assert terminal.end() == Closed(4403, "Unauthorized")
    assert Terminal(cloud.url, answer.json()["lish_token"]).end().code == 403


def test_a_console_ends_with_the_token_that_it_was_asked_for_with(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    made = alice.post("/v4/profile/tokens", json={"label": "console", "scopes": "computes:read_write"}).json()
    token = token_of(cloud.client(made["token"]), own)
    with joined(cloud, token) as terminal:
        terminal.expect("login: ")
        assert alice.delete(f"/v4/profile/tokens/{made['id']}").status_code == 200
        assert terminal.end() == Closed(4401, "Invalid Token")
    assert Terminal(cloud.url, token).end().code == 401


def test_an_instance_that_is_off_says_so(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    with joined(cloud, token_of(alice, own)) as terminal:
        terminal.expect("login: ")
        act(alice, own, "shutdown")
        cloud.settle()
        assert terminal.end() == OFF
    with joined(cloud, token_of(alice, own)) as terminal:
        assert terminal.end() == OFF


def test_a_reboot_ends_the_connection_and_the_next_one_meets_the_new_system(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    with joined(cloud, token_of(alice, own)) as terminal:
        sign_in(terminal)
        act(alice, own, "reboot")
        cloud.settle()
        ended = terminal.end()
        assert (ended.code, "ended" in ended.reason or ended == OFF) == (4409, True)
    with joined(cloud, token_of(alice, own)) as terminal:
        terminal.expect("login: ")


def test_a_host_that_does_not_answer_says_so(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("region_outage", region="us-east")
    with joined(cloud, token_of(alice, own)) as terminal:
        ended = terminal.end()
        assert (ended.code, "does not answer" in ended.reason) == (4503, True)


def test_the_console_of_a_deleted_instance_is_not_found(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    token = token_of(alice, own)
    assert alice.delete(f"{INSTANCES}/{own}").status_code == 200
    cloud.settle()
    assert Terminal(cloud.url, token).end().code == 404
