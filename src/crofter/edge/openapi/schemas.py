"""Every body and view as a JSON schema: msgspec's, put into the words that OpenAPI tools know."""

from __future__ import annotations

import json
import re
import types
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.examples import example
from crofter.edge.openapi.words import describe
from crofter.edge.planning import PlanView
from crofter.results import NoContent, Reply, Stream

Schema = dict[str, Any]

PREFIX = "#/components/schemas/"
_REFERENCE = re.compile(rf'"{PREFIX}(\w+)"')
INTEGERS = ({"integer"}, {"integer", "null"})
INT64 = {"format": "int64"}
MOMENT = {
    # Not "date-time": that has a zone, and clients that take the word seriously refuse one without.
    "format": "date-time-local",
    "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$",
}
NOT_JSON = (NoContent, Reply, Stream, type(None))
ORDER = ("$ref", "type", "format", "enum", "const", "description", "deprecated", "default", "properties", "required")


class Schemas:
    """The schemas of all that the endpoints send and show, and the references to them."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        shapes = list(dict.fromkeys([PlanView, *(shape for endpoint in endpoints for shape in _shapes(endpoint))]))
        schemas, components = msgspec.json.schema_components(shapes, ref_template=PREFIX + "{name}")
        names = _names(components)
        renamed = json.loads(_renamed(json.dumps([list(schemas), components]), names))
        self._by_shape = {shape: tidy(schema) for shape, schema in zip(shapes, renamed[0], strict=True)}
        self.components: dict[str, Schema] = {names[name]: tidy(schema) for name, schema in renamed[1].items()}
        sent_to: dict[type, list[str]] = {}
        for endpoint in sorted(endpoints, key=lambda endpoint: endpoint.name):
            if endpoint.body is not None:
                sent_to.setdefault(endpoint.body, []).append(endpoint.name)
        shown = self._reached(shape for endpoint in endpoints for shape in answered(endpoint))
        for name in self._reached(sent_to) - shown:
            _optional_may_be_null(self.components[name])
        for body, operations in sent_to.items():
            self.resolved(self.of(body)).setdefault("description", f"What is sent to {' and '.join(operations)}.")
        describe(self.components)
        for name, schema in self.components.items():
            if schema.get("type") == "object" and "examples" not in schema and not name.endswith("Page"):
                schema["examples"] = [example(schema, self.components, name)]

    def _reached(self, shapes: Iterable[Any]) -> set[str]:
        """The components that these shapes consist of."""
        reached: set[str] = set()
        todo = [self._by_shape[shape] for shape in shapes if shape in self._by_shape]
        while todo:
            names = set(_REFERENCE.findall(json.dumps(todo.pop()))) - reached
            reached |= names
            todo += [self.components[name] for name in names]
        return reached

    def of(self, shape: Any) -> Schema:
        return self._by_shape[shape]

    def resolved(self, schema: Schema) -> Schema:
        """The schema itself, where a reference to it may have been given."""
        reference = schema.get("$ref")
        return schema if reference is None else self.components[reference.removeprefix(PREFIX)]


def answered(endpoint: Endpoint) -> tuple[Any, ...]:
    """The types of an endpoint's answers: one, unless it says ``A | B``."""
    if typing.get_origin(endpoint.answers) in (typing.Union, types.UnionType):
        return typing.get_args(endpoint.answers)
    return (endpoint.answers,)


def _shapes(endpoint: Endpoint) -> Iterator[Any]:
    if endpoint.body is not None:
        yield endpoint.body
    yield from (shape for shape in answered(endpoint) if shape is not None and shape not in NOT_JSON)


def _names(components: dict[str, Schema]) -> dict[str, str]:
    """Return the name of each component: its class, prefixed by its package if the name is not unique."""
    names = {key: _name(schema.get("title", key)) for key, schema in components.items()}
    often = Counter(names.values())
    return {key: name if often[name] == 1 else _package(key) + name for key, name in names.items()}


def _package(key: str) -> str:
    """``Devices`` of ``crofter.resources.profile.devices.shapes.DeviceView``."""
    return key.split(".")[-3].replace("_", " ").title().replace(" ", "")


def _name(title: str) -> str:
    """``Page[TagView]`` is called TagViewPage."""
    outer, _, inner = title.rstrip("]").partition("[")
    return "".join(part.strip().strip("_") for part in inner.split(",")) + outer.strip("_")


