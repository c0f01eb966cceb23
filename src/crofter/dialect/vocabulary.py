"""The words that the interface uses already, which a dialect may not use for another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

from crofter.dialect.shapes import plain_types
from crofter.edge.endpoint import Endpoint
from crofter.scopes import RESOURCES

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def vocabulary(endpoints: Iterable[Endpoint]) -> set[str]:
    """Every word in paths, names of fields, values of enumerations, actions and scopes; in small letters."""
    return {part.lower() for name in _names(endpoints) for part in _PART.findall(name)}


def _names(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    yield from ("v4", "beta", "private", "any", "all", *RESOURCES)
    seen: set[type] = set()
    for endpoint in endpoints:
        yield endpoint.path
        yield from endpoint.events
        yield from (parameter.name for parameter in endpoint.query)
        for annotation in (endpoint.answers, endpoint.body):
            for info in plain_types(annotation):
                yield from _inside(info, seen)


def _inside(info: Any, seen: set[type]) -> Iterator[str]:
    if isinstance(info, inspect.StructType):
        if info.cls in seen:
            return
        seen.add(info.cls)
        for field in info.fields:
            yield field.encode_name
            yield from _inside(field.type, seen)
    elif isinstance(info, inspect.LiteralType):
        yield from (str(value) for value in info.values)
    else:
        inner = [getattr(info, name, None) for name in ("type", "item_type", "value_type")]
        for part in (*inner, *getattr(info, "types", ())):
            if isinstance(part, inspect.Type):
                yield from _inside(part, seen)
