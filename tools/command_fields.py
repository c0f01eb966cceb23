"""The fields of bodies and answers, as flags and columns of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]
Schema = dict[str, Any]

TYPES = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}
MAX_DEPTH = 3
COLUMNS = 7
FIRST = (
    "id username address label data.id data.label summary filename action entity.label status state service_type type "
    "region ipv4 size percent_complete created date total amount usd version restricted email scopes expiry"
).split()
"""Preferred columns of lists, in order. Other plain fields follow."""
EMPTY = ("initrd",)
"""Fields that are null in every answer."""


def resolved(document: Document, schema: Schema) -> Schema:
    """Without references and without the choice of null."""
    while "$ref" in schema:
        target = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = {**target, **{name: value for name, value in schema.items() if name != "$ref"}}
    for choice in ("anyOf", "oneOf", "allOf"):
        options = [option for option in schema.get(choice, []) if option.get("type") != "null"]
        if len(options) == 1:
            outer = {name: value for name, value in schema.items() if name != choice}
            return {**resolved(document, options[0]), **outer}
    return schema


def kinds_of(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]


def scalar_type(document: Document, schema: Schema) -> str:
    """``any`` takes numbers as numbers and all else as text; ``json`` is for what has parts."""
    schema = resolved(document, schema)
    kinds = set(kinds_of(schema))
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        kinds |= set(kinds_of(resolved(document, option)))
    if len(kinds) == 1:
        return TYPES.get(next(iter(kinds)), "json")
    return "any" if kinds and kinds <= set(TYPES) else "json"


def fields_of(document: Document, schema: Schema, prefix: str = "", depth: int = 1) -> list[dict[str, Any]]:
    schema = resolved(document, schema)
    fields: list[dict[str, Any]] = []
    for name, inner in schema.get("properties", {}).items():
        field = resolved(document, inner)
        if field.get("readOnly"):
            continue
        fields.append(_field(document, prefix + name, field, required=name in schema.get("required", ())))
        if "properties" in field and depth < MAX_DEPTH:
            fields += fields_of(document, field, f"{prefix}{name}.", depth + 1)
    return fields


def _field(document: Document, name: str, schema: Schema, *, required: bool) -> dict[str, Any]:
    many = kinds_of(schema) == ["array"]
    items = resolved(document, schema.get("items", {})) if many else schema
    made = {
        "name": name,
        "type": scalar_type(document, items),
        "many": many,
        "required": required,
        "choices": [option for option in items.get("enum", []) if option is not None],
        "help": schema.get("description", ""),
    }
    return {key: value for key, value in made.items() if value}


def filters_of(document: Document, headers: list[Schema], item: Schema) -> dict[str, str]:
    """The fields that can be filtered by, with their types."""
    names: list[str] = next(
        (header.get("x-filterable", []) for header in headers if header["name"].lower() == "x-filter"), []
    )
    return {name: _type_of(document, item, name) for name in names}


def _type_of(document: Document, item: Schema, name: str) -> str:
    field = item
    for part in name.split("."):
        field = resolved(document, resolved(document, field).get("properties", {}).get(part, {}))
    if kinds_of(field) == ["array"]:
        field = resolved(document, field.get("items", {}))
    kind = scalar_type(document, field)
    return "any" if kind == "json" else kind


def columns_of(document: Document, item: Schema) -> list[str]:
    """Return the default columns of a table."""
    plain = [name for name in _plain_fields(document, item) if name not in EMPTY]
    wanted = [name for name in FIRST if name in plain]
    return [*wanted, *(name for name in plain if name not in wanted and "." not in name)][:COLUMNS]


def _plain_fields(document: Document, item: Schema, prefix: str = "") -> Iterator[str]:
    for name, inner in item.get("properties", {}).items():
        field = resolved(document, inner)
        kinds = kinds_of(field)
        if kinds == ["array"]:
            kinds = kinds_of(resolved(document, field.get("items", {})))
        if kinds and set(kinds) <= set(TYPES):
            yield prefix + name
        elif "properties" in field and not prefix:
            yield from _plain_fields(document, field, f"{name}.")
        elif not kinds and not prefix and not {"anyOf", "oneOf"} & set(field):  # an object of any kind
            yield from (f"{name}.id", f"{name}.label")
