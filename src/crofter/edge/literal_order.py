"""The values of a field in the order in which they were written down: inspecting a type sorts them."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

_written: dict[frozenset[Any], tuple[Any, ...]] = {}
_read: set[type] = set()


def learn(body: type[msgspec.Struct]) -> None:
    """Record the literals of a struct and of its nested types."""
    if body in _read:
        return
    _read.add(body)
    for annotation in get_type_hints(body, include_extras=True).values():
        _look_into(annotation)


def _look_into(annotation: Any) -> None:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        learn(annotation)
    elif get_origin(annotation) is Literal:
        _written[frozenset(get_args(annotation))] = get_args(annotation)
    else:
        for part in get_args(annotation):
            _look_into(part)


def in_order(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return these values in the order of their declaration."""
    return _written.get(frozenset(values), values)
