"""``X-Filter``: what it finds is what the same words mean in plain Python, on both databases."""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from crofter.db import filters as db_filters
from crofter.db.collections import Collection
from crofter.edge import filters
from crofter.events import event
from tests.cloud import Cloud
from tests.edge import filter_model as model
from tests.edge.test_paging import account_of
from tests.observed import errors

ACTIONS = ("tag_create", "tag_delete", "compute_boot", "compute_reboot", "disk_resize")
TYPES = ("tag", "compute", "disk", None)
ENTITY_IDS = (1, 2, 17, "1", "web", "Prod/EU", 'a"b', None)
COULD_NOT = "Could not apply filter: "
OPERATORS = "+and, +or, +neq, +contains, +gt, +gte, +lt and +lte"
FIELDS = ("id", "action", "created", "entity.id", "entity.type")


@pytest.fixture
def events(cloud: Cloud, alice: Client) -> tuple[Client, list[model.Item]]:
    """Eighty events of many sorts, and how they are shown."""
    cloud.freeze()
    now = cloud.sandbox.get("/_sandbox/clock").json()["now"]
    rng, account_id = random.Random(1), account_of(cloud, "alice")
    moments = [now[:11] + f"00:00:{second:02}" for second in range(6)]
    with cloud.runtime.database.write() as db:
        for _ in range(80):
            kind, number = rng.choice(TYPES), rng.choice(ENTITY_IDS)
            db.insert(
                event,
                account_id=account_id,
                username="alice",
                action=rng.choice(ACTIONS),
                status="notification",
                created=rng.choice(moments),
                entity_type=kind,
                entity_id=None if kind is None or number is None else json.dumps(number),
                entity_label=None if kind is None else "label",
            )
    items = alice.get("/v4/account/events", params={"page_size": 500}).json()["data"]
    assert len(items) == 80
    return alice, items


def scalars(items: list[model.Item], field: str) -> some.SearchStrategy[Any]:
    """Values that a field has, and some that it has not."""
    held = [value for value in (model.value_of(item, field) for item in items) if value is not None]
    near: some.SearchStrategy[Any] = some.sampled_from(held)
    if field in ("action", "entity.type"):
        near = near | near.map(str.upper) | some.sampled_from(["nothing", "a%b", "_"])
    return near


def terms(items: list[model.Item]) -> some.SearchStrategy[dict[str, Any]]:
    def of(field: str) -> some.SearchStrategy[dict[str, Any]]:
        value = scalars(items, field)
        options: list[Any] = [value, some.none(), some.fixed_dictionaries({"+neq": value | some.none()})]
        if field in ("id", "created"):
            options.append(
                some.dictionaries(some.sampled_from(sorted(model.COMPARISONS)), value, min_size=1, max_size=2)
            )
        if field in ("action", "entity.type"):
            part = some.sampled_from(["boot", "_", "%", "TAG", "e", "\\", ""])
            options.append(some.fixed_dictionaries({"+contains": part}))
        leaf = some.one_of(options)
        several = some.lists(leaf, min_size=1, max_size=3)
        options += [some.fixed_dictionaries({"+or": several}), some.fixed_dictionaries({"+and": several})]
        return some.one_of(options).map(lambda wanted: {field: wanted})

    return some.one_of([of(field) for field in FIELDS])


def wanted_of(items: list[model.Item]) -> some.SearchStrategy[dict[str, Any]]:
    def deeper(inner: some.SearchStrategy[dict[str, Any]]) -> some.SearchStrategy[dict[str, Any]]:
        several = some.lists(inner, max_size=3)
        return some.fixed_dictionaries({"+or": several}) | some.fixed_dictionaries({"+and": several})

    tree = some.recursive(terms(items), deeper, max_leaves=5)
    whole = some.lists(tree, max_size=2).map(
        lambda parts: {key: value for part in parts for key, value in part.items()}
    )
    order = some.fixed_dictionaries(
        {"+order_by": some.sampled_from(FIELDS[:3] + FIELDS[4:])},
        optional={"+order": some.sampled_from(["asc", "desc"])},
    )
    return some.tuples(whole, some.just({}) | order).map(lambda pair: {**pair[0], **pair[1]})


