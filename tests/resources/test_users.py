"""Users and their grants, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter import registry
from crofter.resources.users.grants.shapes import KINDS
from tests.cloud import Cloud
from tests.observed import actions, errors, mails
from tests.resources.stock import Stock

NOBODY = {"errors": [{"reason": "Unauthorized"}]}


def invite(owner: Client, username: str = "bob", **more: Any) -> dict[str, Any]:
    body = {"username": username, "email": f"{username}@example.com", **more}
    answer = owner.post("/v4/account/users", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.both
def test_a_user_is_created_restricted_and_invited_by_mail(cloud: Cloud, alice: Client) -> None:
    assert invite(alice) == {
        "email": "bob@example.com",
        "restricted": True,
        "ssh_keys": [],
        "tfa_enabled": False,
        "username": "bob",
    }
    assert [user["username"] for user in alice.get("/v4/account/users").json()["data"]] == ["alice", "bob"]
    assert alice.get("/v4/account/users/bob").json()["email"] == "bob@example.com"
    cloud.settle()
    assert [mail["to"] for mail in mails(cloud)] == ["bob@example.com"]
    event = alice.get("/v4/account/events").json()["data"][0]
    assert event["action"] == "user_create"
    assert event["entity"]["label"] == "bob"
    assert event["entity"]["url"] == "/v4/account/users/bob"


def test_what_cannot_be_a_user_is_refused_with_every_reason(alice: Client) -> None:
    answer = alice.post("/v4/account/users", json={"username": "a", "email": "nowhere", "restricted": "yes"})
    assert answer.status_code == 400
    assert errors(answer) == [
        ("username", "Length must be 3-32 characters"),
        ("email", "Must be a valid email address"),
        ("restricted", "Must be of type Boolean"),
    ]
    assert errors(alice.post("/v4/account/users", json={})) == [
        ("username", "username is required"),
        ("email", "email is required"),
    ]
    assert actions(alice) == []


def test_mail_may_stay_in_ones_own_network(alice: Client) -> None:
    assert invite(alice, email="bob@mail.corp.local")["email"] == "bob@mail.corp.local"


@pytest.mark.parametrize("username", ["-bob", "bob-", "bo--b", "bo_-b", "bo b", "böb", "bob\n", "b/b", "x" * 33])
def test_a_username_is_letters_and_digits_with_single_dashes_between(alice: Client, username: str) -> None:
    answer = alice.post("/v4/account/users", json={"username": username, "email": "bob@example.com"})
    assert answer.status_code == 400
    assert [field for field, _ in errors(answer)] == ["username"]


@pytest.mark.parametrize("username", ["mallory", "MALLORY"])
def test_usernames_are_unique_on_the_whole_platform(alice: Client, mallory: Client, username: str) -> None:
    answer = alice.post("/v4/account/users", json={"username": username, "email": "m@example.com"})
    assert answer.status_code == 400
    assert errors(answer) == [("username", "Username is taken")]
    invite(alice)
    assert errors(alice.put("/v4/account/users/bob", json={"username": username})) == [
        ("username", "Username is taken")
    ]


def test_a_user_is_renamed_and_keeps_what_it_has(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    bob = cloud.client(cloud.token("bob"))
    renamed = alice.put("/v4/account/users/bob", json={"username": "robert", "email": "robert@example.com"})
    assert renamed.status_code == 200
    assert renamed.json()["username"] == "robert"
    assert renamed.json()["email"] == "robert@example.com"
    assert renamed.json()["restricted"] is True
    assert alice.get("/v4/account/users/bob").status_code == 404
    assert bob.get("/v4/profile").json()["username"] == "robert"
    assert actions(alice)[0] == "user_update"
    same = alice.put("/v4/account/users/robert", json={"username": "robert", "tfa_enabled": True, "ssh_keys": None})
    assert same.status_code == 200
    assert same.json()["tfa_enabled"] is False


def test_users_are_filtered_by_name_and_by_nothing_else(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    page = alice.get("/v4/account/users", headers={"X-Filter": '{"username": "BOB"}'}).json()
    assert [user["username"] for user in page["data"]] == ["bob"]
    refused = alice.get("/v4/account/users", headers={"X-Filter": '{"email": "x"}'})
    assert errors(refused) == [("X-Filter", "Cannot filter on email")]


def test_deleting_a_user_ends_its_tokens_at_once(cloud: Cloud, alice: Client) -> None:
    invite(alice, restricted=False)
    bob = cloud.client(cloud.token("bob"))
    assert bob.get("/v4/profile").status_code == 200
    assert alice.delete("/v4/account/users/bob").json() == {}
    assert bob.get("/v4/profile").status_code == 401
    assert alice.get("/v4/account/users/bob").status_code == 404
    assert actions(alice)[0] == "user_delete"


def test_nobody_deletes_or_restricts_the_last_who_can_do_everything(alice: Client) -> None:
    refused = alice.delete("/v4/account/users/alice")
    assert refused.status_code == 400
    assert errors(refused) == [(None, "You cannot delete your own user")]
    refused = alice.put("/v4/account/users/alice", json={"restricted": True})
    assert refused.status_code == 400
    assert errors(refused) == [("restricted", "An account needs at least one unrestricted user")]
    assert alice.get("/v4/account/users/alice").json()["restricted"] is False


def test_who_restricts_itself_can_no_longer_take_it_back(alice: Client) -> None:
    invite(alice, restricted=False)
    assert alice.put("/v4/account/users/alice", json={"restricted": True}).status_code == 200
    assert alice.put("/v4/account/users/alice", json={"restricted": False}).status_code == 403


def test_users_are_the_business_of_unrestricted_users(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    bob = cloud.client(cloud.token("bob"))
    everything = {"global": {"account_access": "read_write"}}
    assert alice.put("/v4/account/users/bob/grants", json=everything).status_code == 200
    calls = [
        bob.get("/v4/account/users"),
        bob.post("/v4/account/users", json={}),
        bob.get("/v4/account/users/bob"),
        bob.put("/v4/account/users/bob", json={"restricted": False}),
        bob.delete("/v4/account/users/alice"),
        bob.get("/v4/account/users/bob/grants"),
        bob.put("/v4/account/users/bob/grants", json=everything),
    ]
    assert [(call.status_code, call.json()) for call in calls] == [(403, NOBODY)] * len(calls)


def test_users_of_another_account_are_not_there(alice: Client, mallory: Client) -> None:
    calls = [
        mallory.get("/v4/account/users/alice"),
        mallory.put("/v4/account/users/alice", json={"restricted": "nonsense"}),
        mallory.delete("/v4/account/users/alice"),
        mallory.get("/v4/account/users/alice/grants"),
        mallory.put("/v4/account/users/alice/grants", json={}),
    ]
    assert [call.status_code for call in calls] == [404] * len(calls)
    assert mallory.get("/v4/account/users").json()["results"] == 1


def test_scopes_are_needed_beside_rights(cloud: Cloud, alice: Client) -> None:
    reader = cloud.client(cloud.token("alice", "account:read_only"))
    assert reader.get("/v4/account/users").status_code == 200
    assert reader.post("/v4/account/users", json={}).status_code == 403
    assert cloud.client(cloud.token("alice", "events:read_only")).get("/v4/account/users").status_code == 403


# ---- grants ---------------------------------------------------------------------------------------------------------


def nothing_granted() -> dict[str, Any]:
    yes_or_no = ["add_computes", "add_domains", "add_firewalls", "add_images", "add_longview", "add_nodebalancers"]
    yes_or_no += ["add_stackscripts", "add_volumes", "cancel_account", "longview_subscription"]
    nothing: dict[str, Any] = {kind: [] for kind in (*KINDS, "database")}
    return {"global": {"account_access": None, **dict.fromkeys(yes_or_no, False)}, **nothing}


def test_an_unrestricted_user_has_no_grants_to_show(alice: Client) -> None:
    for path in ("/v4/account/users/alice/grants", "/v4/profile/grants"):
        answer = alice.get(path)
        assert answer.status_code == 204
        assert answer.content == b""
    refused = alice.put("/v4/account/users/alice/grants", json={"global": {"add_computes": True}})
    assert refused.status_code == 400


def test_a_restricted_user_begins_with_nothing(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    bob = cloud.client(cloud.token("bob"))
    assert alice.get("/v4/account/users/bob/grants").json() == nothing_granted()
    assert bob.get("/v4/profile/grants").json() == nothing_granted()


@pytest.mark.both
def test_grants_are_merged_and_take_effect_at_once(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    bob = cloud.client(cloud.token("bob"))
    assert bob.get("/v4/account/oauth-clients").status_code == 403
    first = alice.put("/v4/account/users/bob/grants", json={"global": {"account_access": "read_only"}})
    assert first.json()["global"]["account_access"] == "read_only"
    assert bob.get("/v4/account/oauth-clients").status_code == 200
    second = alice.put("/v4/account/users/bob/grants", json={"global": {"add_computes": True, "add_images": None}})
    assert second.json()["global"] == nothing_granted()["global"] | {
        "account_access": "read_only",
        "add_computes": True,
    }
    taken = alice.put("/v4/account/users/bob/grants", json={"global": {"account_access": None}})
    assert taken.json()["global"]["account_access"] is None
    assert taken.json()["global"]["add_computes"] is True
    assert bob.get("/v4/account/oauth-clients").status_code == 403
    assert actions(alice) == ["user_update"] * 3 + ["user_create"]


def test_what_cannot_be_granted_is_refused(alice: Client) -> None:
    invite(alice)
    answer = alice.put(
        "/v4/account/users/bob/grants",
        json={
            "global": {"account_access": "all", "add_computes": 1},
            "compute": [{"id": 1, "permissions": "write"}, {"permissions": None}, {"id": 1}],
            "volume": {},
        },
    )
    assert answer.status_code == 400
    assert errors(answer) == [
        ("global.account_access", "Must be one of read_only, read_write"),
        ("global.add_computes", "Must be of type Boolean"),
        ("compute[0].permissions", "Must be one of read_only, read_write"),
        ("compute[1].id", "id is required"),
        ("compute[2].permissions", "permissions is required"),
        ("volume", "Must be of type Array"),
    ]


def make_instance(owner: Client, label: str) -> int:
    answer = owner.post("/v4/compute/instances", json={"type": "g6-nanode-1", "region": "us-east", "label": label})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def test_grants_on_objects_open_exactly_those(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    bob = cloud.client(cloud.token("bob"))
    web, mail = make_instance(alice, "web"), make_instance(alice, "mail")
    path = "/v4/account/users/bob/grants"
    assert alice.get(path).json()["compute"] == [
        {"id": web, "label": "web", "permissions": None},
        {"id": mail, "label": "mail", "permissions": None},
    ]
    assert bob.get(f"/v4/compute/instances/{web}").status_code == 403
    granted = alice.put(path, json={"compute": [{"id": web, "permissions": "read_only"}]})
    assert granted.json()["compute"][0]["permissions"] == "read_only"
    assert bob.get(f"/v4/compute/instances/{web}").status_code == 200
    assert bob.put(f"/v4/compute/instances/{web}", json={"label": "mine"}).status_code == 403
    assert bob.get(f"/v4/compute/instances/{mail}").status_code == 403
    assert [instance["id"] for instance in bob.get("/v4/compute/instances").json()["data"]] == [web]
    own = bob.get("/v4/profile/grants").json()
    assert own["compute"] == [{"id": web, "label": "web", "permissions": "read_only"}]
    both = alice.put(path, json={"compute": [{"id": mail, "permissions": "read_write"}]})
    assert [grant["permissions"] for grant in both.json()["compute"]] == ["read_only", "read_write"]
    alice.put(path, json={"compute": [{"id": web, "permissions": None}]})
    assert bob.get(f"/v4/compute/instances/{web}").status_code == 403
    assert bob.get(f"/v4/compute/instances/{mail}").status_code == 200


def test_nothing_is_granted_on_objects_of_others(alice: Client, mallory: Client) -> None:
    invite(alice)
    theirs = make_instance(mallory, "theirs")
    own = make_instance(alice, "own")
    answer = alice.put(
        "/v4/account/users/bob/grants",
        json={"compute": [{"id": own, "permissions": "read_only"}, {"id": theirs, "permissions": "read_only"}]},
    )
    assert answer.status_code == 403
    assert errors(answer) == [("compute[1].id", "You do not have permission to access this Compute")]
    assert alice.get("/v4/account/users/bob/grants").json()["compute"][0]["permissions"] is None


def test_a_change_of_restriction_starts_from_nothing(cloud: Cloud, alice: Client) -> None:
    invite(alice)
    web = make_instance(alice, "web")
    path = "/v4/account/users/bob"
    grants = {"global": {"add_computes": True}, "compute": [{"id": web, "permissions": "read_write"}]}
    alice.put(f"{path}/grants", json=grants)
    alice.put(path, json={"restricted": True})
    assert alice.get(f"{path}/grants").json()["compute"][0]["permissions"] == "read_write"
    alice.put(path, json={"restricted": False})
    assert alice.get(f"{path}/grants").status_code == 204
    assert cloud.client(cloud.token("bob")).get(f"/v4/compute/instances/{web}").status_code == 200
    alice.put(path, json={"restricted": True})
    begun = alice.get(f"{path}/grants").json()
    assert begun["compute"] == [{"id": web, "label": "web", "permissions": None}]
    assert begun["global"] == nothing_granted()["global"]


def test_every_kind_that_can_be_granted_is_known() -> None:
    assert {kind.name for kind in registry.KINDS} == set(KINDS)


def one_of_each(cloud: Cloud, owner: Client, username: str) -> dict[str, int]:
    """An object of every kind, by kind; each has its kind for a label, but for domains."""
    stock = Stock(cloud, username)
    web = make_instance(owner, "compute")
    zone = {"type": "master", "domain": f"{username}.example.org", "soa_email": "a@example.org"}
    domain = owner.post("/v4/domains", json=zone).json()["id"]
    return {
        "compute": web,
        "domain": domain,
        "firewall": stock.firewall(web, "firewall"),
        "image": stock.image("image"),
        "longview": owner.post("/v4/longview/clients", json={"label": "longview"}).json()["id"],
        "nodebalancer": stock.nodebalancer("192.168.128.9", "nodebalancer", ipv4=f"100.64.201.{stock.account_id}"),
        "stackscript": stock.stackscript("stackscript"),
        "volume": stock.volume(None, "volume"),
    }


def test_grants_are_given_on_every_kind_of_object(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own, theirs = one_of_each(cloud, alice, "alice"), one_of_each(cloud, mallory, "mallory")
    assert set(own) == set(KINDS)
    invite(alice)
    path, bob = "/v4/account/users/bob/grants", cloud.client(cloud.token("bob"))
    labels = {kind: kind for kind in own} | {"domain": "alice.example.org"}
    nothing = {kind: [{"id": number, "label": labels[kind], "permissions": None}] for kind, number in own.items()}
    shown = alice.get(path).json()
    assert {kind: shown[kind] for kind in KINDS} == nothing
    for kind, number in own.items():
        granted = alice.put(path, json={kind: [{"id": number, "permissions": "read_only"}]}).json()
        assert granted[kind] == [{"id": number, "label": labels[kind], "permissions": "read_only"}]
        assert bob.get("/v4/profile/grants").json()[kind] == granted[kind]
        refused = alice.put(path, json={kind: [{"id": theirs[kind], "permissions": "read_only"}]})
        assert refused.status_code == 403
        assert errors(refused)[0][0] == f"{kind}[0].id"
        assert errors(refused)[0][1].startswith("You do not have permission to access this ")


def test_what_a_restricted_user_names_must_be_granted(cloud: Cloud, alice: Client) -> None:
    own = one_of_each(cloud, alice, "alice")
    invite(alice)
    path, bob = "/v4/account/users/bob/grants", cloud.client(cloud.token("bob"))
    alice.put(path, json={"compute": [{"id": own["compute"], "permissions": "read_write"}]})
    config = {"label": "boot", "devices": {"sda": {"volume_id": own["volume"]}}}
    ticket = {"summary": "it hums", "description": "loudly", "volume_id": own["volume"]}
    configs, words = (
        f"/v4/compute/instances/{own['compute']}/configs",
        "You do not have permission to access this Volume",
    )
    for level, statuses in ((None, (403, 403)), ("read_only", (403, 200)), ("read_write", (200, 200))):
        alice.put(path, json={"volume": [{"id": own["volume"], "permissions": level}]})
        answers = bob.post(configs, json=config), bob.post("/v4/support/tickets", json=ticket)
        assert tuple(answer.status_code for answer in answers) == statuses
        for answer, field in zip(answers, ("devices.sda.volume_id", "volume_id"), strict=True):
            assert answer.status_code == 200 or errors(answer) == [(field, words)]


def test_objects_of_every_sort_carry_tags(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own, theirs = one_of_each(cloud, alice, "alice"), one_of_each(cloud, mallory, "mallory")
    carriers = ("compute", "nodebalancer", "volume")
    body = {"label": "blue", **{f"{kind}s": [own[kind]] for kind in carriers}}
    assert alice.post("/v4/tags", json=body).json() == {"label": "blue"}
    shown = alice.get("/v4/tags/blue").json()["data"]
    assert [(carrier["type"], carrier["data"]["id"], carrier["data"]["tags"]) for carrier in shown] == [
        (kind, own[kind], ["blue"]) for kind in carriers
    ]
    for kind in carriers:
        assert alice.post("/v4/tags", json={"label": "red", f"{kind}s": [theirs[kind]]}).status_code == 403
