"""The OpenAPI document of a server with a dialect: what its rules change in answers, and the paths of its aliases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import json as msgspec_json
from msgspec.structs import replace

from crofter.dialect.file import Dialect
from crofter.dialect.rules import EVERY, Rule
from crofter.edge.openapi.schemas import types_of

Schema = dict[str, Any]
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")
METHODS = ("get", "post", "put", "delete")


def described(text: str, dialect: Dialect) -> str:
    """``text`` is the document in the dialect's words."""
    if not (dialect.rules or dialect.aliases):
        return text
    document = json.loads(text)
    outward = str if dialect.words is None else dialect.words.outward
    rules = {
        outward(name): [replace(rule, action=outward(rule.action)) for rule in listed]
        for name, listed in dialect.rules.items()
    }
    for item in document["paths"].values():
        for operation in (item[method] for method in METHODS if method in item):
            if operation_rules := rules.get(operation["operationId"]):
                _change(operation, operation_rules, document["components"]["schemas"])
    made: dict[str, Any] = {}
    for alias in dialect.aliases:
        for path, item in _aliased(document, alias.path, outward(alias.to)):
            made[path] = {**item, "servers": [*made.get(path, {}).get("servers", ()), *item["servers"]]}
    document["paths"] = dict(sorted({**document["paths"], **made}.items()))
    _drop_unused(document)
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _change(operation: dict[str, Any], rules: Sequence[Rule], components: dict[str, Schema]) -> None:
    content = operation["responses"].get("200", {}).get("content", {}).get("application/json")
    if content is None:
        return
    content.pop("example", None)  # recorded without the dialect
    for rule in rules:
        content["schema"] = _inside(content["schema"], rule.field, rule, components)


def _drop_unused(document: dict[str, Any]) -> None:
    """Remove the schemas that only changed answers referred to."""
    schemas = document["components"]["schemas"]
    while unused := schemas.keys() - set(_REFERENCE.findall(json.dumps(document))):
        for name in unused:
            del schemas[name]


def _inside(schema: Schema, field: Sequence[str], rule: Rule, components: dict[str, Schema]) -> Schema:
    """The schema with the field at the end of the way changed. What is referred to on the way is written out here,
    since other operations show it without the change.
    """
    if "$ref" in schema:
        return _inside(components[schema["$ref"].rpartition("/")[2]], field, rule, components)
    for choice in ("anyOf", "oneOf"):  # an object or null
        if choice in schema:
            return {**schema, choice: [_inside(option, field, rule, components) for option in schema[choice]]}
    if types_of(schema) == ["null"]:
        return schema
    name, *rest = field
    made = {key: value for key, value in schema.items() if key != "examples"}
    if name == EVERY:
        return {**made, "items": _inside(schema.get("items", {}), rest, rule, components)}
    properties = dict(schema.get("properties", {}))
    if rest:
        if name in properties or rule.does == "add":
            properties[name] = _inside(properties.get(name, {"type": "object"}), rest, rule, components)
    elif rule.does == "add":
        properties.setdefault(name, _constant(rule))
    elif name in properties:
        properties[name] = _listed(properties[name]) if rule.does == "list" else _while(properties[name], rule)
    return {**made, "properties": properties}


def _constant(rule: Rule) -> Schema:
    return {"const": msgspec_json.decode(rule.value), "description": "Always this, in the dialect of this server."}


def _listed(schema: Schema) -> Schema:
    """Return the schema of a list of at most one item, for a field that was a value or null."""
    if "array" in types_of(schema):
        return schema
    item = {key: value for key, value in schema.items() if key != "description"}
    if "null" in types_of(item):
        item["type"] = next(kind for kind in types_of(item) if kind != "null")
    if {"type": "null"} in item.get("anyOf", ()):
        options = [option for option in item["anyOf"] if option != {"type": "null"}]
        item = options[0] if len(options) == 1 else {**item, "anyOf": options}
    described = {"description": schema["description"]} if "description" in schema else {}
    return {"type": "array", "items": item, "maxItems": 1, **described}


def _while(schema: Schema, rule: Rule) -> Schema:
    value = msgspec_json.decode(rule.value)
    words = f"{schema.get('description', '')} `{value}` while {rule.action} is under way.".strip()
    made = {**_with_value(schema, value), "description": words}
    if "anyOf" in schema:  # an enum or null
        made["anyOf"] = [_with_value(option, value) for option in schema["anyOf"]]
    return made


def _with_value(schema: Schema, value: Any) -> Schema:
    if "enum" not in schema or value in schema["enum"]:
        return schema
    return {**schema, "enum": [*schema["enum"], value]}


def _aliased(document: dict[str, Any], path: str, to: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The items of the paths that an alias adds: that of its own, and of all below."""
    version, short = _apart(path)
    own_version, own = _apart(to)
    wanted = re.sub(r"{[^}]*}", "{}", own)
    root = document["servers"][0]["url"].rpartition("/")[0]
    for known, item in document["paths"].items():
        plain = re.sub(r"{[^}]*}", "{}", known)
        if plain != wanted and not plain.startswith(f"{wanted}/"):
            continue
        if "servers" in item and own_version != "v4beta":
            continue
        depth = len(own.split("/"))
        names = dict(zip(_parts("/".join(known.split("/")[:depth])), _parts(short), strict=True))
        rest = "/".join(known.split("/")[depth:])
        made = _renamed(item, names, f"_at_{re.sub('[^a-z0-9]+', '_', short.lower()).strip('_')}")
        made["servers"] = [{"url": f"{root}/{version}", "description": f"Where the dialect has {path}."}]
        yield f"{short}/{rest}".rstrip("/"), made


def _apart(path: str) -> tuple[str, str]:
    """Split the version from a path."""
    version, _, rest = path.strip("/").partition("/")
    return version, f"/{rest}"


def _parts(path: str) -> list[str]:
    return re.findall(r"{([^}]*)}", path)


def _renamed(item: dict[str, Any], names: dict[str, str], suffix: str) -> dict[str, Any]:
    """The same with the parameters called as in the path of the alias, and names of their own for the operations."""
    made = dict(item)
    if "parameters" in item:
        made["parameters"] = [{**part, "name": names.get(part["name"], part["name"])} for part in item["parameters"]]
    for method in METHODS:
        if method in item:
            made[method] = {**item[method], "operationId": item[method]["operationId"] + suffix}
            made[method]["responses"] = {
                status: {key: value for key, value in response.items() if key != "links"}
                for status, response in item[method]["responses"].items()
            }
    return made
