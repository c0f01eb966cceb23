"""From what a call made to the calls that view, change and delete it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.schemas import NOT_JSON, Schema, Schemas


def path_of(one: Endpoint) -> str:
    """``/v4/images/{image_id}`` of ``images/{image_id:path}``."""
    return f"/{'v4beta' if one.beta else 'v4'}/{one.path.replace(':path}', '}')}"


def links_from(one: Endpoint, endpoints: Sequence[Endpoint], schemas: Schemas) -> dict[str, Any]:
    """Links of a POST to the operations one segment further down, where the answer holds that segment."""
    if one.method != "POST" or not isinstance(one.answers, type) or one.answers in NOT_JSON:
        return {}
    fields: Schema = schemas.resolved(schemas.of(one.answers)).get("properties", {})
    return {
        other.name: {"operationId": other.name, "parameters": _parameters(one, field, part)}
        for other in sorted(endpoints, key=lambda other: other.name)
        if (part := _next_part(one, other)) is not None and (field := _field(part, fields)) is not None
    }


def _next_part(one: Endpoint, other: Endpoint) -> str | None:
    """The name of the part that ``other``'s path has beyond ``one``'s, if that is all it has."""
    start, _, last = path_of(other).rpartition("/")
    return last.strip("{}") if start == path_of(one) and last.startswith("{") else None


def _field(part: str, fields: Schema) -> str | None:
    """The field of the answer that names the object in a path."""
    if part in fields:
        return part
    return "id" if part.endswith("_id") and "id" in fields else None


def _parameters(one: Endpoint, field: str, part: str) -> dict[str, str]:
    return {**{name: f"$request.path.{name}" for name in one.parts}, part: f"$response.body#/{field}"}