def shown(client: Client, wanted: dict[str, Any], **asked: Any) -> dict[str, Any]:
    headers = {"X-Filter": json.dumps(wanted)}
    answer = client.get("/v4/account/events", headers=headers, params={"page_size": 500, **asked})
    assert answer.status_code == 200, (wanted, answer.text)
    return dict(answer.json())


def check(client: Client, items: list[model.Item], wanted: dict[str, Any], asked: dict[str, int]) -> None:
    expected = model.ordered([item for item in items if model.matches(item, wanted)], wanted, newest_first=True)
    size, page = asked["page_size"], asked["page"]
    answer = shown(client, wanted, **asked)
    assert answer["data"] == expected[(page - 1) * size : page * size], wanted
    assert answer["results"] == len(expected), wanted
    assert answer["pages"] == max(1, -(-len(expected) // size))


def differences(client: Client, items: list[model.Item], examples: int) -> None:
    pages = some.fixed_dictionaries(
        {"page": some.sampled_from([1, 1, 2]), "page_size": some.sampled_from([500, 7, 20])}
    )

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(wanted_of(items), pages)
    def compared(wanted: dict[str, Any], asked: dict[str, int]) -> None:
        check(client, items, wanted, asked)

    compared()


def test_a_filter_finds_what_its_words_mean(events: tuple[Client, list[model.Item]]) -> None:
    differences(*events, examples=150)


def test_a_filter_that_forgets_what_is_missing_would_be_seen(
    events: tuple[Client, list[model.Item]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from crofter.resources.events.store import reads

    collection = reads(restricted=False).newest_first
    monkeypatch.setattr(db_filters, "or_", lambda *parts: parts[0])
    monkeypatch.setattr(collection, "_shapes", type(collection._shapes)())
    with pytest.raises(AssertionError):
        differences(*events, examples=150)


@pytest.mark.parametrize(
    ("wanted", "reasons"),
    [
        ("{", [f"{COULD_NOT}X-Filter is not valid JSON"]),
        ("[]", [f"{COULD_NOT}X-Filter must be a JSON object"]),
        ('{"message": "x"}', ["Cannot filter on message"]),
        ('{"message": "x", "rate": 1, "id": 1}', ["Cannot filter on message", "Cannot filter on rate"]),
        ('{"+or": [{"read": 1}, {"+and": [{"seen": true}]}]}', ["Cannot filter on read", "Cannot filter on seen"]),
        ('{"+order_by": "entity"}', ["Cannot filter on entity"]),
        ('{"+order_by": "nothing"}', ["Cannot filter on nothing"]),
        ('{"+order_by": ["id"]}', [f"{COULD_NOT}+order_by must be the name of a field"]),
        ('{"+order_by": "id", "+order": "DESC"}', [f"{COULD_NOT}+order must be asc or desc"]),
        ('{"id": "x"}', [f"{COULD_NOT}id must be an integer"]),
        ('{"id": [1, 2]}', [f"{COULD_NOT}id must be an integer"]),
        ('{"entity.id": true}', [f"{COULD_NOT}entity.id must be an integer or a text"]),
        ('{"action": 7}', [f"{COULD_NOT}action must be a text of at most 2048 characters"]),
        ('{"id": {}}', [f"{COULD_NOT}id has an object without an operator"]),
        ('{"id": {"+what": 1}}', [f"{COULD_NOT}+what is not an operator; id takes {OPERATORS}"]),
        ('{"id": {"what": 1}}', [f"{COULD_NOT}what is not an operator; id takes {OPERATORS}"]),
        ('{"id": {"\\ud800": 1}}', [f"{COULD_NOT}? is not an operator; id takes {OPERATORS}"]),
        ('{"\\ud800": 1}', ["Cannot filter on ?"]),
        ('{"id": {"+contains": 1}}', [f"{COULD_NOT}id does not take +contains: the field is not a text"]),
        (
            '{"action": {"+gt": "x"}}',
            [f"{COULD_NOT}action does not take +gt: the field is neither a number nor a date-time"],
        ),
        ('{"id": {"+or": 1}}', [f"{COULD_NOT}+or of id must be a list"]),
        ('{"+or": {}}', [f"{COULD_NOT}+or must be a list"]),
        ('{"+or": [1]}', [f"{COULD_NOT}+or must hold JSON objects"]),
        (
            '{"+what": []}',
            [f"{COULD_NOT}+what is not an operator; the filter takes +and, +or, +order_by and +order"],
        ),
        ('{"created": "tomorrow"}', [f"{COULD_NOT}created must be a date-time: YYYY-MM-DDTHH:MM:SS"]),
    ],
)
def test_a_filter_that_cannot_be_applied_says_why(alice: Client, wanted: str, reasons: list[str]) -> None:
    answer = alice.get("/v4/account/events", headers={"X-Filter": wanted})
    assert answer.status_code == 400
    assert errors(answer) == [("X-Filter", reason) for reason in reasons]


def test_an_order_without_a_field_and_an_empty_choice_restrict_nothing(cloud: Cloud, alice: Client) -> None:
    for label in ("first", "second"):
        alice.post("/v4/tags", json={"label": label})
    everything = alice.get("/v4/account/events").json()
    nothing: list[dict[str, Any]] = [{"+order": "desc"}, {"+order": None}, {"+or": []}, {"action": {"+or": []}}]
    for wanted in nothing:
        assert shown(alice, wanted) == everything, wanted
    assert shown(alice, {"+or": [], "entity.id": "first"})["results"] == 1
    assert alice.get("/v4/tags", headers={"X-Filter": '{"+order": "desc"}'}).json()["results"] == 2


def test_an_empty_filter_is_none_and_other_endpoints_do_not_look(alice: Client) -> None:
    alice.post("/v4/tags", json={"label": "production"})
    everything = alice.get("/v4/account/events").json()
    assert alice.get("/v4/account/events", headers={"X-Filter": "{}"}).json() == everything
    assert alice.get("/v4/account/events", headers={"X-Filter": ""}).json() == everything
    assert alice.get("/v4/regions/us-east", headers={"X-Filter": "{"}).status_code == 200
    assert alice.post("/v4/tags", json={"label": "another"}, headers={"X-Filter": "{"}).status_code == 200


def test_the_filters_that_clients_send_work(cloud: Cloud, alice: Client) -> None:
    for label in ("first", "second"):
        alice.post("/v4/tags", json={"label": label})
    wanted = {
        "created": {"+gte": "2022-03-28T19:42:42"},
        "action": "tag_create",
        "entity.id": "second",
        "entity.type": "tag",
        "+order": "desc",
        "+order_by": "created",
    }
    assert [item["entity"]["label"] for item in shown(alice, wanted)["data"]] == ["second"]
    assert shown(alice, {"created": {"+gte": "2022-03-28T19:42:42Z"}})["results"] == 2


def test_bounds_on_depth_and_terms_are_refusals(alice: Client) -> None:
    def status(wanted: Any) -> int:
        return alice.get("/v4/account/events", headers={"X-Filter": json.dumps(wanted)}).status_code

    twenty = {"+or": [{"id": number} for number in range(20)]}
    assert status(twenty) == 200
    assert status({"+or": [*twenty["+or"], {"id": 21}]}) == 400
    deep: Any = {"id": 1}
    for _ in range(filters.MAX_DEPTH - 1):
        deep = {"+and": [deep]}
    assert status(deep) == 200
    assert status({"+and": [deep]}) == 400


@pytest.mark.parametrize(
    "wanted",
    [
        {"+or": [{}] * 300},
        {"+or": [{"no such field": 1}] * 300},
        {"action": {"+or": [{}] * 300}},
        {f"field {number}": 1 for number in range(300)},
        {"action": {"+contains": "x" * 60_000}},
    ],
)
def test_what_is_too_much_is_a_refusal_of_a_few_words(alice: Client, wanted: Any) -> None:
    answer = alice.get("/v4/account/events", headers={"X-Filter": json.dumps(wanted)})
    assert answer.status_code == 400
    assert len(answer.json()["errors"]) <= filters.MAX_PARTS


def test_a_neighbours_events_are_never_found(cloud: Cloud, alice: Client, mallory: Client) -> None:
    alice.post("/v4/tags", json={"label": "mine"})
    everything: list[dict[str, Any]] = [{"+or": [{"id": {"+gt": 0}}, {"id": {"+lte": 0}}]}, {"+and": []}]
    for wanted in (*everything, {"action": {"+contains": ""}}):
        assert shown(mallory, wanted)["results"] == 0
        assert shown(alice, wanted)["results"] == 1


def test_a_filter_that_takes_long_holds_nobody_up(
    cloud: Cloud, alice: Client, mallory: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    performer = cloud.application.app.parts.performer
    begun, over = threading.Event(), threading.Event()

    def perform(endpoint: Any, values: Any, request: Any, *more: Any) -> Any:
        if b"x-filter" in request.headers:
            begun.set()
            assert over.wait(20)
        return real(endpoint, values, request, *more)

    real = performer.perform
    monkeypatch.setattr(performer, "perform", perform)
    with ThreadPoolExecutor(1) as pool:
        filtered = pool.submit(alice.get, "/v4/account/events", headers={"X-Filter": '{"action": "tag_create"}'})
        assert begun.wait(20)
        assert mallory.get("/v4/tags").status_code == 200
        assert not filtered.done()
        over.set()
        assert filtered.result().status_code == 200


TAGGED = (
    {"tags": "Web"},
    {"tags": "rare"},
    {"tags": "nowhere"},
    {"tags": {"+neq": "web"}},
    {"tags": "web", "label": {"+contains": "1"}},
    {"+and": [{"tags": "web"}, {"tags": {"+neq": "rare"}}]},
    {"+and": [{"tags": "web"}, {"tags": "blue"}]},
    {"+or": [{"tags": "rare"}, {"label": "machine-5"}]},
    {"tags": "web", "+order_by": "label", "+order": "desc"},
    {"tags": {"+or": ["rare", "blue"]}, "+order_by": "region"},
)


@pytest.mark.parametrize("wanted", TAGGED, ids=json.dumps)
def test_what_carries_a_tag_is_the_same_whether_it_is_looked_up_or_met_in_order(
    alice: Client, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any]
) -> None:
    for number in range(12):
        carried = (
            ["web"] * (number % 2) + ["WEB"] * (number % 3 == 0) + ["blue"] * (number > 8) + ["rare"] * (number == 7)
        )
        machine = {"region": "us-east", "type": "g6-nanode-1", "label": f"machine-{number}", "tags": carried}
        assert alice.post("/v4/compute/instances", json=machine).status_code == 200
    items = alice.get("/v4/compute/instances").json()["data"]
    expected = [item["id"] for item in items if _carries(item, wanted)]
    if "+order_by" in wanted:
        expected.sort(key=lambda number: _of(items, number)[wanted["+order_by"]], reverse="+order" in wanted)
    for are_few in (True, False):
        monkeypatch.setattr(Collection, "_are_few", lambda *_arguments, are_few=are_few: are_few)
        answer = alice.get("/v4/compute/instances", headers={"X-Filter": json.dumps(wanted)}).json()
        assert [item["id"] for item in answer["data"]] == expected
        assert answer["results"] == len(expected)


def _carries(item: model.Item, wanted: dict[str, Any]) -> bool:
    """The model's answer, for a field with several values: one of them is so, or for ``+neq`` none."""
    for key, value in wanted.items():
        if key == "tags":
            unwanted = isinstance(value, dict) and "+neq" in value
            asked = value["+neq"] if unwanted else value
            if any(model.matches({"tags": label}, {"tags": asked}) for label in item["tags"]) == unwanted:
                return False
        elif key in ("+and", "+or"):
            if not (all if key == "+and" else any)(_carries(item, part) for part in value):
                return False
        elif key not in ("+order_by", "+order") and not model.matches(item, {key: value}):
            return False
    return True


def _of(items: list[model.Item], number: int) -> model.Item:
    return next(item for item in items if item["id"] == number)
