"""The OpenAPI document is one that client generators take whole: what it says is true, and in words that they know."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import msgspec
import pytest
from tools import coverage

from crofter.edge import openapi
from crofter.edge.filters import MAX_DEPTH, MAX_PARTS, MAX_TERMS
from crofter.edge.openapi.links import path_of
from crofter.edge.openapi.recorded import recorded
from crofter.edge.openapi.schemas import tidy
from crofter.edge.planning import PlanView
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.document import DOCUMENT
from tests.observed import errors

SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
OPERATIONS = {operation["operationId"]: operation for _, _, operation in openapi.operations(DOCUMENT)}
JSON = "application/json"

UNDESCRIBED: tuple[str, ...] = ()
"""How the names of schemas begin whose fields need no description yet. To be made shorter, never longer."""


def schemas_in(part: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the document that may be a schema, with the way to it."""
    if isinstance(part, dict):
        yield where, part
        for name, inner in part.items():
            if name not in ("example", "examples", "x-default"):
                yield from schemas_in(inner, f"{where}.{name}")
    elif isinstance(part, list):
        for place, inner in enumerate(part):
            yield from schemas_in(inner, f"{where}[{place}]")


# Bodies and answers


def test_no_field_has_a_default_that_makes_generators_require_it() -> None:
    assert [where for where, schema in schemas_in(SCHEMAS) if "default" in schema and "type" in schema] == []
    swap = SCHEMAS["InstanceCreate"]["properties"]["swap_size"]
    assert swap["description"].endswith("Default: 512.")
    assert swap["x-default"] == 512
    assert tidy({"type": "array", "default": []})["description"] == "Default: empty."
    assert "x-default" not in tidy({"type": "string", "default": None})


def test_every_array_says_what_is_in_it() -> None:
    bare = [where for where, schema in schemas_in(DOCUMENT) if "array" in _types(schema) and "items" not in schema]
    assert bare == []


def _types(schema: dict[str, Any]) -> list[Any]:
    kind = schema.get("type", [])
    return kind if isinstance(kind, list) else [kind]


NOT_ECMA = re.compile(r"\\[AZzdDwWsSbBhHRKQEG<>]|\(\?(?!:|=|!|<=|<!|<[A-Za-z])|[*+?}]\+|\[\[:|\\[-_ /@#%&=~!'\"`;:,<>]")
"""Patterns that ECMA-262 lacks, has only without the flag ``u``, or defines differently from Python."""


def patterns() -> list[str]:
    values = (schema.get("pattern") for _, schema in schemas_in(DOCUMENT))
    return sorted({pattern for pattern in values if isinstance(pattern, str)})


def test_every_pattern_means_the_same_to_ecma_262() -> None:
    for wrong in (r"^[0-9]+\Z", r"\Aa", "(?P<a>b)", "(?i)a", r"\d", "a++", r"[a\-b]"):
        assert NOT_ECMA.search(wrong), wrong
    assert patterns() != []
    assert [pattern for pattern in patterns() if NOT_ECMA.search(pattern)] == []
    assert [pattern for pattern in patterns() if not (pattern.startswith("^") and pattern.endswith("$"))] == []


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_node_compiles_every_pattern() -> None:
    script = "for (const p of JSON.parse(process.argv[1])) new RegExp(p, 'u')"
    subprocess.run(["node", "-e", script, json.dumps(patterns())], check=True, timeout=60)


def test_a_line_break_after_an_amount_is_still_refused(cloud: Cloud) -> None:
    answer = cloud.admin.post("/v4/account/payments", json={"usd": "20.00\n"})
    assert answer.status_code == 400
    assert errors(answer)[0][0] == "usd"


def test_the_slots_of_a_machine_are_fields() -> None:
    slots = [f"sd{letter}" for letter in "abcdefgh"]
    for name, known in (("ConfigCreate", slots), ("ConfigUpdate", slots), ("Rescue", slots[:7])):
        devices = SCHEMAS[name]["properties"]["devices"]
        assert list(devices["properties"]) == known
        assert devices["additionalProperties"] is False
    assert list(SCHEMAS["DevicesView"]["properties"]) == slots


