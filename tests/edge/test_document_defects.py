"""Defects of the OpenAPI document that stop generators, one test for each kind, over the whole document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import jsonschema_rs
import pytest

from crofter.edge import openapi
from crofter.edge.openapi.schemas import tidy
from tests.document import DOCUMENT, text_in_a_dialect
from tests.edge.test_openapi import schemas_in

Document = dict[str, Any]
PLAN = "#/components/schemas/PlanView"


def null_types(document: Document) -> list[str]:
    """Schemas of nothing but null, except as the choice of null: several generators know no such type."""
    return [
        where
        for where, schema in schemas_in(document)
        if schema.get("type") == "null" and not re.search(r"\.(anyOf|oneOf)\[\d+\]$", where)
    ]


def null_enums(document: Document) -> list[str]:
    """Enums with null among their values: generators make them an enum with a member without a name."""
    return [where for where, schema in schemas_in(document) if None in _listed(schema.get("enum"))]


def control_characters(document: Document) -> list[str]:
    """Patterns with real control characters, which end a line of generated code."""
    patterns = ((where, schema.get("pattern")) for where, schema in schemas_in(document))
    return [where for where, text in patterns if isinstance(text, str) and not text.isprintable()]


def broken_examples(document: Document) -> list[str]:
    """Schemas and parameters that refuse their own examples and defaults. All are validated as one list, which is quick
    since they share so much.
    """
    shown = [
        (where, place.get("schema", place), value)
        for where, place in schemas_in(document)
        if not where.endswith(".properties")
        for value in (
            *_listed(place.get("examples")),
            *(place[key] for key in ("example", "x-default") if key in place),
        )
    ]
    schema = {"prefixItems": [schema for _, schema, _ in shown], "components": document["components"]}
    errors = jsonschema_rs.validator_for(schema).iter_errors([value for *_, value in shown])
    return sorted({shown[int(error.instance_path[0])][0] for error in errors})


def unused_schemas(document: Document) -> list[str]:
    """Components that nothing refers to."""
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    return sorted(set(document["components"]["schemas"]) - used)


def answered_plans(document: Document) -> list[str]:
    """Operations with a plan as one of their answers: generated clients take each success for a choice of two."""
    return [
        operation["operationId"]
        for _, _, operation in openapi.operations(document)
        if PLAN in json.dumps(operation["responses"])
    ]


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


DEFECTS: dict[Callable[[Document], list[str]], Any] = {
    null_types: {"type": "null"},
    null_enums: {"type": ["string", "null"], "enum": ["a", None]},
    control_characters: {"type": "string", "pattern": "^[\n]$"},
    broken_examples: {"type": "string", "pattern": "^a$", "examples": ["b"]},
}


@pytest.fixture(scope="module", params=["plain", "dialect"])
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Document:
    if request.param == "plain":
        return DOCUMENT
    made: Document = json.loads(text_in_a_dialect(tmp_path_factory.mktemp("defects")))
    return made


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_no_schema_stops_a_generator(document: Document, defect: Callable[[Document], list[str]]) -> None:
    assert defect(document) == []
    schemas = {**document["components"]["schemas"], "Planted": {"type": "object", "properties": {"a": DEFECTS[defect]}}}
    planted = {**document, "components": {**document["components"], "schemas": schemas}}
    assert defect(planted) == [".components.schemas.Planted.properties.a"]


def test_every_schema_is_used(document: Document) -> None:
    assert unused_schemas(document) == []
    schemas = {**document["components"]["schemas"], "Planted": {"type": "object"}}
    planted = {**document, "components": {**document["components"], "schemas": schemas}}
    assert unused_schemas(planted) == ["Planted"]


def test_a_plan_is_no_part_of_what_an_operation_answers(document: Document) -> None:
    assert answered_plans(document) == []
    planted = {"operationId": "planted", "responses": {"200": {"schema": {"oneOf": [{"$ref": PLAN}]}}}}
    assert answered_plans({"paths": {"/planted": {"post": planted}}}) == ["planted"]


def test_a_choice_of_null_stands_beside_the_values_of_an_enum() -> None:
    wanted = {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}], "description": "Which."}
    assert tidy({"enum": ["a", "b", None], "description": "Which."}) == wanted
    assert tidy({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "description": "Which."}) == wanted
