"""Parameters of requests: path, query and headers."""

from __future__ import annotations

import typing
from typing import Any

import msgspec

from crofter.edge.endpoint import Endpoint, QueryParameter
from crofter.edge.filters import MAX_DEPTH, MAX_PARTS, MAX_TERMS
from crofter.edge.listing import DEFAULT_SIZE
from crofter.edge.openapi.examples import example
from crofter.edge.openapi.filtering import fields_of, name_of
from crofter.edge.openapi.links import camel
from crofter.edge.openapi.planned import plannable
from crofter.edge.openapi.recorded import recorded
from crofter.edge.openapi.schemas import PREFIX, Schema, Schemas, tidy, types_of
from crofter.edge.openapi.words import part_words
from crofter.edge.protocol import MAX_HEAD

ID: Schema = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}
IDEMPOTENCY = "idempotency-key"
"""Taken by every POST, whether or not its handler wants to know of it."""

FILTER_LIMITS = (
    f"At most {MAX_TERMS} conditions, {MAX_PARTS} objects and values, {MAX_DEPTH} levels of nesting, and all "
    f"headers together {MAX_HEAD // 1024} KiB; more is refused."
)

SHARED: dict[str, Schema] = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A name for this request, made up by the caller: repeated within a day, it is answered again "
        "and not done again. The same key with another request is a conflict.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    },
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": "`plan`: do nothing, and answer with what the request would do and cost. Other preferences are "
        "ignored.",
        "schema": {"type": "string"},
        "example": "plan",
    },
    "Page": {
        "name": "page",
        "in": "query",
        "description": "Which page; beyond the last one there is an empty one.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**31, "default": 1},
    },
}


def parameters_of(endpoint: Endpoint, schemas: Schemas) -> list[Schema]:
    """The parameters of an operation, but for those of its path."""
    listed: list[Schema] = []
    if endpoint.listing is not None:
        listed += [{"$ref": "#/components/parameters/Page"}, _page_size(endpoint)]
    hints = typing.get_type_hints(endpoint.handler, include_extras=True) if endpoint.query else {}
    listed += [
        _query(parameter, hints[parameter.name]) for parameter in endpoint.query if parameter.header != IDEMPOTENCY
    ]
    if (name := name_of(endpoint, schemas)) is not None:
        listed.append(_filter(name, list(fields_of(endpoint, schemas))))
    if endpoint.method == "POST" and not endpoint.public:
        listed.append({"$ref": "#/components/parameters/IdempotencyKey"})
    if plannable(endpoint):
        listed.append({"$ref": "#/components/parameters/Prefer"})
    return listed


def parts_of(endpoint: Endpoint) -> list[Schema]:
    """The parameters of a path."""
    return [_part(endpoint, name, kind) for name, kind in endpoint.parts.items()]


def _part(endpoint: Endpoint, name: str, kind: Any) -> Schema:
    schema = tidy(msgspec.json.schema(kind))
    schema = schema | (ID if types_of(schema) == ["integer"] else {"minLength": 1}) | schema
    words = str(schema.pop("description", "")) or part_words(name)
    if f"{{{name}:path}}" in endpoint.path:
        words += " May hold a slash, as it is or as %2F."
    made: Schema = {"name": camel(name), "in": "path", "required": True, "description": words}
    shown = recorded(endpoint.name).parts.get(name) or example(schema, {}, name)
    return {**made, "schema": schema, "example": shown}


def _page_size(endpoint: Endpoint) -> Schema:
    low, high = endpoint.page_sizes
    schema = {"type": "integer", "minimum": low, "maximum": high, "default": DEFAULT_SIZE}
    return {"name": "page_size", "in": "query", "description": "Items on a page.", "schema": schema}


def _query(parameter: QueryParameter, hint: Any) -> Schema:
    schema = {key: value for key, value in tidy(msgspec.json.schema(hint)).items() if key != "description"}
    kinds = [kind for kind in types_of(schema) if kind != "null"]
    schema["type"] = kinds[0] if len(kinds) == 1 else kinds
    if kinds == ["integer"]:
        schema |= {"minimum": parameter.low, "maximum": parameter.high}
    made: Schema = {"name": parameter.name, "in": "query"}
    if parameter.header is not None:
        made = {"name": parameter.header.title(), "in": "header"}
    if parameter.description:
        made["description"] = parameter.description
    return {**made, "schema": schema}


def _filter(name: str, fields: list[str]) -> Schema:
    return {
        "name": "X-Filter",
        "in": "header",
        "description": f"Which items, and in which order. Filterable: {', '.join(fields)}. {FILTER_LIMITS}",
        "x-filterable": fields,
        "content": {"application/json": {"schema": {"$ref": PREFIX + name}}},
    }
