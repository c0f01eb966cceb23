"""Secret fields of the interface, by declaration and by expectation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec import inspect as shape

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.schemas import NOT_JSON, answered
from crofter.registry import ENDPOINTS
from crofter.shapes import Page

TELLING = re.compile("pass|secret|token|cvv|card_num|scratch|credential|key|code|pin$|auth|private")
"""Names under which secrets go."""


class Field(Struct, frozen=True):
    name: str
    """Endpoint and body field, or view and field."""
    secret: bool
    can_hold_secret: bool
    """True if the value is a string or an object."""

    @property
    def last(self) -> str:
        return re.split(r"[ .]", self.name)[-1].removesuffix("[]")


def bodies() -> Iterator[Field]:
    """Every field that can be sent."""
    for endpoint in ENDPOINTS:
        if endpoint.body is not None:
            for path, kind in _walk(shape.type_info(endpoint.body)):
                yield Field(f"{endpoint.name} {path}", _secret(kind), _can_hold_secret(kind))


def views() -> Iterator[Field]:
    """Every field that can be shown."""
    seen = {view for endpoint in ENDPOINTS for view in _views(endpoint)}
    for view in sorted(seen, key=lambda shown: shown.__name__):
        for path, kind in _walk(shape.type_info(view)):
            yield Field(f"{view.__name__}.{path}", _secret(kind), _can_hold_secret(kind))


def _views(endpoint: Endpoint) -> Iterator[Any]:
    for answer in answered(endpoint):
        if answer is not None and answer not in NOT_JSON:
            yield endpoint.item if getattr(answer, "__origin__", None) is Page else answer


def _walk(kind: shape.Type, path: str = "") -> Iterator[tuple[str, shape.Type]]:
    if isinstance(kind, shape.Metadata):
        yield from _walk(kind.type, path)
    elif isinstance(kind, shape.UnionType):
        for option in kind.types:
            yield from _walk(option, path)
    elif isinstance(kind, shape.ListType):
        yield from _walk(kind.item_type, f"{path}[]")
    elif isinstance(kind, shape.StructType):
        for field in kind.fields:
            here = f"{path}.{field.encode_name}" if path else field.encode_name
            yield here, field.type
            yield from _walk(field.type, here)


def _secret(kind: shape.Type) -> bool:
    if isinstance(kind, shape.Metadata):
        return bool((kind.extra or {}).get("secret")) or _secret(kind.type)
    return isinstance(kind, shape.UnionType) and any(_secret(option) for option in kind.types)


def _can_hold_secret(kind: shape.Type) -> bool:
    if isinstance(kind, shape.Metadata):
        return _can_hold_secret(kind.type)
    if isinstance(kind, shape.UnionType):
        return any(_can_hold_secret(option) for option in kind.types)
    return isinstance(kind, (shape.StrType, shape.DictType, shape.AnyType)) or (
        isinstance(kind, shape.ListType) and _can_hold_secret(kind.item_type)
    )
