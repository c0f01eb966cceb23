"""Rules for every endpoint: declarations, and the files generated from them."""

from __future__ import annotations

import json
import re
import typing
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tools import coverage, generated

from crofter.context import Context
from crofter.db.collections import filterable
from crofter.edge import bodies, openapi
from crofter.edge.endpoint import Endpoint, NoEvents
from crofter.edge.endpoint import endpoint as declare
from crofter.errors import Invalid
from crofter.registry import ENDPOINTS
from crofter.results import NoContent, Reply, Stream
from crofter.shapes import Body, View
from tests.document import DOCUMENT

SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]

ANY_JSON = {"TaggedObject.data", "AccountUpdate.active_promotions[]"}
"""Fields that hold JSON of a shape of its own, as an object in the form of its kind does, or that are not looked at."""


class PlantedView(View):
    """A view with an undescribed field."""

    anything: Any


class PlantedBody(Body):
    code: typing.Annotated[str, msgspec.Meta(pattern="^[0-9]{6}$")]


@declare(
    "POST /v4/planted", scope="account:read_write", grant="any", events=NoEvents("a planted endpoint changes nothing")
)
def planted(ctx: Context, body: PlantedBody) -> PlantedView:
    """be planted, without a capital and a full stop"""
    raise NotImplementedError


PLANTED: Endpoint = planted.endpoint  # type: ignore[attr-defined]


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, openapi.version_of(document, path) + path): operation
        for method, path, operation in openapi.operations(document)
    }


# Declarations


def badly_described(endpoints: Sequence[Endpoint]) -> list[str]:
    """Endpoints whose docstring is not a sentence that a caller may be shown."""
    summaries = {endpoint.name: endpoint.summary.partition("\n")[0] for endpoint in endpoints}
    return [
        name for name, text in summaries.items() if not (text[0].isupper() and text.endswith(".") and len(text) <= 140)
    ]


def test_every_endpoint_is_described_in_a_sentence() -> None:
    assert badly_described([PLANTED]) == ["planted"]
    assert badly_described(ENDPOINTS) == []


def test_a_write_declares_its_events_or_why_it_leaves_none() -> None:
    def plant(ctx: Context) -> None:
        """Plant an endpoint."""

    for undeclared in ((), NoEvents("")):
        with pytest.raises(TypeError, match="a write declares its events"):
            declare("POST /v4/planted", scope="*", grant="any", events=undeclared)(plant)
    without = [endpoint for endpoint in ENDPOINTS if endpoint.writes and not endpoint.events]
    assert [endpoint.name for endpoint in without if len(getattr(endpoint.events, "reason", "").split()) < 4] == []


def test_an_endpoint_that_does_not_say_who_may_use_it_does_not_start() -> None:
    def silent(ctx: Context) -> None: ...

    def spoken(ctx: Context) -> None:
        """Say something."""

    with pytest.raises(TypeError, match="docstring"):
        declare("GET /v4/planted", scope="none", grant="any")(silent)
    with pytest.raises(TypeError, match="is not a scope"):
        declare("GET /v4/planted", scope="account", grant="any")(spoken)
    with pytest.raises(TypeError, match="is not a grant"):
        declare("GET /v4/planted", scope="*", grant="compute:write")(spoken)
    with pytest.raises(TypeError, match="needs compute_id in the path"):
        declare("GET /v4/planted", scope="*", grant="compute:read_only")(spoken)
    with pytest.raises(TypeError, match="scope"):
        declare("GET /v4/planted", grant="any")  # type: ignore[call-arg]


def test_every_operation_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(endpoint.name for endpoint in ENDPOINTS).items() if count > 1] == []


def unlike_the_interface(endpoints: Sequence[Endpoint], lines: Sequence[str]) -> list[str]:
    """Rows of the interface that are served with another scope, or are deprecated on one side only."""
    ours = {coverage.row_of(endpoint).shape: endpoint for endpoint in endpoints}
    unlike = []
    for line in lines:
        method, path, scope, *note = line.split("\t")
        endpoint = ours.get(coverage.Row(method, path).shape)
        if endpoint is not None and (endpoint.scope, bool(endpoint.deprecated)) != (scope, note == ["deprecated"]):
            unlike.append(f"{method} {path}")
    return unlike


def test_scopes_are_those_of_the_interface() -> None:
    lines = (generated.ROOT / "tests" / "interface.tsv").read_text().splitlines()[1:]
    assert len(lines) == 99
    assert unlike_the_interface([PLANTED], ["POST\t/v4/planted\taccount:read_only"]) == ["POST /v4/planted"]
    assert unlike_the_interface(ENDPOINTS, lines) == []


# Generated files


def undocumented(document: dict[str, Any], endpoints: Sequence[Endpoint]) -> list[str]:
    documented = operations(document)
    return [
        endpoint.name
        for endpoint in endpoints
        if documented.get((endpoint.method, _shown(coverage.row_of(endpoint).path)), {}).get("operationId")
        != endpoint.name
    ]


def _shown(path: str) -> str:
    """The path with the names of its parameters in the spelling of the interface."""
    return re.sub(
        r"{(\w+)(?::path)?}", lambda part: "{" + re.sub("_(.)", lambda at: at[1].upper(), part[1]) + "}", path
    )


def test_every_endpoint_is_in_the_document() -> None:
    assert undocumented(DOCUMENT, [PLANTED]) == ["planted"]
    assert undocumented(DOCUMENT, ENDPOINTS) == []
    assert len(operations(DOCUMENT)) == len(ENDPOINTS)


