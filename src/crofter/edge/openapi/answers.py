"""Bodies, responses, errors and their headers in the interface description."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from msgspec import UNSET

from crofter import SPEC_VERSION, errors
from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.examples import example
from crofter.edge.openapi.field_words import FIELDS
from crofter.edge.openapi.planned import plannable
from crofter.edge.openapi.recorded import recorded
from crofter.edge.openapi.schemas import PREFIX, Schema, Schemas, answered
from crofter.edge.problems import STATUSES, TooLarge, UnsupportedMediaType
from crofter.errors import Problem
from crofter.results import NoContent, Reply, Stream

OK = "200"
NOTHING = "204"
JSON = "application/json"
BINARY = "application/octet-stream"

REFUSALS: dict[type[Problem], str] = {
    errors.Invalid: "The request cannot be done as it was sent; every reason is listed.",
    errors.Unauthenticated: "No token, or none that is good.",
    errors.Forbidden: "The token's scopes or the user's grants are not enough.",
    errors.NotFound: "There is no such object, or it is not the caller's to see.",
    errors.Conflict: "This contradicts what has happened already.",
    TooLarge: "The body is longer than this operation takes.",
    UnsupportedMediaType: "The body is of a kind that this operation does not take.",
    errors.TooMany: "Over a rate limit; `Retry-After` says for how long.",
    errors.Unavailable: "The service is busy or in maintenance; `Retry-After` says when to come back.",
}

SCHEMAS: dict[str, Schema] = {
    "Empty": {"type": "object", "description": "Nothing to say.", "maxProperties": 0, "examples": [{}]},
    "Error": {
        "type": "object",
        "description": "One reason why a request was refused.",
        "properties": {
            "field": {"type": "string", "description": "The field that is to blame, if one is; nested ones by path."},
            "reason": {"type": "string", "description": "What is wrong."},
        },
        "required": ["reason"],
        "examples": [{"reason": "Length must be 3-50 characters", "field": "label"}],
    },
    "Errors": {
        "type": "object",
        "description": "The body of every failure.",
        "properties": {
            "errors": {
                "type": "array",
                "items": {"$ref": PREFIX + "Error"},
                "minItems": 1,
                "description": FIELDS["errors"],
            }
        },
        "required": ["errors"],
        "examples": [{"errors": [{"reason": "Length must be 3-50 characters", "field": "label"}]}],
    },
}


def _header(description: str, kind: str = "string", *, always: bool = True, **more: Any) -> Schema:
    required = {"required": True} if always else {}
    return {"description": description, **required, "schema": {"type": kind, **more}}


EVERYWHERE = {
    "Retry-After": _header("Seconds until the rate limit's window ends.", "integer", minimum=0),
    "X-Accepted-OAuth-Scopes": _header(
        "The scopes that this operation needs. `*`: no particular scope; any token is accepted, and a public "
        "operation needs none. In X-OAuth-Scopes `*` means every scope."
    ),
    "X-OAuth-Scopes": _header("The scopes of the token that was shown; `unknown` without one."),
    "X-RateLimit-Limit": _header("Requests that fit into one window.", "integer", minimum=0),
    "X-RateLimit-Remaining": _header("Requests left in this window. A costly one is several.", "integer", minimum=0),
    "X-RateLimit-Reset": _header("When the window ends, in seconds since 1970.", "integer", minimum=0),
    "X-Request-Id": _header("Names this request in the log."),
    "X-Spec-Version": _header("The version of the interface.", const=SPEC_VERSION),
}
HEADERS = EVERYWHERE | {
    "Deprecation": _header("`true`: the operation will go away.", always=False),
    "Idempotent-Replayed": _header("`true` on an answer that was kept from an earlier request.", always=False),
    "Preference-Applied": _header("`plan`: nothing was done, the answer is a plan.", always=False),
    "WWW-Authenticate": _header("How to authenticate, and with which scope."),
    "Warning": _header("What replaces the operation.", always=False),
    "X-Maintenance-Mode": _header("Why the service is in maintenance, while it is.", always=False),
}


def _headers(*more: str) -> dict[str, Schema]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*EVERYWHERE, *more)}


def refusals() -> dict[str, Schema]:
    """The answers that all operations share."""
    more = {
        errors.Unauthenticated: ("WWW-Authenticate",),
        errors.Unavailable: ("X-Maintenance-Mode",),
    }
    return {
        kind.__name__: {
            "description": words,
            "headers": _headers(*more.get(kind, ())),
            "content": {
                JSON: {"schema": {"$ref": PREFIX + "Errors"}, "example": {"errors": [{"reason": kind.default}]}}
            },
        }
        for kind, words in REFUSALS.items()
    }


def request_body(endpoint: Endpoint, schemas: Schemas) -> Schema | None:
    if endpoint.body is not None:
        schema = schemas.of(endpoint.body)
        required = bool(schemas.resolved(schema).get("required"))
        return {
            "required": required,
            "content": {JSON: {"schema": schema, "example": _sent(endpoint, schema, schemas)}},
        }
    if endpoint.upload is None:
        return None
    content = {kind: {"schema": _uploaded(kind)} for kind in endpoint.accepts or (BINARY,)}
    if JSON in content:
        content[JSON]["example"] = recorded(endpoint.name).request or {}
    required = JSON not in content  # no JSON at all is taken for an empty object
    return {"required": required, "description": f"At most {endpoint.max_body} bytes.", "content": content}


def _sent(endpoint: Endpoint, schema: Schema, schemas: Schemas) -> Any:
    """Return the recorded body of the operation, or a generated example."""
    return recorded(endpoint.name).request or example(schema, schemas.components)


def _uploaded(content_type: str) -> Schema:
    if content_type == JSON:
        return {"type": "object"}
    if not content_type.startswith("multipart/"):
        return {"type": "string", "contentMediaType": content_type}
    file = {"type": "string", "contentMediaType": BINARY, "description": "The file."}
    return {"type": "object", "properties": {"file": file}, "required": ["file"]}


def answers_of(endpoint: Endpoint, endpoints: Sequence[Endpoint], schemas: Schemas) -> dict[str, Schema]:
    """The answers of an operation, by status."""
    more = ["Idempotent-Replayed"] if endpoint.method == "POST" and not endpoint.public else []
    more += ["Deprecation", "Warning"] if endpoint.deprecated else []
    more += ["Preference-Applied"] if plannable(endpoint) else []
    made: dict[str, Schema] = {}
    shapes = answered(endpoint)
    if NoContent in shapes:
        made[NOTHING] = {"description": HTTPStatus.NO_CONTENT.phrase, "headers": _headers(*more)}
    if shown := [shape for shape in shapes if shape is not NoContent]:
        content = _content(endpoint, shown, endpoints, schemas)
        made[OK] = {"description": HTTPStatus.OK.phrase, "headers": _headers(*more), "content": content}
    for kind in _refused_with(endpoint):
        made[str(STATUSES[kind])] = {"$ref": f"#/components/responses/{kind.__name__}"}
    return dict(sorted(made.items()))


def _content(
    endpoint: Endpoint, shapes: Sequence[Any], endpoints: Sequence[Endpoint], schemas: Schemas
) -> dict[str, Schema]:
    if shapes[0] is Stream:
        return {"text/event-stream": {"schema": {"type": "string", "description": "Server-Sent Events."}}}
    if shapes[0] is Reply:
        stored = next((other.accepts for other in endpoints if _stores_for(other, endpoint)), ())
        kinds = endpoint.replies or endpoint.accepts or stored or (BINARY,)
        return {kind: {"schema": {"type": "string", "contentMediaType": kind}} for kind in kinds}
    options = [{"$ref": PREFIX + "Empty"} if shape in (None, type(None)) else schemas.of(shape) for shape in shapes]
    shown = recorded(endpoint.name).answer
    if shown is UNSET:
        shown = example(options[0], {**schemas.components, **SCHEMAS})
    return {JSON: {"schema": options[0] if len(options) == 1 else {"oneOf": options}, "example": shown}}


def _stores_for(other: Endpoint, endpoint: Endpoint) -> bool:
    """True if ``endpoint`` returns the file uploaded to ``other``, such as the thumbnail of an OAuth client."""
    return other.path == endpoint.path and other.upload is not None


def _refused_with(endpoint: Endpoint) -> list[type[Problem]]:
    kinds: list[type[Problem]] = [errors.TooMany, errors.Unavailable]
    if endpoint.writes or endpoint.listing or endpoint.query:
        kinds.append(errors.Invalid)
    if not endpoint.public:
        kinds.append(errors.Unauthenticated)
    if not endpoint.public and (endpoint.scopes or endpoint.grant != "any"):
        kinds.append(errors.Forbidden)
    if endpoint.parts:
        kinds.append(errors.NotFound)
    if endpoint.writes:
        kinds += [TooLarge, UnsupportedMediaType]
    if endpoint.method == "POST":  # its Idempotency-Key may have been used with another request
        kinds.append(errors.Conflict)
    return [*kinds, *endpoint.refuses]