def _renamed(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(f'"{PREFIX}{old}"', f'"{PREFIX}{new}"')
    return text


def tidy(schema: Schema) -> Schema:
    """Return the schema with its nested schemas in the form that generators and people read best."""
    made = {key: value for key, value in schema.items() if key != "title"}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = tidy(made[key])
    for key in ("anyOf", "oneOf", "prefixItems"):
        if key in made:
            made[key] = [tidy(option) for option in made[key]]
    if "properties" in made:
        made["properties"] = {name: tidy(inner) for name, inner in made["properties"].items()}
    made = _with_default_in_words(_with_named_keys(_with_type(_without_null_option(made))))
    if "array" in types_of(made) and "prefixItems" not in made:
        made.setdefault("items", {})  # generators refuse a list without
    if "pattern" in made:
        made["pattern"] = ecma(made["pattern"])
    if made.get("format") == "date-time":
        made |= MOMENT
    if set(types_of(made)) in INTEGERS and made.get("maximum", 2**63) >= 2**31:
        made |= INT64
    return dict(sorted(made.items(), key=lambda item: ORDER.index(item[0]) if item[0] in ORDER else len(ORDER)))


def ecma(pattern: str) -> str:
    """The same pattern for ECMA-262, where ``$`` is the end itself and not also before a last line break."""
    return re.sub(r"\\Z$", "$", pattern)


def _with_named_keys(schema: Schema) -> Schema:
    """A mapping of which all keys are known, as an object with these fields."""
    keys = schema.get("propertyNames", {}).get("enum")
    if keys is None or "additionalProperties" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "propertyNames"}
    return {
        **rest,
        "properties": {key: dict(schema["additionalProperties"]) for key in keys},
        "additionalProperties": False,
    }


def _with_default_in_words(schema: Schema) -> Schema:
    """Some generators take a field with ``default`` for a required one, others fail over an object as a default."""
    if "default" not in schema:
        return schema
    made = {key: value for key, value in schema.items() if key != "default"}
    if (default := schema["default"]) is None:
        return made
    words = json.dumps(default) if default not in ([], {}, "") else "empty"
    return {**made, "description": f"{made.get('description', '')} Default: {words}.".strip(), "x-default": default}


def types_of(schema: Schema) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def nullable(schema: Schema) -> bool:
    return "null" in types_of(schema) or {"type": "null"} in schema.get("anyOf", ())


def _without_null_option(schema: Schema) -> Schema:
    """``anyOf: [T, null]`` as ``type: [T, null]``, where T is a plain type; an enum keeps the choice."""
    options = schema.get("anyOf", [])
    plain = [option for option in options if option != {"type": "null"}]
    if len(plain) != 1 or len(options) != 2 or not types_of(plain[0]):
        return schema
    return or_null({**plain[0], **{key: value for key, value in schema.items() if key != "anyOf"}})


def _with_type(schema: Schema) -> Schema:
    if "enum" not in schema or "type" in schema:
        return schema
    if None in schema["enum"]:
        return or_null(_with_type({**schema, "enum": [value for value in schema["enum"] if value is not None]}))
    names = {str: "string", int: "integer", bool: "boolean"}
    kinds = sorted({names[type(value)] for value in schema["enum"]})
    return {"type": kinds[0] if len(kinds) == 1 else kinds, **schema}


def or_null(schema: Schema) -> Schema:
    """The same, or null."""
    if nullable(schema) or not (types_of(schema) or "anyOf" in schema or "$ref" in schema):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {"anyOf": [{"$ref": schema["$ref"]}, {"type": "null"}], **rest}
    if "enum" in schema:  # generators make null one of the values, which then has no name
        values = {key: schema[key] for key in ("type", "enum")}
        rest = {key: value for key, value in schema.items() if key not in values}
        return {"anyOf": [values, {"type": "null"}], **rest}
    return {**schema, "type": [*types_of(schema), "null"]}


def _optional_may_be_null(body: Schema) -> None:
    """Allow null for optional fields; ``x-null-omits`` marks a null that is not stored."""
    for name, field in body.get("properties", {}).items():
        if name not in body.get("required", ()) and not nullable(field):
            body["properties"][name] = {**or_null(field), "x-null-omits": True}
