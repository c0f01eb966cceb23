"""Schemas of ``X-Filter`` for each collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crofter.db.collections import sortable
from crofter.edge.endpoint import Endpoint
from crofter.edge.filters import MAX_TERMS
from crofter.edge.openapi.field_words import FIELDS
from crofter.edge.openapi.schemas import INT64, MOMENT, PREFIX, Schema, Schemas, or_null, types_of

COMPARISONS = ("+gt", "+gte", "+lt", "+lte")
SCALARS: dict[str, Schema] = {
    "Boolean": {"type": "boolean"},
    "Integer": {"type": "integer", **INT64, "minimum": -(2**63), "maximum": 2**63 - 1},
    "Key": {"type": ["integer", "string"]},
    "Moment": {"type": "string", **MOMENT},
    "Number": {"type": "number"},
    "Text": {"type": "string"},
}


def filterable(schema: Schema, schemas: Schemas) -> Iterator[tuple[str, Schema]]:
    """The fields of a view that may be filtered on; those of nested objects with dots."""
    for name, field in schemas.resolved(schema).get("properties", {}).items():
        if field.get("x-filterable"):
            yield name, field
            continue
        for option in (field, *field.get("anyOf", ())):
            if "$ref" in option:
                yield from ((f"{name}.{inner}", inner_schema) for inner, inner_schema in filterable(option, schemas))


def name_of(endpoint: Endpoint, schemas: Schemas) -> str | None:
    """The component that says what the endpoint's collection can be filtered by, if it can be."""
    if endpoint.listing is None or endpoint.item is None:
        return None
    page = schemas.resolved(schemas.of(endpoint.answers))
    item: Schema = page["properties"]["data"]["items"]
    if not any(filterable(item, schemas)):
        return None
    return f"{item['$ref'].removeprefix(PREFIX)}Filter"


def fields_of(endpoint: Endpoint, schemas: Schemas) -> dict[str, Schema]:
    page = schemas.resolved(schemas.of(endpoint.answers))
    return dict(filterable(page["properties"]["data"]["items"], schemas))


def filters_of(endpoints: Sequence[Endpoint], schemas: Schemas) -> dict[str, Schema]:
    made: dict[str, Schema] = {}
    for endpoint in endpoints:
        name = name_of(endpoint, schemas)
        if name is not None and name not in made:
            made |= _filter(name, fields_of(endpoint, schemas), sortable(endpoint.item))
    kinds = {
        _kind(field)
        for endpoint in endpoints
        if name_of(endpoint, schemas)
        for field in fields_of(endpoint, schemas).values()
    }
    return made | {f"{kind}Conditions": _conditions(kind) for kind in kinds}


def _filter(name: str, fields: dict[str, Schema], scalars: Iterable[str]) -> dict[str, Schema]:
    """The filter itself, which may name an order, and the same without one, of which it may hold more."""
    inner = f"{name}Term"
    several = {"type": "array", "items": {"$ref": PREFIX + inner}, "maxItems": MAX_TERMS}
    terms = {
        field: {**_condition(_kind(schema)), "description": schema.get("description", f"The field {field}.")}
        for field, schema in fields.items()
    }
    terms |= {name: {**several, "description": FIELDS[name]} for name in ("+and", "+or")}
    single = [field for field, schema in fields.items() if "array" not in types_of(schema)]
    ordered = sorted({*single, *scalars})
    order = {
        "+order_by": {"type": "string", "enum": ordered, "description": FIELDS["+order_by"]},
        "+order": {
            "type": "string",
            "enum": ["asc", "desc"],
            "description": "Ascending by default. Ignored without `+order_by`.",
        },
    }
    words = "Fields with the values that they must have. Several must all hold."
    closed = {"type": "object", "description": words, "additionalProperties": False}
    return {
        inner: {**closed, "properties": terms},
        name: {
            **closed,
            "properties": terms | order,
            "examples": [_example(fields)],
        },
    }


def _example(fields: dict[str, Schema]) -> dict[str, Any]:
    name, schema = next(iter(fields.items()))
    values = {"Boolean": True, "Integer": 123, "Key": 123, "Moment": {"+gte": "2026-03-01T12:00:00"}, "Number": 1}
    return {name: values.get(_kind(schema), {"+contains": "example"})}


def _kind(schema: Schema) -> str:
    """Return the kind of conditions that a field accepts."""
    if "array" in types_of(schema):
        return _kind(schema["items"])
    if schema.get("format") == MOMENT["format"]:
        return "Moment"
    kinds = [kind for kind in types_of(schema) if kind != "null"]
    names = {"boolean": "Boolean", "integer": "Integer", "number": "Number", "string": "Text"}
    return names.get(kinds[0], "Text") if len(kinds) == 1 else "Key"


def _condition(kind: str) -> Schema:
    """A value that the field must have, or conditions on it."""
    return {"anyOf": [or_null(SCALARS[kind]), {"$ref": f"{PREFIX}{kind}Conditions"}]}


def _conditions(kind: str) -> Schema:
    scalar = SCALARS[kind]
    operators: dict[str, Schema] = {"+neq": or_null(scalar)}
    if kind == "Text":
        operators["+contains"] = scalar
    elif kind not in ("Boolean", "Key"):
        operators |= dict.fromkeys(COMPARISONS, scalar)
    several = {"type": "array", "items": _condition(kind), "maxItems": MAX_TERMS}
    operators |= {"+and": several, "+or": several}
    return {
        "type": "object",
        "description": "What must hold for one field of a filter; all of it, if several.",
        "properties": {name: {**operator, "description": FIELDS[name]} for name, operator in operators.items()},
        "additionalProperties": False,
        "minProperties": 1,
    }
