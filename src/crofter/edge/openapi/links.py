"""From what a call made to the calls that view, change and delete it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.schemas import NOT_JSON, Schema, Schemas

_PART = re.compile(r"{(\w+)(:path)?}")


def path_of(endpoint: Endpoint) -> str:
    """``/images/{imageId}`` of ``images/{image_id:path}``; the version before it is in the address of the server."""
    return "/" + _PART.sub(lambda match: f"{{{camel(match[1])}}}", endpoint.path)


def camel(name: str) -> str:
    """``computeId`` of ``compute_id``: so that a part of the path is never called like a field of a body."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def links_from(endpoint: Endpoint, endpoints: Sequence[Endpoint], schemas: Schemas) -> dict[str, Any]:
    """Return links to the operations on the object of a response.

    Links lead from a POST, or from a read-only collection, to each operation whose path has one more part, where a
    field of the response supplies that part.
    """
    item = _item(endpoint, endpoints)
    if item is None:
        return {}
    place, shape = item
    fields: Schema = schemas.resolved(shape(schemas)).get("properties", {})
    return {
        other.name: {"operationId": other.name, "parameters": _parameters(endpoint, f"{place}/{field}", part)}
        for other in sorted(endpoints, key=lambda other: other.name)
        if (part := _next_part(endpoint, other)) is not None and (field := _field(part, fields)) is not None
    }


def _item(endpoint: Endpoint, endpoints: Sequence[Endpoint]) -> tuple[str, Callable[[Schemas], Schema]] | None:
    """Where in the answer the object is, and how to find its schema."""
    if endpoint.method == "POST" and isinstance(endpoint.answers, type) and endpoint.answers not in NOT_JSON:
        return "", lambda schemas: schemas.of(endpoint.answers)
    if endpoint.item is not None and not any(
        other.path == endpoint.path and other.method == "POST" for other in endpoints
    ):
        return "/data/0", lambda schemas: schemas.resolved(schemas.of(endpoint.answers))["properties"]["data"]["items"]
    return None


def _next_part(endpoint: Endpoint, other: Endpoint) -> str | None:
    """The name of the part that ``other``'s path has beyond ``one``'s, if it has one and no more."""
    start = path_of(endpoint) + "/{"
    if not path_of(other).startswith(start):
        return None
    if endpoint.beta != other.beta:
        return None  # a link leads to an operation of the same server
    name, _, rest = path_of(other).removeprefix(start).partition("}")
    return None if "{" in rest else name


def _field(part: str, fields: Schema) -> str | None:
    """The field of the answer that names the object in a path."""
    if part in fields:
        return part
    return "id" if part.endswith("Id") and "id" in fields else None


def _parameters(endpoint: Endpoint, place: str, part: str) -> dict[str, str]:
    return {**{name: f"$request.path.{name}" for name in map(camel, endpoint.parts)}, part: f"$response.body#{place}"}
