"""Transfers between two accounts, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client, Response

from crofter import clock
from tests.cloud import Cloud
from tests.observed import errors, mails
from tests.resources.money import books_are_in_order, done, instance, rows, stand_at
from tests.resources.stock import Stock

NAMES = ("service-transfers", "entity-transfers")
ROOT = "correct-horse-battery"


def offer(client: Client, *numbers: int, name: str = NAMES[0]) -> dict[str, Any]:
    return done(client.post(f"/v4/account/{name}", json={"entities": {"computes": list(numbers)}}))


def refused(client: Client, *numbers: int) -> list[tuple[str | None, str]]:
    answer = client.post(f"/v4/account/{NAMES[0]}", json={"entities": {"computes": list(numbers)}})
    assert answer.status_code == 400, answer.text
    return errors(answer)


def accept(client: Client, token: str) -> Response:
    return client.post(f"/v4/account/service-transfers/{token}/accept")


def status(client: Client, token: str) -> str:
    return str(done(client.get(f"/v4/account/service-transfers/{token}"))["status"])


def transfer_events(client: Client) -> list[tuple[str, str | None]]:
    """Return action and user of the transfer events, newest first."""
    events = client.get("/v4/account/events").json()["data"]
    return [(event["action"], event["username"]) for event in events if event["action"].startswith("entity_transfer")]


@pytest.fixture
def bob(cloud: Cloud) -> Client:
    """The owner of the account that receives."""
    return cloud.person(username="bob-receives")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.both
def test_an_instance_changes_hands(cloud: Cloud, alice: Client, bob: Client, name: str) -> None:
    cloud.freeze()
    number = instance(alice, label="web-1", image="compute/debian12", root_pass=ROOT, tags=["mine"])
    cloud.settle()
    made = offer(alice, number, name=name)
    assert made == {
        "created": made["created"],
        "entities": {"computes": [number]},
        "expiry": clock.text(clock.parse(made["created"]) + clock.DAY),
        "is_sender": True,
        "status": "pending",
        "token": made["token"],
        "updated": made["created"],
    }
    url = f"/v4/account/{name}/{made['token']}"
    assert alice.get(url).json() == made
    assert bob.get(url).json() == {**made, "is_sender": False}
    assert made["token"] in mails(cloud)[0]["text"]
    assert bob.post(f"{url}/accept").json() == {}
    assert alice.get(url).json()["status"] == "accepted"
    cloud.settle()
    assert alice.get(url).json()["status"] == bob.get(url).json()["status"] == "completed"
    assert alice.get(f"/v4/compute/instances/{number}").status_code == 404
    moved = done(bob.get(f"/v4/compute/instances/{number}"))
    assert (moved["label"], moved["status"], moved["tags"]) == ("web-1", "running", [])
    assert alice.get("/v4/compute/instances").json()["results"] == 0
    assert bob.get("/v4/compute/instances").json()["results"] == 1
    for part in ("disks", "configs"):
        assert bob.get(f"/v4/compute/instances/{number}/{part}").json()["results"] > 0
    assert bob.get(f"/v4/compute/instances/{number}/ips").json()["ipv4"]["public"][0]["compute_id"] == number
    assert transfer_events(alice) == [("entity_transfer_accept", None), ("entity_transfer_create", "alice")]
    assert transfer_events(bob) == [("entity_transfer_accept", "bob-receives")]
    done(bob.post(f"/v4/compute/instances/{number}/reboot"))
    cloud.settle()
    assert done(bob.get(f"/v4/compute/instances/{number}"))["status"] == "running"


def test_both_names_are_the_same_records(alice: Client) -> None:
    token = offer(alice, instance(alice))["token"]
    assert alice.get(f"/v4/account/entity-transfers/{token}").headers["warning"].startswith("299 ")
    for name in NAMES:
        assert [transfer["token"] for transfer in alice.get(f"/v4/account/{name}").json()["data"]] == [token]
    assert alice.delete(f"/v4/account/entity-transfers/{token}").json() == {}
    assert status(alice, token) == "cancelled"


def test_transfers_can_be_filtered_by_side_and_status(cloud: Cloud, alice: Client, bob: Client) -> None:
    token = offer(alice, instance(alice))["token"]
    assert accept(bob, token).status_code == 200
    cloud.settle()
    mine = offer(bob, instance(bob))["token"]

    def filtered(filter: str) -> list[str]:
        listed = bob.get("/v4/account/service-transfers", headers={"X-Filter": filter}).json()
        return [transfer["token"] for transfer in listed["data"]]

    assert filtered('{"is_sender": true}') == [mine]
    assert filtered('{"is_sender": false}') == [token]
    assert filtered('{"status": "completed"}') == [token]
    assert filtered('{"status": "pending", "is_sender": false}') == []


def test_what_is_asked_for_must_be_of_the_right_shape(alice: Client) -> None:
    def asked(body: Any) -> list[tuple[str | None, str]]:
        return errors(alice.post("/v4/account/service-transfers", json=body))

    assert asked({}) == [("entities", "entities is required")]
    assert asked({"entities": {}}) == [("entities.computes", "computes is required")]
    assert asked({"entities": {"computes": "1"}}) == [("entities.computes", "Must be of type Array")]
    assert asked({"entities": {"computes": ["x"]}}) == [("entities.computes[0]", "Must be of type Integer")]
    assert asked({"entities": {"computes": []}})[0][0] == "entities.computes"


def test_only_ones_own_instances_can_be_offered(alice: Client, mallory: Client) -> None:
    own, other = instance(alice), instance(mallory)
    reason = [("entities.computes", "You do not have permission to access this Compute")]
    assert refused(alice, own, other) == refused(alice, own, 4711) == reason
    assert alice.get("/v4/account/service-transfers").json()["results"] == 0


def test_an_instance_is_in_one_open_transfer_at_most(cloud: Cloud, alice: Client, bob: Client) -> None:
    cloud.freeze()
    first, second = instance(alice), instance(alice)
    token = offer(alice, first)["token"]
    assert refused(alice, second, first) == [("entities.computes", f"Compute {first} is in another transfer already")]
    alice.delete(f"/v4/account/service-transfers/{token}")
    token = offer(alice, first, second, second)["token"]
    assert accept(bob, token).status_code == 200
    assert len(refused(alice, first)) == 1
    cloud.settle()
    offer(bob, first)


def test_whatever_is_attached_keeps_an_instance(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    vlan = {"purpose": "vlan", "label": "inner", "ipam_address": "10.0.0.1/24"}
    number = instance(
        alice,
        region="us-southeast",
        image="compute/debian12",
        root_pass=ROOT,
        private_ip=True,
        interfaces=[{"purpose": "public"}, vlan],
    )
    cloud.settle()
    shown = done(alice.get(f"/v4/compute/instances/{number}"))
    done(alice.post("/v4/account/settings/managed-enable"))
    body = {"label": "web", "service_type": "tcp", "address": f"{shown['ipv4'][0]}:80", "timeout": 10}
    done(alice.post("/v4/managed/services", json=body))
    stock = Stock(cloud, "alice")
    stock.volume(number, region="us-southeast")
    stock.firewall(number)
    private = next(address for address in shown["ipv4"] if address.startswith("192.168."))
    stock.nodebalancer(private, region="us-southeast")
    assert refused(alice, number) == [
        ("entities.computes", f"Compute {number} {reason}")
        for reason in (
            "is a node of a NodeBalancer",
            "has a firewall",
            "has a VLAN attached",
            "has a managed service",
            "has volumes attached",
        )
    ]
    other = instance(alice)
    assert offer(alice, other)["status"] == "pending"  # managed service of the account alone is no obstacle


def test_what_was_attached_later_is_found_when_the_transfer_is_accepted(
    cloud: Cloud, alice: Client, bob: Client
) -> None:
    cloud.freeze()
    number = instance(alice)
    token = offer(alice, number)["token"]
    done(alice.post("/v4/account/settings/managed-enable"))
    address = done(alice.get(f"/v4/compute/instances/{number}"))["ipv4"][0]
    body = {"label": "web", "service_type": "tcp", "address": f"{address}:80", "timeout": 10}
    service = done(alice.post("/v4/managed/services", json=body))["id"]
    answer = accept(bob, token)
    assert (answer.status_code, errors(answer)) == (400, [(None, f"Compute {number} has a managed service")])
    assert status(bob, token) == "pending"
    done(alice.delete(f"/v4/managed/services/{service}"))
    assert accept(bob, token).status_code == 200


def test_an_account_in_debt_neither_sends_nor_receives(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    debtor = cloud.person(username="carol", card="declined")
    number = instance(debtor)
    token = offer(debtor, number)["token"]
    other = offer(alice, instance(alice))["token"]
    cloud.advance(3600)
    assert debtor.post("/v4/account/cancel").status_code == 409  # now there is a bill that was not paid
    past_due = "The account that sends the transfer has a past due balance"
    own = "Your account has a past due balance. Please pay it first."
    for client, offered, reason in ((alice, token, past_due), (debtor, other, own)):
        answer = accept(client, offered)
        assert (answer.status_code, errors(answer)) == (400, [(None, reason)])
    debtor.delete(f"/v4/account/service-transfers/{token}")
    assert refused(debtor, number) == [(None, past_due)]


def test_who_receives_needs_a_card(cloud: Cloud, alice: Client) -> None:
    token = offer(alice, instance(alice))["token"]
    poor = cloud.person(username="carol", card="none")
    assert errors(accept(poor, token)) == [(None, "A payment method is needed to accept a transfer.")]


def test_nobody_accepts_their_own_offer(alice: Client) -> None:
    token = offer(alice, instance(alice))["token"]
    answer = accept(alice, token)
    own = "A transfer cannot be accepted by the account that sent it."
    assert (answer.status_code, errors(answer)) == (400, [(None, own)])
    assert status(alice, token) == "pending"


def test_who_sees_a_transfer_depends_on_how_far_it_is(
    cloud: Cloud, alice: Client, bob: Client, mallory: Client
) -> None:
    cloud.freeze()
    everybody = (alice, bob, mallory)

    def seen(token: str) -> list[int]:
        return [client.get(f"/v4/account/service-transfers/{token}").status_code for client in everybody]

    token = offer(alice, instance(alice))["token"]
    assert seen(token) == [200, 200, 200]
    assert mallory.get("/v4/account/service-transfers").json()["results"] == 0
    assert accept(bob, token).status_code == 200
    assert seen(token) == [200, 200, 404]
    assert accept(mallory, token).status_code == 404
    cloud.settle()
    assert seen(token) == [200, 200, 404]
    gone = offer(alice, instance(alice))["token"]
    assert mallory.delete(f"/v4/account/service-transfers/{gone}").status_code == 404
    assert alice.delete(f"/v4/account/service-transfers/{gone}").status_code == 200
    assert seen(gone) == [200, 404, 404]
    assert bob.get("/v4/account/service-transfers/no-such-token").status_code == 404


def test_only_what_is_pending_can_be_accepted_or_cancelled(cloud: Cloud, alice: Client, bob: Client) -> None:
    cloud.freeze()
    token = offer(alice, instance(alice))["token"]
    url = f"/v4/account/service-transfers/{token}"
    assert accept(bob, token).status_code == 200
    assert (accept(bob, token).status_code, alice.delete(url).status_code) == (400, 400)
    cloud.settle()
    assert (accept(bob, token).status_code, alice.delete(url).status_code) == (400, 400)
    assert [action for action, _ in transfer_events(alice)] == ["entity_transfer_accept", "entity_transfer_create"]


def test_an_offer_is_good_for_a_day(cloud: Cloud, alice: Client, bob: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    token = offer(alice, number)["token"]
    cloud.advance(86399)
    assert status(bob, token) == "pending"
    cloud.advance(1)
    assert status(alice, token) == "stale"
    assert (accept(bob, token).status_code, accept(alice, token).status_code) == (404, 400)
    assert transfer_events(alice)[0] == ("entity_transfer_stale", None)
    offer(alice, number)


def test_restricted_users_have_no_part_in_it(cloud: Cloud, alice: Client) -> None:
    token = offer(alice, instance(alice))["token"]
    body = {"username": "rita", "email": "rita@example.com", "restricted": True}
    done(alice.post("/v4/account/users", json=body))
    done(alice.put("/v4/account/users/rita/grants", json={"global": {"account_access": "read_write"}}))
    rita = cloud.client(cloud.token("rita"))
    url = "/v4/account/service-transfers"
    answers = (rita.get(url), rita.get(f"{url}/{token}"), rita.delete(f"{url}/{token}"), accept(rita, token))
    assert {answer.status_code for answer in answers} == {403}


def test_grants_tags_and_managed_settings_stay_behind(cloud: Cloud, bob: Client) -> None:
    cloud.freeze()
    alice = cloud.person(username="alice", managed=True)
    number = instance(alice, tags=["mine"])
    done(alice.post("/v4/account/users", json={"username": "rita", "email": "rita@example.com", "restricted": True}))
    grants = {"compute": [{"id": number, "permissions": "read_write"}]}
    done(alice.put("/v4/account/users/rita/grants", json=grants))
    done(alice.put(f"/v4/managed/compute-settings/{number}", json={"ssh": {"user": "alice"}}))
    ticket = done(
        alice.post("/v4/support/tickets", json={"summary": "Slow", "description": "Very.", "compute_id": number})
    )
    accept(bob, offer(alice, number)["token"])
    cloud.settle()
    rita = cloud.client(cloud.token("rita"))
    assert rita.get(f"/v4/compute/instances/{number}").status_code == 404
    assert rows(cloud, f"SELECT 1 FROM user_grant WHERE object_id = {number}") == []
    assert rows(cloud, f"SELECT 1 FROM tagged WHERE object_id = {number}") == []
    assert rows(cloud, f"SELECT 1 FROM managed_compute_setting WHERE compute_id = {number}") == []
    assert alice.get("/v4/tags").json()["results"] == 1
    assert alice.get(f"/v4/support/tickets/{ticket['id']}").status_code == 200
    assert bob.get("/v4/support/tickets").json()["results"] == 0


def test_backups_go_along_and_are_made_for_the_new_owner(cloud: Cloud, alice: Client, bob: Client) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    number = instance(alice, image="compute/debian12", root_pass=ROOT, backups_enabled=True)
    cloud.settle()
    cloud.advance(600)
    done(alice.post(f"/v4/compute/instances/{number}/backups", json={"label": "before"}))
    cloud.settle()
    accept(bob, offer(alice, number)["token"])
    cloud.settle()
    kept = done(bob.get(f"/v4/compute/instances/{number}/backups"))["snapshot"]["current"]
    assert (kept["label"], kept["status"]) == ("before", "successful")
    before = alice.get("/v4/account/events").json()["results"]
    cloud.advance(2 * 86400)
    assert alice.get("/v4/account/events").json()["results"] == before
    assert len(done(bob.get(f"/v4/compute/instances/{number}/backups"))["automatic"]) > 0


def test_a_label_that_is_taken_gets_the_number_of_the_instance_behind_it(
    cloud: Cloud, alice: Client, bob: Client
) -> None:
    cloud.freeze()
    long = "w" * 60 + "-x.y"
    first, second = instance(alice, label="web"), instance(alice, label=long)
    for label in ("web", f"web-{first}", long):
        instance(bob, label=label)
    accept(bob, offer(alice, first, second)["token"])
    cloud.settle()
    assert done(bob.get(f"/v4/compute/instances/{first}"))["label"] == f"web-{first}-{first}"
    renamed = done(bob.get(f"/v4/compute/instances/{second}"))["label"]
    assert len(renamed) <= 64
    assert renamed.endswith(f"-{second}")


def test_billing_changes_hands_with_the_instance_and_no_hour_is_paid_twice(
    cloud: Cloud, alice: Client, bob: Client
) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    number = instance(alice, backups_enabled=True)
    cloud.advance(10 * 3600 + 1200)
    accept(bob, offer(alice, number)["token"])
    cloud.settle()
    paid = alice.get("/v4/account").json()["balance_uninvoiced"]
    assert paid == round(0.08 + 0.03, 2)  # eleven begun hours of 0.0075 and 0.003
    cloud.advance(20 * 3600)
    assert alice.get("/v4/account").json()["balance_uninvoiced"] == paid
    assert bob.get("/v4/account").json()["balance_uninvoiced"] == round(0.15 + 0.06, 2)  # twenty
    hours = rows(cloud, f"SELECT account_id, began, ended FROM meter WHERE object_id = {number} ORDER BY id")
    assert len({tuple(row) for row in hours}) == 2
    assert rows(cloud, "SELECT label FROM meter WHERE ended IS NULL AND what = 'compute'")[0][0].endswith(f"({number})")
    books_are_in_order(cloud)


def test_a_deleted_instance_makes_the_whole_transfer_fail_and_the_others_stay(
    cloud: Cloud, alice: Client, bob: Client
) -> None:
    cloud.freeze()
    first, second = instance(alice), instance(alice)
    token = offer(alice, first, second)["token"]
    assert accept(bob, token).status_code == 200
    done(alice.delete(f"/v4/compute/instances/{second}"))
    cloud.settle()
    assert status(alice, token) == status(bob, token) == "failed"
    assert alice.get(f"/v4/compute/instances/{first}").status_code == 200
    assert bob.get("/v4/compute/instances").json()["results"] == 0
    assert transfer_events(alice)[0][0] == transfer_events(bob)[0][0] == "entity_transfer_fail"
    offer(alice, first)


def test_a_deleted_instance_cannot_be_accepted(cloud: Cloud, alice: Client, bob: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    token = offer(alice, number)["token"]
    done(alice.delete(f"/v4/compute/instances/{number}"))
    assert errors(accept(bob, token)) == [(None, f"Compute {number} is being deleted")]
    cloud.settle()
    assert errors(accept(bob, token)) == [(None, "A Compute of this transfer is not there any more")]


def test_a_busy_instance_is_waited_for(cloud: Cloud, alice: Client, bob: Client) -> None:
    cloud.freeze()
    number = instance(alice, image="compute/debian12", root_pass=ROOT)
    cloud.settle()
    token = offer(alice, number)["token"]
    cloud.sandbox.put("/_sandbox/transitions", json={"compute_reboot": {"seconds": 60}})
    done(alice.post(f"/v4/compute/instances/{number}/reboot"))
    assert accept(bob, token).status_code == 200
    cloud.advance(20)
    assert status(bob, token) == "accepted"
    cloud.settle()
    assert status(bob, token) == "completed"
    reboots = [event for event in alice.get("/v4/account/events").json()["data"] if event["action"] == "compute_reboot"]
    assert [event["status"] for event in reboots] == ["finished"]


def test_a_closed_account_receives_nothing_and_offers_nothing(cloud: Cloud, alice: Client, bob: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    token = offer(alice, number)["token"]
    assert accept(bob, token).status_code == 200
    assert bob.post("/v4/account/cancel").status_code == 200
    cloud.settle()
    assert status(alice, token) == "failed"
    other = offer(alice, number)["token"]
    assert alice.post("/v4/account/cancel").status_code == 200
    assert accept(cloud.person(), other).status_code == 404
