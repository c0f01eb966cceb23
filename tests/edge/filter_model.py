"""Model of ``X-Filter`` in plain Python, for comparison with the SQL."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

Item = dict[str, Any]

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "+gt": operator.gt,
    "+gte": operator.ge,
    "+lt": operator.lt,
    "+lte": operator.le,
}


def value_of(item: Item, field: str) -> Any:
    """``entity.id`` of an item; None where there is no entity."""
    value: Any = item
    for part in field.split("."):
        value = None if value is None else value[part]
    return value


def matches(item: Item, wanted: dict[str, Any]) -> bool:
    return all(_entry(item, key, value) for key, value in wanted.items() if key not in ("+order_by", "+order"))


def _entry(item: Item, key: str, value: Any) -> bool:
    if key == "+and":
        return all(matches(item, part) for part in value)
    if key == "+or":
        return not value or any(matches(item, part) for part in value)
    return _field(value_of(item, key), value)


def _field(held: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return all(_operator(held, name, operand) for name, operand in wanted.items())
    return _equal(held, wanted)


def _operator(held: Any, name: str, operand: Any) -> bool:
    if name == "+and":
        return all(_field(held, part) for part in operand)
    if name == "+or":
        return any(_field(held, part) for part in operand)
    if name == "+neq":
        return not _equal(held, operand)
    if held is None:
        return False
    if name == "+contains":
        return bool(operand.lower() in held.lower())
    return COMPARISONS[name](held, operand)


def _equal(held: Any, wanted: Any) -> bool:
    if isinstance(held, str) and isinstance(wanted, str):
        return held.lower() == wanted.lower()
    return type(held) is type(wanted) and bool(held == wanted)


def ordered(items: list[Item], wanted: dict[str, Any], *, newest_first: bool) -> list[Item]:
    """Rows without a value come first when the order goes up."""
    by = wanted.get("+order_by")
    if by is None:
        return sorted(items, key=lambda item: item["id"], reverse=newest_first)

    def key(item: Item) -> tuple[bool, Any, int]:
        value = value_of(item, by)
        return value is not None, "" if value is None else value, item["id"]

    return sorted(items, key=key, reverse=wanted.get("+order") == "desc")
