"""Schemas as a person reads them: one line for each field, nested ones by their path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]

DEEPEST = 4


class Line(NamedTuple):
    """A field of a body or of an answer."""

    name: str
    type: str
    notes: str
    required: bool
    filterable: bool
    deprecated: bool


class Reader:
    """Reader of the schemas of a document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._components: dict[str, dict[str, Any]] = document["components"]

    def find(self, item: Schema) -> Schema:
        """Resolve a reference; return other schemas unchanged."""
        reference = item.get("$ref")
        if reference is None:
            return item
        kind, name = reference.split("/")[2:]
        schema: Schema = self._components[kind][name]
        return schema

    def lines(self, schema: Schema, start: str = "", depth: int = 0) -> Iterator[Line]:
        """The fields of an object, those of the objects inside it after their own."""
        schema = self.find(schema)
        required = schema.get("required", ())
        for name, field in schema.get("properties", {}).items():
            path = f"{start}{name}"
            yield self.line(path, field, required=name in required)
            inner, mark = self._inside(field)
            if inner is not None and depth < DEEPEST:
                yield from self.lines(inner, f"{path}{mark}.", depth + 1)

    def line(self, name: str, field: Schema, *, required: bool) -> Line:
        return Line(
            name,
            self.type(field),
            self.notes(field),
            required,
            bool(field.get("x-filterable")),
            bool(field.get("deprecated")),
        )

    def _inside(self, field: Schema) -> tuple[Schema | None, str]:
        """The object that a field holds, or holds a list of."""
        for option in self._options(field):
            schema = self.find(option)
            if schema.get("properties"):
                return schema, ""
            if isinstance(schema.get("items"), dict) and (inner := self._inside(schema["items"])[0]) is not None:
                return inner, "[]"
        return None, ""

    def _options(self, field: Schema) -> list[Schema]:
        options: list[Schema] = field.get("anyOf") or field.get("oneOf") or [field]
        return [option for option in options if option != {"type": "null"}]

    def type(self, field: Schema) -> str:
        """``array of string, or null`` and the like."""
        schema = self.find(field)
        kinds = schema.get("type", [])
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        if "anyOf" in schema or "oneOf" in schema:
            names = [self.type(option) for option in self._options(schema)]
            names += ["null"] if {"type": "null"} in schema.get("anyOf", ()) else []
        if field.get("x-null-omits") and "null" in names:
            names.remove("null")
        if "array" in names and isinstance(schema.get("items"), dict):
            names[names.index("array")] = f"array of {self.type(schema['items'])}"
        return " or ".join(dict.fromkeys(names)) or "any JSON"

    def notes(self, field: Schema) -> str:
        """Bounds, values and words, in a sentence or two."""
        schema = self.find(field)
        words = [field.get("description") or schema.get("description") or ""]
        listed = [value for option in self._options(schema) for value in self.find(option).get("enum", ())]
        if values := [str(value) for value in listed]:
            words.append(f"One of {', '.join(values)}.")
        words += _bounds(schema)
        if isinstance(schema.get("items"), dict):
            words += [f"Each: {bound}" for bound in _bounds(self.find(schema["items"]))]
        if schema.get("default") is not None:  # parameters only; fields have the default in their description
            words.append(f"Default: {json.dumps(schema['default'])}.")
        return " ".join(word for word in words if word)


def _bounds(schema: Schema) -> list[str]:
    words = [
        _span(schema, "minLength", "maxLength", " characters"),
        _span(schema, "minItems", "maxItems", " items"),
        _span(schema, "minimum", "maximum", ""),
    ]
    if schema.get("format") == "date-time-local":
        words.append("YYYY-MM-DDTHH:MM:SS.")
    elif "pattern" in schema:
        words.append(f"Matches {schema['pattern']}.")
    return [word for word in words if word]


def _span(schema: Schema, lowest: str, highest: str, unit: str) -> str:
    low, high = schema.get(lowest), schema.get(highest)
    if high is not None and high >= 2**31:
        high = None  # the end of the number range is no news
    if low is not None and low <= -(2**31):
        low = None
    if low is None and high is None:
        return ""
    if high is None:
        return f"At least {low}{unit}."
    return f"At most {high}{unit}." if low is None else f"{low} to {high}{unit}."