def test_the_document_says_who_may_do_what() -> None:
    named = {operation["operationId"]: operation for operation in operations(DOCUMENT).values()}
    for endpoint in ENDPOINTS:
        operation = named[endpoint.name]
        assert (operation["x-scope"], operation["x-grant"]) == (endpoint.scope, endpoint.grant)
        assert bool(operation["security"]) != endpoint.public
        assert all(set(endpoint.scopes) == set(scopes) for way in operation["security"] for scopes in way.values())


@pytest.mark.soak  # `make check`, with which `make test` begins, says so too
def test_generated_files_are_up_to_date() -> None:
    assert generated.stale() == [], "run: make openapi"


def test_generated_files_that_are_missing_are_named(tmp_path: Path) -> None:
    assert generated.stale(tmp_path) == [
        "openapi.json",
        "COVERAGE.md",
        "src/crofter/client/commands.json",
        "docs/works-with.md",
        "docs/guides/scopes.md",
        "tests/db/landed_migrations.txt",
    ]


def test_generating_twice_gives_the_same_bytes() -> None:
    assert openapi.render(ENDPOINTS) == openapi.render(list(reversed(ENDPOINTS)))
    assert json.loads(openapi.render(ENDPOINTS)) == DOCUMENT


def broken(document: dict[str, Any]) -> list[str]:
    """References that lead nowhere, and parameters that are declared twice or not at all."""
    text = json.dumps(document)
    wrong = []
    for reference in sorted(set(re.findall(r'"#/components/(\w+/[^"]+)"', text))):
        kind, _, name = reference.partition("/")
        if name not in document["components"][kind]:
            wrong.append(reference)
    for (method, path), operation in operations(document).items():
        shared = document["paths"]["/" + path.split("/", 2)[2]].get("parameters", ())
        declared = (*shared, *operation.get("parameters", ()))
        names = [(parameter.get("in"), parameter.get("name", parameter.get("$ref"))) for parameter in declared]
        inside = Counter(re.findall(r"{(\w+)}", path))
        if max(Counter(names).values(), default=1) > 1 or inside != Counter(n for place, n in names if place == "path"):
            wrong.append(f"{method} {path}")
    return wrong


def test_the_document_holds_together() -> None:
    bad = openapi.document([PLANTED], "")
    del bad["components"]["schemas"]["PlantedBody"]
    bad["paths"]["/planted/{id}"] = bad["paths"].pop("/planted")
    assert broken(bad) == ["schemas/PlantedBody", "POST /v4/planted/{id}"]
    assert broken(DOCUMENT) == []


def untyped(schemas: dict[str, Any]) -> list[str]:
    """Fields about which a schema says nothing."""

    def inside(schema: Any, where: str) -> Iterator[str]:
        if not {"$ref", "type", "anyOf", "oneOf", "enum", "const"} & set(schema):
            yield where
        for name, field in schema.get("properties", {}).items():
            yield from inside(field, f"{where}.{name}")
        for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from inside(option, where)
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                yield from inside(schema[key], f"{where}[]")

    return [place for name, schema in schemas.items() for place in inside(schema, name)]


def test_no_field_is_without_a_type() -> None:
    assert untyped(openapi.document([PLANTED], "")["components"]["schemas"]) == ["PlantedView.anything"]
    assert set(untyped(SCHEMAS)) - ANY_JSON == set()


def bad_examples(endpoints: Sequence[Endpoint]) -> list[str]:
    """Examples that the types themselves would refuse."""
    described = openapi.document(endpoints, "")
    wrong = []
    for (_, path), operation in operations(described).items():
        endpoint = next(candidate for candidate in endpoints if candidate.name == operation["operationId"])
        if endpoint.body is not None:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            try:
                bodies.decode(json.dumps(_example(schema, described)).encode(), endpoint.body)
            except Invalid as problem:
                wrong.append(f"{path}: {problem.reasons}")
        if isinstance(endpoint.answers, type) and issubclass(endpoint.answers, View):
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            msgspec.json.decode(json.dumps(_example(schema, described)), type=endpoint.answers)
    return wrong


def _example(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["examples"][0]


def test_examples_are_what_they_are_examples_of() -> None:
    assert len(bad_examples([PLANTED])) == 1
    assert bad_examples(ENDPOINTS) == []


def test_what_is_marked_filterable_is_what_can_be_filtered() -> None:
    shown = {
        operation["operationId"]: parameter["x-filterable"]
        for operation in operations(DOCUMENT).values()
        for parameter in operation.get("parameters", ())
        if parameter.get("name") == "X-Filter"
    }
    wanted = {endpoint.name: list(filterable(endpoint.item)) for endpoint in ENDPOINTS if endpoint.item is not None}
    assert shown == {name: fields for name, fields in wanted.items() if fields}


def test_answers_that_are_not_json_are_announced_as_what_they_are() -> None:
    named = {operation["operationId"]: operation["responses"] for operation in operations(DOCUMENT).values()}
    assert any(endpoint.answers is Stream for endpoint in ENDPOINTS)
    for endpoint in ENDPOINTS:
        if endpoint.answers is Stream:
            assert list(named[endpoint.name]["200"]["content"]) == ["text/event-stream"]
        elif endpoint.answers is Reply:
            assert "application/json" not in named[endpoint.name]["200"]["content"]
        elif NoContent in typing.get_args(endpoint.answers):
            assert "content" not in named[endpoint.name]["204"]


def test_links_lead_from_what_was_made_to_what_can_be_done_with_it() -> None:
    links = operations(DOCUMENT)["POST", "/v4/tags"]["responses"]["200"]["links"]
    assert links["delete_tag"] == {"operationId": "delete_tag", "parameters": {"label": "$response.body#/label"}}
    known = {endpoint.name for endpoint in ENDPOINTS}
    for operation in operations(DOCUMENT).values():
        for answer in operation["responses"].values():
            assert {link["operationId"] for link in answer.get("links", {}).values()} <= known
