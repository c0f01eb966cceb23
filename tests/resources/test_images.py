"""Images, through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from crofter.resources.images.store import image
from crofter.resources.users.store import grant, user
from tests.cloud import Cloud

DEBIAN = {
    "created": "2021-08-14T22:44:02",
    "created_by": "compute",
    "deprecated": False,
    "description": "",
    "eol": "2026-08-31T04:00:00",
    "expiry": None,
    "id": "compute/debian11",
    "is_public": True,
    "label": "Debian 11",
    "size": 1300,
    "status": "available",
    "type": "manual",
    "updated": "2021-08-14T22:44:02",
    "vendor": "Debian",
}


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [image["id"] for image in answer.json()["data"]]


def account_of(cloud: Cloud, username: str) -> int:
    with cloud.runtime.database.read() as db:
        return int(db.raw(f"SELECT account_id FROM account_user WHERE username = '{username}'").fetchone()[0])


def user_of(cloud: Cloud, username: str) -> int:
    with cloud.runtime.database.read() as db:
        return int(db.raw(f"SELECT id FROM account_user WHERE username = '{username}'").fetchone()[0])


def own_image(cloud: Cloud, username: str, label: str = "golden") -> int:
    """An image of the user's account, as the resources that make them will keep it."""
    with cloud.runtime.database.write() as db:
        return db.insert(
            image,
            account_id=account_of(cloud, username),
            label=label,
            size=900,
            deprecated=False,
            created="2026-01-01T00:00:00",
            created_by=username,
            updated="2026-01-01T00:00:00",
        )


def restrict(cloud: Cloud, username: str, *granted: int) -> None:
    with cloud.runtime.database.write() as db:
        user_id = user_of(cloud, username)
        db.update(user, {"id": user_id}, restricted=True)
        for object_id in granted:
            db.insert(grant, user_id=user_id, kind="image", object_id=object_id, level="read_only")


def test_official_images_are_listed_for_everybody_in_the_order_of_the_alphabet(cloud: Cloud) -> None:
    page = cloud.client(None).get("/v4/images").json()
    labels = [image["label"].casefold() for image in page["data"]]
    assert labels == sorted(labels)
    assert page["results"] == len(labels)
    assert {f"compute/debian{number}" for number in (9, 10, 11, 12)} <= {image["id"] for image in page["data"]}
    assert all(image["is_public"] and image["status"] == "available" for image in page["data"])
    assert DEBIAN in page["data"]


@pytest.mark.parametrize("slug", ["compute/debian11", "compute%2Fdebian11", "compute/debian11/"])
def test_an_official_image_is_viewed_by_everybody(cloud: Cloud, slug: str) -> None:
    assert cloud.client(None).get(f"/v4/images/{slug}").json() == DEBIAN


@pytest.mark.parametrize(
    "slug", ["compute/none", "debian11", "private/1", "private/99999999999999999999999", "private/x", "private/²"]
)
def test_an_unknown_image_is_not_found(cloud: Cloud, alice: Client, slug: str) -> None:
    for client in (alice, cloud.client(None)):
        answer = client.get(f"/v4/images/{slug}")
        assert answer.status_code == 404
        assert answer.json() == {"errors": [{"reason": "Not found"}]}


@pytest.mark.both
def test_own_images_come_first_and_the_newest_of_them_first_of_all(cloud: Cloud, alice: Client) -> None:
    older, newer = own_image(cloud, "alice", "zebra"), own_image(cloud, "alice", "aardvark")
    listed = ids(alice.get("/v4/images"))
    assert listed[:3] == [f"private/{newer}", f"private/{older}", "compute/almalinux8"]
    image = alice.get(f"/v4/images/private%2F{older}").json()
    assert (image["id"], image["label"], image["is_public"], image["created_by"]) == (
        f"private/{older}",
        "zebra",
        False,
        "alice",
    )
    assert image["vendor"] is None