@pytest.mark.parametrize(("name", "low", "high"), [("wait", 0, 60), ("after", 0, 10**18 - 1)])
def test_a_query_is_bounded_as_the_document_says(cloud: Cloud, name: str, low: int, high: int) -> None:
    listed = {parameter.get("name"): parameter for parameter in OPERATIONS["list_events"]["parameters"]}
    schema = listed[name]["schema"]
    assert (schema["minimum"], schema["maximum"]) == (low, high)
    for value in (low - 1, high + 1):
        answer = cloud.admin.get("/v4/account/events", params={name: value})
        assert answer.status_code == 400
        assert errors(answer)[0][0] == name
    assert cloud.admin.get("/v4/account/events", params={name: low}).status_code == 200


# Addresses and paths


def test_the_address_of_the_server_is_absolute_and_names_the_version() -> None:
    base = "http://127.0.0.1:8420"
    assert [server["url"] for server in DOCUMENT["servers"]] == [f"{base}/v4", f"{base}/v4beta"]
    beta = DOCUMENT["paths"]["/account/maintenance"]
    assert [server["url"] for server in beta["servers"]] == ["http://127.0.0.1:8420/v4beta"]
    only_beta = {path_of(endpoint) for endpoint in ENDPOINTS if endpoint.beta}
    assert {path for path, item in DOCUMENT["paths"].items() if "servers" in item} == only_beta
    assert [path for path in DOCUMENT["paths"] if path.startswith("/v4")] == []


