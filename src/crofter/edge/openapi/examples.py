"""Plausible values: the ones that the types give as examples, or else made up from name, type and bounds."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

Schema = dict[str, Any]

KNOWN: dict[str, Any] = {
    "address": "203.0.113.7",
    "check_path": "/",
    "card_number": "4111111111111111",
    "country": "us",
    "cvv": "123",
    "description": "What happened, and what was expected instead.",
    "email": "alice@example.com",
    "group": "web",
    "image": "compute/debian11",
    "ip": "203.0.113.7",
    "ipv4": "203.0.113.7",
    "ipv6": "2001:db8::7",
    "kernel": "compute/grub2",
    "label": "example-1",
    "message": "Done.",
    "page": 1,
    "pages": 1,
    "password": "correct-Horse-7-battery",
    "phone": "555-0100",
    "rdns": "web-1.example.com",
    "region": "us-east",
    "region_id": "us-east",
    "results": 1,
    "root_pass": "correct-Horse-7-battery",
    "size": 2048,
    "summary": "My instance does not boot",
    "type": "compute",
    "usd": "25.00",
    "url": "/v4/compute/instances/123",
    "username": "alice",
}
BY_FORMAT = {
    "date": "2026-03-01",
    "date-time-local": "2026-03-01T12:00:00",
    "email": "alice@example.com",
    "uri": "https://example.com/",
    "uuid": "1b9f8e2c-5a3d-4c6e-9f70-8d2b4a6c1e35",
}
MANY = 123
"""The number that stands for an id."""


def example(schema: Schema, components: dict[str, Schema], name: str = "") -> Any:
    """A value of this schema; ``name`` is the field it is for."""
    if "$ref" in schema:
        return example(components[schema["$ref"].rpartition("/")[2]], components, name)
    if schema.get("examples"):
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return example(options[0], components, name)
    kind = schema.get("type")
    return _of_kind(kind[0] if isinstance(kind, list) else kind, schema, components, name)


def _of_kind(kind: str | None, schema: Schema, components: dict[str, Schema], name: str) -> Any:
    if kind == "object":
        return _object(schema, components)
    if kind == "array":
        return _array(schema, components, name)
    if kind in ("integer", "number"):
        return _number(schema, name)
    if kind == "string":
        return _text(schema, name)
    return {"boolean": False, "null": None}.get(kind or "", {})


def _object(schema: Schema, components: dict[str, Schema]) -> dict[str, Any]:
    """Every required field, and the optional ones that bring an example of their own."""
    fields: dict[str, Schema] = schema.get("properties", {})
    required = schema.get("required", [])
    shown = [name for name, field in fields.items() if name in required or field.get("examples")]
    if not shown and fields:
        shown = [next(iter(fields))]
    return {name: example(fields[name], components, name) for name in shown}


def _array(schema: Schema, components: dict[str, Schema], name: str) -> list[Any]:
    if "prefixItems" in schema:
        return [example(item, components, name) for item in schema["prefixItems"]]
    item = example(schema.get("items") or {}, components, name.removesuffix("s"))
    return [item] * max(1, schema.get("minItems", 1))


def _number(schema: Schema, name: str) -> Any:
    known = KNOWN.get(name)
    value = known if isinstance(known, int) else MANY if name == "id" or name.endswith("_id") else 1
    value = max(schema.get("minimum", value), min(schema.get("maximum", value), value))
    return float(value) if "number" in schema["type"] else value


def _text(schema: Schema, name: str) -> str:
    known = KNOWN.get(name)
    value = BY_FORMAT.get(schema.get("format", "")) or (known if isinstance(known, str) else name or "text")
    padded = value.ljust(schema.get("minLength", 0), "x")
    return padded[: schema.get("maxLength", len(padded))]


def curl(document: dict[str, Any], method: str, path: str, version: str) -> str:
    """A command that works once its ids are real ones."""
    operation = document["paths"][path][method.lower()]
    for part in document["paths"][path].get("parameters", ()):
        path = path.replace(f"{{{part['name']}}}", quote(str(part["example"]), safe=""))
    streams = "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    words = [
        "curl"
        + (" -N" if streams else "")
        + (f" -X {method}" if method != "GET" else "")
        + f' "$CROFTER{version}{path}"'
    ]
    if operation["security"]:
        words.append('-H "Authorization: Bearer $TOKEN"')
    sent = operation.get("requestBody", {}).get("content", {})
    return " \\\n  ".join(words + next((_sent(kind, content, document) for kind, content in sent.items()), []))


def _sent(kind: str, content: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the curl options for a body."""
    if kind.startswith("multipart/"):
        return ["-F file=@file"]
    if kind != "application/json":
        return [f"-H 'Content-Type: {kind}'", "--data-binary @file"]
    sent = content.get("example") or example(content["schema"], document["components"]["schemas"])
    body = json.dumps(sent, ensure_ascii=False).replace("'", "'\\''")
    return ["-H 'Content-Type: application/json'", f"-d '{body}'"]