def test_somebody_elses_image_is_not_there(cloud: Cloud, alice: Client, mallory: Client) -> None:
    own = own_image(cloud, "alice")
    for stranger in (mallory, cloud.client(None)):
        assert stranger.get(f"/v4/images/private/{own}").status_code == 404
        assert f"private/{own}" not in ids(stranger.get("/v4/images"))


def test_a_restricted_user_sees_own_images_that_were_granted(cloud: Cloud, alice: Client) -> None:
    granted, other = own_image(cloud, "alice", "granted"), own_image(cloud, "alice", "other")
    restrict(cloud, "alice", granted)
    assert ids(alice.get("/v4/images"))[:2] == [f"private/{granted}", "compute/almalinux8"]
    assert alice.get(f"/v4/images/private/{granted}").status_code == 200
    refused = alice.get(f"/v4/images/private/{other}")
    assert refused.status_code == 403
    assert refused.json() == {"errors": [{"reason": "Unauthorized"}]}


def test_a_token_that_may_not_read_images_sees_what_everybody_sees(cloud: Cloud, alice: Client) -> None:
    own = own_image(cloud, "alice")
    narrow = cloud.client(cloud.token("alice", "account:read_only"))
    assert ids(narrow.get("/v4/images"))[0] == "compute/almalinux8"
    assert narrow.get("/v4/images/compute/debian11").status_code == 200
    assert narrow.get(f"/v4/images/private/{own}").status_code == 403
    wide = cloud.client(cloud.token("alice", "images:read_write"))
    assert ids(wide.get("/v4/images"))[0] == f"private/{own}"


def test_images_are_filtered_and_sorted(cloud: Cloud, alice: Client) -> None:
    own = own_image(cloud, "alice", "mine")

    def filtered(wanted: dict[str, Any]) -> list[str]:
        return ids(alice.get("/v4/images", headers={"X-Filter": json.dumps(wanted)}))

    assert filtered({"is_public": False}) == [f"private/{own}"]
    assert f"private/{own}" not in filtered({"is_public": True})
    assert filtered({"vendor": "debian", "deprecated": False}) == [
        "compute/debian10",
        "compute/debian11",
        "compute/debian12",
    ]
    assert filtered({"size": {"+gt": 4000}}) == ["compute/gentoo", "compute/slackware15.0"]
    assert filtered({"label": {"+contains": "ubuntu 2"}}) == ["compute/ubuntu20.04", "compute/ubuntu21.10"]
    assert filtered({"type": "automatic"}) == []
    assert filtered({"+order_by": "size", "+order": "desc"})[0] == "compute/slackware15.0"
    refused = alice.get("/v4/images", headers={"X-Filter": '{"id": "x", "status": "y"}'})
    assert [error["reason"] for error in refused.json()["errors"]] == ["Cannot filter on id", "Cannot filter on status"]


def test_images_come_in_pages_across_own_and_official_ones(cloud: Cloud, alice: Client) -> None:
    for number in range(3):
        own_image(cloud, "alice", f"image {number}")
    whole = ids(alice.get("/v4/images"))
    paged = [image_id for page in range(1, 20) for image_id in ids(alice.get(f"/v4/images?page_size=2&page={page}"))]
    assert paged == whole


def test_a_restricted_user_deploys_own_images_that_were_granted(cloud: Cloud, alice: Client) -> None:
    granted, other = own_image(cloud, "alice", "granted"), own_image(cloud, "alice", "other")
    restrict(cloud, "alice", granted)
    with cloud.runtime.database.write() as db:
        db.update(user, {"id": user_of(cloud, "alice")}, global_grants={"add_computes": True})
    body = {"region": "us-east", "type": "g6-nanode-1", "root_pass": "a-long-Winding-r0ad"}
    made = alice.post("/v4/compute/instances", json={**body, "image": f"private/{granted}"})
    assert made.status_code == 200, made.text
    refused = alice.post("/v4/compute/instances", json={**body, "image": f"private/{other}"})
    assert refused.status_code == 403
    assert refused.json()["errors"] == [{"field": "image", "reason": "You do not have permission to access this Image"}]
