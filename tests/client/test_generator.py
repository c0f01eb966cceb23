"""Commands from a description: words, arguments and flags follow rules."""

from __future__ import annotations

from typing import Any

from tools import commands

JSON = "application/json"
PAGE = [{"name": "page", "in": "query", "schema": {"type": "integer"}}]


def answers(schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"content": {JSON: {"schema": schema}}}}


def operation(name: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "summary": f"Do {name}.", "responses": answers({}), **more}


def listing(name: str, **properties: Any) -> dict[str, Any]:
    items = {"type": "object", "properties": properties}
    page = {"type": "object", "properties": {"data": {"type": "array", "items": items}}}
    return operation(name, parameters=PAGE, responses=answers(page))


def made(paths: dict[str, Any], server: str = "https://cloud.example/v4") -> dict[str, dict[str, Any]]:
    made_commands = commands.commands({"servers": [{"url": server}], "paths": paths, "components": {}})
    assert len(made_commands) == sum(method in commands.METHODS for path in paths.values() for method in path)
    return {command["operation"]: command for command in made_commands}


def words(named_commands: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: " ".join([*command["words"], *command["args"]]) for name, command in named_commands.items()}


INSTANCES = {
    "/compute/instances": {"get": listing("list_instances"), "post": operation("create_instance")},
    "/compute/instances/{computeId}": {"delete": operation("delete_instance")},
    "/compute/instances/{computeId}/boot": {"post": operation("boot")},
    "/compute/instances/{computeId}/ips": {"get": operation("list_instance_ips")},
    "/compute/instances/{computeId}/ips/{address}": {"get": operation("view_instance_ip")},
    "/compute/instances/{computeId}/volumes": {"get": listing("list_instance_volumes")},
}


def test_words_follow_the_path() -> None:
    assert words(made(INSTANCES)) == {
        "list_instances": "instances list",
        "create_instance": "instances create",
        "delete_instance": "instances delete INSTANCE",
        "boot": "instances boot INSTANCE",
        "list_instance_ips": "ips list INSTANCE",
        "view_instance_ip": "ips view INSTANCE IP",
        "list_instance_volumes": "instances volumes list INSTANCE",
    }


def test_a_collection_of_its_own_goes_before_one_of_instances() -> None:
    lines = words(made({**INSTANCES, "/networking/ips": {"get": listing("list_ips")}}))
    assert lines["list_ips"] == "ips list"
    assert lines["view_instance_ip"] == "instances ips view INSTANCE IP"


def test_what_is_there_alone_is_a_verb_and_what_can_be_changed_is_a_group() -> None:
    paths = {
        "/account": {"get": operation("view_account"), "put": operation("update_account")},
        "/account/cost": {"get": operation("view_cost")},
        "/account/settings": {"get": operation("view_settings"), "put": operation("update_settings")},
        "/account/settings/managed-enable": {"post": operation("enable")},
        "/nodebalancers/{id}/stats": {"get": operation("stats")},
        "/nodebalancers/{id}/stats/{year}/{month}": {
            "parameters": [{"name": name, "in": "path"} for name in ("id", "year", "month")],
            "get": operation("month_stats"),
        },
    }
    assert words(made(paths)) == {
        "view_account": "account view",
        "update_account": "account update",
        "view_cost": "account cost",
        "view_settings": "account settings view",
        "update_settings": "account settings update",
        "enable": "account settings managed-enable",
        "stats": "nodebalancers stats NODEBALANCER",
        "month_stats": "nodebalancers stats-month NODEBALANCER YEAR MONTH",
    }


def test_two_operations_of_the_same_words_are_both_there() -> None:
    paths = {
        "/tags/{label}": {"put": operation("rename_tag")},
        "/tags/{label}/update": {"post": operation("update_tag_secretly")},
    }
    assert words(made(paths)) == {
        "rename_tag": "tags rename-tag TAG",
        "update_tag_secretly": "tags update-tag-secretly TAG",
    }


def test_the_version_is_in_the_path_or_in_the_address() -> None:
    [in_path] = made({"/v4/tags": {"get": listing("list_tags")}}, "/").values()
    [in_address] = made({"/tags": {"get": listing("list_tags")}}).values()
    assert in_path == in_address
    beta = {"/tags": {"servers": [{"url": "https://cloud.example/v4beta"}], "get": listing("list_tags")}}
    assert made(beta)["list_tags"]["path"] == "/v4beta/tags"


def test_fields_become_flags_of_their_types() -> None:
    body = {
        "type": "object",
        "required": ["label"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "label": {"type": "string"},
            "booted": {"type": ["boolean", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "alerts": {"anyOf": [{"type": "object", "properties": {"cpu": {"type": "integer"}}}, {"type": "null"}]},
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    posted = operation("create_thing", requestBody={"content": {JSON: {"schema": body}}})
    assert made({"/things": {"post": posted}})["create_thing"]["fields"] == [
        {"name": "label", "type": "str", "required": True},
        {"name": "booted", "type": "bool"},
        {"name": "tags", "type": "str", "many": True},
        {"name": "alerts", "type": "json"},
        {"name": "alerts.cpu", "type": "int"},
        {"name": "data", "type": "json"},
    ]
