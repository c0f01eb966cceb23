"""Pages: their envelope, their bounds, and that a deep one is the one that counting would find."""

from __future__ import annotations

import random

import pytest
from httpx2 import Client

from crofter.db import collections
from crofter.db.tally import Tally
from crofter.resources.tags.store import tag
from tests.cloud import Cloud
from tests.observed import errors


def labels(client: Client, **asked: object) -> list[str]:
    answer = client.get("/v4/tags", params=asked)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return [tag["label"] for tag in answer.json()["data"]]


def account_of(cloud: Cloud, username: str) -> int:
    from crofter.resources.users.store import BY_USERNAME

    with cloud.runtime.database.read() as db:
        return db.one(BY_USERNAME, username=username).account_id


def fill(cloud: Cloud, account_id: int, ids: list[int]) -> None:
    """Insert tags with these ids and matching labels."""
    with cloud.runtime.database.write() as db:
        for number in ids:
            db.insert(tag, id=number, account_id=account_id, label=f"tag-{number:08}")


def test_an_empty_collection_has_one_page(alice: Client) -> None:
    assert alice.get("/v4/tags").json() == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_pages_divide_a_collection(alice: Client) -> None:
    made = [f"tag-{number}" for number in range(7)]
    for label in made:
        alice.post("/v4/tags", json={"label": label})
    answer = alice.get("/v4/tags", params={"page": 2, "page_size": 3}).json()
    assert list(answer) == ["data", "page", "pages", "results"]
    assert (answer["page"], answer["pages"], answer["results"]) == (2, 3, 7)
    assert [label for page in (1, 2, 3) for label in labels(alice, page=page, page_size=3)] == made


def test_a_page_beyond_the_last_is_empty_but_well_formed(alice: Client) -> None:
    alice.post("/v4/tags", json={"label": "only"})
    for page in (2, 500, 2**31):
        answer = alice.get("/v4/tags", params={"page": page})
        assert (answer.status_code, answer.json()) == (200, {"data": [], "page": page, "pages": 1, "results": 1})


def test_a_page_has_a_hundred_rows_unless_asked(cloud: Cloud, alice: Client) -> None:
    fill(cloud, account_of(cloud, "alice"), list(range(1, 502)))
    assert len(labels(alice)) == 100
    assert len(labels(alice, page_size=500)) == 500
    assert len(labels(alice, page_size=1)) == 1


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"page": "0"}, [("page", "Must be 1-2147483648")]),
        ({"page": "x"}, [("page", "Must be of type Integer")]),
        ({"page": ""}, [("page", "Must be of type Integer")]),
        ({"page": "1.0"}, [("page", "Must be of type Integer")]),
        ({"page_size": "0"}, [("page_size", "Must be 1-500")]),
        ({"page_size": "501"}, [("page_size", "Must be 1-500")]),
        ({"page_size": "-1"}, [("page_size", "Must be 1-500")]),
        ({"page_size": "ten"}, [("page_size", "Must be of type Integer")]),
        ({"page": "0", "page_size": "x"}, [("page", "Must be 1-2147483648"), ("page_size", "Must be of type Integer")]),
    ],
)
def test_a_page_that_cannot_be_is_refused(
    alice: Client, asked: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    answer = alice.get("/v4/tags", params=asked)
    assert (answer.status_code, errors(answer)) == (400, expected)


def test_the_support_lists_have_bounds_of_their_own(alice: Client) -> None:
    answer = alice.get("/v4/support/tickets", params={"page_size": 24})
    assert errors(answer) == [("page_size", "Must be 25-100")]
    assert alice.get("/v4/support/tickets", params={"page_size": 25}).status_code == 200


def test_ids_go_up_in_most_lists(alice: Client) -> None:
    for label in ("zebra", "aardvark", "monkey"):
        alice.post("/v4/tags", json={"label": label})
    assert labels(alice) == ["zebra", "aardvark", "monkey"]


def spread(count: int, seed: int) -> list[int]:
    """Ids with gaps, over several of the tally's blocks."""
    return sorted(random.Random(seed).sample(range(1, 40_000), count))


def deep_pages(cloud: Cloud, alice: Client, account_id: int, ids: list[int]) -> list[tuple[int, int]]:
    """The pages that are not what counting finds."""
    fill(cloud, account_id, ids)
    expected = [f"tag-{number:08}" for number in ids]
    wrong = []
    for size in (100, 333):
        for page in range(1, len(ids) // size + 3):
            if labels(alice, page=page, page_size=size) != expected[(page - 1) * size : page * size]:
                wrong.append((size, page))
    return wrong


def test_a_deep_page_is_the_page_that_counting_finds(cloud: Cloud, alice: Client, mallory: Client) -> None:
    mine, hers = spread(3000, 1), account_of(cloud, "mallory")
    fill(cloud, hers, [number + 50_000 for number in spread(1000, 2)])
    assert collections.SHALLOW < 1500 < len(mine)
    assert deep_pages(cloud, alice, account_of(cloud, "alice"), mine) == []


def test_a_wrong_place_for_a_deep_page_would_be_seen(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    locate = Tally.locate
    monkeypatch.setattr(
        Tally, "locate", lambda self, db, owner, rows, **more: locate(self, db, owner, rows + 1, **more)
    )
    assert deep_pages(cloud, alice, account_of(cloud, "alice"), spread(1000, 3)) != []


def test_a_deep_page_holds_while_rows_come_and_go(cloud: Cloud, alice: Client) -> None:
    account_id, rng = account_of(cloud, "alice"), random.Random(4)
    ids = spread(1500, 5)
    fill(cloud, account_id, ids)
    for _ in range(3):
        gone = set(rng.sample(ids, 200))
        with cloud.runtime.database.write() as db:
            for number in gone:
                db.delete(tag, account_id=account_id, id=number)
        ids = [number for number in ids if number not in gone]
        answer = alice.get("/v4/tags", params={"page": 8, "page_size": 100}).json()
        assert [tag["label"] for tag in answer["data"]] == [f"tag-{number:08}" for number in ids[700:800]]
        assert answer["results"] == len(ids)
