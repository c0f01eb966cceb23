"""The interface as OpenAPI 3.1, read off the endpoints: for client generators, fuzzers, the docs page and diffs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from crofter import SPEC_VERSION, __version__
from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.answers import HEADERS, OK, SCHEMAS, answers_of, refusals, request_body
from crofter.edge.openapi.filtering import filters_of
from crofter.edge.openapi.links import links_from, path_of
from crofter.edge.openapi.parameters import SHARED, parameters_of, parts_of
from crofter.edge.openapi.planned import PLAN, plannable
from crofter.edge.openapi.schemas import Schemas

SERVED = {"v4": "Everything but what is in beta.", "v4beta": "Everything."}
METHODS = ("GET", "POST", "PUT", "DELETE")
WIDTH = 100
SHORT = re.compile(r'\[\n(?:\s+(?:"[^"\\]*"|-?[0-9.]+|null),?\n)+\s+\]|\{\n\s+"\$ref": "[^"]*"\n\s+\}')
"""A list of plain values, or a lone reference."""
DESCRIPTION = """\
The account and compute service of this address, in JSON over HTTP.

Every operation is served under `/v4beta` as well as under `/v4`; those with `/v4beta` as their server are there only. \
PUT changes the fields that are sent and leaves the others. Fields that are unknown or read-only are ignored, and \
`null` for an optional field that cannot be null is the same as leaving it out. Date-times are UTC without a zone. \
Every failure has the same body, with a `field` where one is to blame.

With the header `Prefer: plan` a write is not done: the answer says what it would do, as \
`{"plan": {"valid": true, "events": [...], "objects": [...], "price": {"hourly": 0, "monthly": 0}}}`, or it is refused \
as the write would be. `x-plan` of an operation names the schema of this answer. \
The price is the change of what the account pays, in US dollars."""


ADDRESS = "http://127.0.0.1:8420"
"""Default address of a server."""


def render(endpoints: Sequence[Endpoint], address: str = ADDRESS) -> str:
    """The document as it is committed and served: indented, with what is short on one line."""
    text = json.dumps(document(endpoints, __version__, address), indent=2, ensure_ascii=False)
    return SHORT.sub(lambda match: _one_line(match[0]), text) + "\n"


def _one_line(text: str) -> str:
    joined = " ".join(line.strip() for line in text.split("\n"))
    return f"{joined[0]}{joined[1:-1].strip()}{joined[-1]}" if len(joined) < WIDTH else text


def document(endpoints: Sequence[Endpoint], version: str, address: str = ADDRESS) -> dict[str, Any]:
    schemas = Schemas(endpoints)
    filters = filters_of(endpoints, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "crofter",
            "version": version,
            "summary": "A self-hosted cloud account and compute service.",
            "description": DESCRIPTION,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
            "x-spec-version": SPEC_VERSION,
        },
        "servers": _servers(address, "v4", "v4beta"),
        "tags": _by_tag(endpoints),
        "paths": _paths(endpoints, schemas, address),
        "components": {
            "schemas": dict(sorted({**schemas.components, **filters, **SCHEMAS}.items())),
            "responses": refusals(),
            "parameters": SHARED,
            "headers": HEADERS,
            "securitySchemes": _security_schemes(endpoints, address),
        },
    }


def _by_tag(endpoints: Sequence[Endpoint]) -> list[dict[str, str]]:
    """Return the tags, each described by the first words of its modules."""
    modules = sorted({(endpoint.tag, endpoint.handler.__module__) for endpoint in endpoints})
    described: dict[str, list[str]] = {}
    for tag, module in modules:
        described.setdefault(tag, []).append((sys.modules[module].__doc__ or "").strip())
    return [{"name": tag, "description": " ".join(words)} for tag, words in described.items()]


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path without the version, and description of each operation."""
    for path, item in document["paths"].items():
        yield from ((method, path, item[method.lower()]) for method in METHODS if method.lower() in item)


def version_of(document: dict[str, Any], path: str) -> str:
    """``/v4``, or ``/v4beta`` for what is only there."""
    servers = document["paths"][path].get("servers") or document["servers"]
    return f"/{servers[0]['url'].rpartition('/')[2]}"


def _servers(address: str, *versions: str) -> list[dict[str, str]]:
    return [{"url": f"{address}/{version}", "description": SERVED[version]} for version in versions]


def _paths(endpoints: Sequence[Endpoint], schemas: Schemas, address: str) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in sorted(endpoints, key=lambda endpoint: (path_of(endpoint), METHODS.index(endpoint.method))):
        item = paths.setdefault(path_of(endpoint), {})
        if endpoint.beta:
            # Clients know one server for all operations of a path.
            item["servers"] = _servers(address, "v4beta")
        if endpoint.parts and "parameters" not in item:
            item["parameters"] = parts_of(endpoint)
        item[endpoint.method.lower()] = _operation(endpoint, endpoints, schemas)
    return paths


def _operation(endpoint: Endpoint, endpoints: Sequence[Endpoint], schemas: Schemas) -> dict[str, Any]:
    summary, _, more = endpoint.summary.partition("\n")
    description = " ".join(
        filter(None, (more.strip(), f"Deprecated: use {endpoint.deprecated}." if endpoint.deprecated else ""))
    )
    operation: dict[str, Any] = {"operationId": endpoint.name, "tags": [endpoint.tag], "summary": summary}
    if description:
        operation["description"] = description
    if endpoint.deprecated:
        operation["deprecated"] = True
    operation |= {
        "security": _security(endpoint),
        "x-scope": endpoint.scope,
        "x-grant": endpoint.grant,
        "x-events": list(endpoint.events),
    }
    if plannable(endpoint):
        operation["x-plan"] = PLAN
    if endpoint.rate != "general":
        operation["x-rate-limit"] = endpoint.rate
    if endpoint.weight > 1:
        operation["x-rate-limit-weight"] = endpoint.weight
    if listed := parameters_of(endpoint, schemas):
        operation["parameters"] = listed
    if body := request_body(endpoint, schemas):
        operation["requestBody"] = body
    operation["responses"] = answers_of(endpoint, endpoints, schemas)
    if links := links_from(endpoint, endpoints, schemas):
        operation["responses"][OK]["links"] = links
    return operation


def _security(endpoint: Endpoint) -> list[dict[str, list[str]]]:
    return [] if endpoint.public else [{"token": list(endpoint.scopes)}, {"oauth": list(endpoint.scopes)}]


def _security_schemes(endpoints: Sequence[Endpoint], address: str) -> dict[str, Any]:
    scopes = sorted({scope for endpoint in endpoints for scope in endpoint.scopes})
    described = {scope: _scope_words(scope) for scope in scopes}
    return {
        "token": {"type": "http", "scheme": "bearer", "description": "A personal access token."},
        "oauth": {
            "type": "oauth2",
            "description": "A token that a user gave to an OAuth client.",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": f"{address}/oauth/authorize",
                    "tokenUrl": f"{address}/oauth/token",
                    "refreshUrl": f"{address}/oauth/token",
                    "scopes": described,
                }
            },
        },
    }


def _scope_words(scope: str) -> str:
    group, _, level = scope.partition(":")
    return f"{'Read' if level == 'read_only' else 'Read and change'}: {group.replace('_', ' ')}."