def addresses(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Method and path with the version, for every server that holds for a path; parts of it without their names."""
    return {
        (method.upper(), urlsplit(server["url"]).path + re.sub(r"{[^}]*}", "{}", path))
        for path, item in document["paths"].items()
        for server in item.get("servers", document["servers"])
        for method in item.keys() & {"get", "post", "put", "delete"}
    }


def test_every_row_of_the_interface_is_in_the_document_at_its_address() -> None:
    rows = {(row.method, re.sub(r"{[^}]*}", "{}", row.path)) for row in coverage.interface()}
    assert len(coverage.interface()) == 99
    assert rows <= addresses(DOCUMENT)
    without = {**DOCUMENT, "paths": {k: v for k, v in DOCUMENT["paths"].items() if k != "/account/maintenance"}}
    assert rows - addresses(without) == {("GET", "/v4beta/account/maintenance")}


def test_the_served_document_names_the_address_that_it_was_asked_for_at(cloud: Cloud) -> None:
    def address(host: str) -> str:
        url: str = cloud.sandbox.get("/openapi.json", headers={"host": host}).json()["servers"][0]["url"]
        return url

    assert cloud.sandbox.get("/openapi.json").json()["servers"][0]["url"] == f"{cloud.url}/v4"
    port = cloud.url.rpartition(":")[2]
    assert address(f"localhost:{port}") == f"http://localhost:{port}/v4"


def test_parts_of_a_path_are_declared_once_and_named_like_no_field() -> None:
    fields = {name for schema in SCHEMAS.values() for name in schema.get("properties", {})}
    for path, item in DOCUMENT["paths"].items():
        inside = re.findall(r"{(\w+)}", path)
        assert [part["name"] for part in item.get("parameters", ())] == inside
        assert all(part["description"].endswith(".") for part in item.get("parameters", ()))
        assert [name for name in inside if "_" in name] == []
        assert [name for name in inside if name.endswith("Id") and name in fields] == []
    own = [
        parameter
        for operation in OPERATIONS.values()
        for parameter in operation.get("parameters", ())
        if parameter.get("in") == "path"
    ]
    assert own == []
    assert "/compute/instances/{computeId}/backups/{backupId}/restore" in DOCUMENT["paths"]


def test_all_operations_of_a_path_look_its_parts_up_alike() -> None:
    kinds: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        parts = list(endpoint.parts.items())
        assert kinds.setdefault(path_of(endpoint), parts) == parts


# Headers


def referred(operation: dict[str, Any]) -> set[str]:
    return {
        parameter["$ref"].rpartition("/")[2] for parameter in operation.get("parameters", ()) if "$ref" in parameter
    }


def test_what_can_be_planned_or_repeated_says_so() -> None:
    for endpoint in ENDPOINTS:
        operation = OPERATIONS[endpoint.name]
        assert ("Prefer" in referred(operation)) == (endpoint.writes and not endpoint.public)
        assert ("IdempotencyKey" in referred(operation)) == (endpoint.method == "POST" and not endpoint.public)
        if endpoint.writes and not endpoint.public:
            assert operation["x-plan"] == {"$ref": "#/components/schemas/PlanView"}
        else:
            assert "x-plan" not in operation


def test_a_plan_is_answered_as_the_document_says(cloud: Cloud) -> None:
    answer = cloud.admin.post("/v4/tags", json={"label": "planned"}, headers={"Prefer": "plan"})
    assert answer.status_code == 200
    assert answer.headers["preference-applied"] == "plan"
    assert msgspec.convert(answer.json(), PlanView, strict=True).plan.valid
    assert set(answer.json()["plan"]) == set(SCHEMAS["Plan"]["properties"])


def test_the_limits_of_a_filter_are_stated() -> None:
    parameters = [
        parameter
        for operation in OPERATIONS.values()
        for parameter in operation.get("parameters", ())
        if "x-filterable" in parameter
    ]
    assert parameters != []
    for parameter in parameters:
        assert all(f"{limit} " in parameter["description"] for limit in (MAX_TERMS, MAX_PARTS, MAX_DEPTH))


# Words and examples


def undescribed(document: dict[str, Any]) -> list[str]:
    return [
        f"{where}.{name}".removeprefix(".")
        for where, schema in schemas_in(document["components"]["schemas"])
        if "type" in schema and isinstance(schema.get("properties"), dict)
        for name, field in schema["properties"].items()
        if not field.get("description") or field["description"].startswith("Default: ")
    ]


def test_every_field_is_described() -> None:
    bad = {"components": {"schemas": {"Planted": {"type": "object", "properties": {"a": {"type": "string"}}}}}}
    assert undescribed(bad) == ["Planted.a"]
    assert [where for where in undescribed(DOCUMENT) if not where.startswith(UNDESCRIBED)] == []


def test_every_schema_and_every_parameter_is_described() -> None:
    bare = [name for name, schema in SCHEMAS.items() if not schema.get("description")]
    assert [name for name in bare if not name.startswith(UNDESCRIBED)] == []
    listed = [
        parameter
        for operation in OPERATIONS.values()
        for parameter in operation.get("parameters", ())
        if "name" in parameter
    ]
    assert [
        parameter["name"]
        for parameter in (*listed, *DOCUMENT["components"]["parameters"].values())
        if not parameter["description"]
    ] == []


def test_every_operation_has_examples() -> None:
    for name, operation in OPERATIONS.items():
        places = [operation.get("requestBody", {}), operation["responses"]["200"]]
        shown = [place["content"][JSON] for place in places if JSON in place.get("content", {})]
        assert [media for media in shown if "example" not in media and media["schema"] != {"type": "object"}] == [], (
            name
        )


def shown(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where an example is shown beside its schema: parameters, bodies and answers."""
    for path, item in document["paths"].items():
        yield from ((f"{path} {part['name']}", part) for part in item.get("parameters", ()))
        for method in sorted(item.keys() & {"get", "post", "put", "delete"}):
            for place in (item[method].get("requestBody", {}), *item[method]["responses"].values()):
                yield from ((f"{method} {path}", content) for content in place.get("content", {}).values())


def false_examples(document: dict[str, Any]) -> set[str]:
    """Examples that their own schemas refuse. All are looked at as one list, since the schemas share so much."""
    places = [(where, place) for where, place in shown(document) if "example" in place]
    schema = {"prefixItems": [place["schema"] for _, place in places], "components": document["components"]}
    errors = jsonschema_rs.validator_for(schema).iter_errors([place["example"] for _, place in places])
    return {places[int(error.instance_path[0])][0] for error in errors}


def test_every_example_is_as_its_schema_says() -> None:
    assert false_examples(DOCUMENT) == set()
    lie = {"schema": {"type": "string"}, "example": {}}
    planted = {"/tags": {"get": {"responses": {"200": {"content": {JSON: lie}}}}}}
    assert false_examples({**DOCUMENT, "paths": planted}) == {"get /tags"}


def test_examples_are_real_answers() -> None:
    """Compare with recordings; tests/test_schemathesis.py checks these against the server."""
    answering = [name for name, operation in OPERATIONS.items() if JSON in operation["responses"]["200"]["content"]]
    assert [name for name in answering if recorded(name).answer is msgspec.UNSET] == []
    create = OPERATIONS["create_instance"]
    assert create["requestBody"]["content"][JSON]["example"] == recorded("create_instance").request
    assert create["responses"]["200"]["content"][JSON]["example"]["label"] == "web-3"
