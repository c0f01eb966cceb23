"""Public StackScripts of the catalogue, through HTTP."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client

from crofter import catalogue, registry
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.test_stackscripts import INVALID, deploy, deployments, script_of

PATH = "/v4/compute/stackscripts"
IDS = ["add-user", "install-packages", "host-name", "swap-file"]
OWN = """
[[stackscripts]]
id = "greet"
label = "Greet"
created = 2026-01-01T00:00:00
script = "#!/bin/sh\\n# <UDF name='word' label='A word' />\\n"
"""


def listed(client: Client, **wanted: Any) -> list[dict[str, Any]]:
    answer = client.get(PATH, headers={"X-Filter": json.dumps(wanted)})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def ids(client: Client, **wanted: Any) -> list[int]:
    return [script["id"] for script in listed(client, **wanted)]


@pytest.mark.both
def test_the_catalogue_scripts_are_listed_for_every_caller(cloud: Cloud, alice: Client, mallory: Client) -> None:
    scripts = alice.get(PATH).json()["data"]
    assert len(scripts) == len(IDS)
    for script in scripts:
        assert (script["username"], script["is_public"], script["mine"]) == ("compute", True, False)
        assert (script["user_gravatar_id"], script["images"]) == ("", ["any/all"])
        assert script["user_defined_fields"]
        assert (script["deployments_total"], script["deployments_active"]) == (0, 0)
        assert alice.get(f"{PATH}/{script['id']}").json() == script
    assert mallory.get(PATH).json()["data"] == cloud.client(None).get(PATH).json()["data"] == scripts


@pytest.mark.both
def test_filters_and_orders_cover_catalogue_and_account_scripts(alice: Client, mallory: Client) -> None:
    built_in = ids(alice)
    own, public, other = script_of(alice), script_of(alice, is_public=True), script_of(mallory, is_public=True)
    assert ids(alice) == [*built_in, own, public, other]
    assert ids(alice, username="compute") == built_in
    assert ids(alice, username={"+neq": "compute"}) == [own, public, other]
    assert ids(alice, mine=False) == [*built_in, other]
    assert ids(alice, mine={"+neq": True}) == [*built_in, other]
    assert ids(alice, mine=True) == [own, public]
    assert ids(alice, is_public=True) == [*built_in, public, other]
    assert ids(alice, **{"+order_by": "id", "+order": "desc"}) == [other, public, own, *built_in[::-1]]
    names = [script["username"] for script in listed(alice, **{"+order_by": "username", "+order": "desc"})]
    assert names == sorted(names, reverse=True)
    assert alice.get(PATH).json()["results"] == len(built_in) + 3


@pytest.mark.both
def test_every_account_deploys_a_catalogue_script(cloud: Cloud, alice: Client, mallory: Client) -> None:
    script_id = listed(alice, label={"+contains": "packages"})[0]["id"]
    made = [deploy(client, script_id, {"packages": "git"}) for client in (alice, mallory)]
    assert [answer.status_code for answer in made] == [200, 200], [answer.text for answer in made]
    cloud.settle()
    assert deployments(alice, script_id) == (2, 2)
    assert ids(mallory, deployments_total=2) == [script_id]
    assert alice.delete(f"/v4/compute/instances/{made[0].json()['id']}").status_code == 200
    cloud.settle()
    assert deployments(alice, script_id) == (2, 1)
    refused = deploy(alice, script_id, {"upgrade": "maybe"})
    assert errors(refused) == [
        ("stackscript_data.packages", "packages is required"),
        ("stackscript_data.upgrade", "Must be one of yes, no"),
    ]


def test_no_account_changes_or_deletes_a_catalogue_script(cloud: Cloud, mallory: Client) -> None:
    path = f"{PATH}/{ids(mallory)[0]}"
    before = mallory.get(path).json()
    for client in (mallory, cloud.admin):
        for answer in (client.put(path, json={"label": "taken"}), client.delete(path)):
            assert (answer.status_code, errors(answer)) == (403, [(None, "Unauthorized")])
    assert mallory.get(path).json() == before


def test_a_restricted_user_and_a_narrow_token_read_them_too(cloud: Cloud, alice: Client) -> None:
    built_in = ids(alice)
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com", "restricted": True})
    bob = cloud.client(cloud.token("bob"))
    script_of(alice)
    assert ids(bob) == built_in
    assert bob.get(f"{PATH}/{built_in[0]}").status_code == 200
    assert ids(cloud.client(cloud.token("alice", "images:read_only"))) == built_in


def test_they_outlive_a_closed_account_and_a_reset(cloud: Cloud, alice: Client) -> None:
    before = alice.get(PATH).json()["data"]
    script_of(alice)
    assert alice.post("/v4/account/cancel", json={}).status_code == 200
    cloud.settle()
    assert cloud.client(None).get(PATH).json()["data"] == before
    assert cloud.sandbox.post("/_sandbox/reset").status_code == 200
    assert cloud.client(None).get(PATH).json()["data"] == before


def test_no_account_publishes_scripts_under_their_username(cloud: Cloud) -> None:
    impostor = cloud.person(username="Compute")
    body = {"label": "trap", "images": ["any/all"], "script": "#!/bin/sh", "is_public": True}
    refused = impostor.post(PATH, json=body)
    wrong = [("is_public", "A StackScript of this username cannot be public")]
    assert (refused.status_code, errors(refused)) == (400, wrong)
    own = script_of(impostor)
    refused = impostor.put(f"{PATH}/{own}", json={"is_public": True})
    assert (refused.status_code, errors(refused)) == (400, wrong)
    assert impostor.put(f"{PATH}/{own}", json={"label": "renamed"}).status_code == 200


@pytest.mark.both
def test_a_script_that_left_the_file_is_neither_listed_nor_deployed(
    cloud: Cloud, alice: Client, tmp_path: Path
) -> None:
    script_id = ids(alice)[0]
    data = {"user_name": "deploy", "ssh_key": "ssh-ed25519 AAAA"}
    deployed = deploy(alice, script_id, data).json()["id"]
    (tmp_path / "stackscripts.toml").write_text(OWN)
    with cloud.runtime.database.write() as db:
        catalogue.load(db, registry.CATALOGUE_TABLES, str(tmp_path))
    cloud.settle()
    assert [script["label"] for script in listed(alice)] == ["Greet"]
    assert alice.get(f"{PATH}/{script_id}").status_code == 404
    assert errors(deploy(alice, script_id, data)) == [(error["field"], error["reason"]) for error in INVALID]
    assert alice.get(f"/v4/compute/instances/{deployed}").json()["status"] == "running"
    with cloud.runtime.database.write() as db:
        catalogue.load(db, registry.CATALOGUE_TABLES, None)
    assert deployments(alice, script_id) == (1, 1)


def test_the_built_in_scripts_are_shell_scripts(alice: Client) -> None:
    for script in listed(alice):
        checked = subprocess.run(["/bin/sh", "-n"], input=script["script"], text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, ""), script["label"]


def test_a_dialect_shows_its_own_word_as_their_username(tmp_path: Path) -> None:
    file = tmp_path / "dialect.toml"
    file.write_text('[words]\ncompute = "wug"\n')
    cloud = Cloud(dialect=str(file), disguised=None)
    try:
        client = cloud.person(username="wug-ops")
        path = "/v4/wug/stackscripts"
        body = {"label": "own", "images": ["any/all"], "script": "#!/bin/sh\n", "is_public": True}
        assert client.post(path, json=body).json()["username"] == "wug-ops"

        def names(wanted: Any) -> list[str]:
            answer = client.get(path, headers={"X-Filter": json.dumps(wanted)})
            return [script["username"] for script in answer.json()["data"]]

        assert names({}) == ["wug"] * len(IDS) + ["wug-ops"]
        assert names({"username": "wug"}) == ["wug"] * len(IDS)
        assert names({"username": "compute"}) == []
        assert names({"username": "wug-ops"}) == ["wug-ops"]
    finally:
        cloud.close()
