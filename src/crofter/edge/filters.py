"""The ``X-Filter`` header: a JSON object, read into a filter of fields that a collection has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crofter.db.filters import NO_FILTER, Field, Filter, Node
from crofter.errors import Invalid, Reason

MAX_DEPTH = 15
MAX_TERMS = 20
MAX_PARTS = 200
"""Objects and values in a filter, be they terms or nothing."""
COULD_NOT = Reason("Could not apply filter", "X-Filter")
COMPARISONS = {"+gt", "+gte", "+lt", "+lte"}


class _Reader:
    def __init__(self, fields: Mapping[str, Field]) -> None:
        self.fields = fields
        self.values: dict[str, Any] = {}
        self.terms = self.parts = 0
        self.unknown: list[str] = []

    def object(self, sent: Any, depth: int) -> Node:
        if not isinstance(sent, dict):
            raise ValueError(sent)
        self.count(depth)
        nodes = [self.entry(key, value, depth) for key, value in sent.items()]
        return nodes[0] if len(nodes) == 1 else ("and", *nodes)

    def count(self, depth: int) -> None:
        self.parts += 1
        if depth > MAX_DEPTH or self.parts > MAX_PARTS:
            raise ValueError("too deep, or too much of it")

    def entry(self, key: str, value: Any, depth: int) -> Node:
        if key in ("+and", "+or"):
            if not isinstance(value, list):
                raise ValueError(value)
            return (key[1:], *(self.object(item, depth + 1) for item in value))
        if key.startswith("+"):
            raise ValueError(key)
        self.count(depth)
        field = self.fields.get(key)
        if field is None:
            self.unknown.append(key)
            return ("and",)
        return self.field(key, field, value, depth)

    def field(self, key: str, field: Field, value: Any, depth: int) -> Node:
        self.count(depth)
        if isinstance(value, dict) and value:
            nodes = [self.operator(key, field, name, operand, depth) for name, operand in value.items()]
            return nodes[0] if len(nodes) == 1 else ("and", *nodes)
        if isinstance(value, list) and field.element_of and key == "tags":
            raise Invalid("Tags filter must be a string or dict", field="X-Filter")
        return self.term(key, field, "=", value)

    def operator(self, key: str, field: Field, name: str, operand: Any, depth: int) -> Node:
        if name in ("+and", "+or"):
            if not isinstance(operand, list):
                raise ValueError(operand)
            return (name[1:], *(self.field(key, field, item, depth + 1) for item in operand))
        if name == "+neq":
            return self.term(key, field, "!=", operand)
        if name == "+contains":
            if not field.text:
                raise ValueError(operand)
            return self.term(key, field, "contains", operand)
        if name in COMPARISONS and field.ordered:
            return self.term(key, field, name, operand)
        raise ValueError(name)

    def term(self, key: str, field: Field, operator: str, value: Any) -> Node:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise ValueError("too many terms")
        if value is None and operator in ("=", "!="):
            return ("null", key, operator == "!=")
        parameter = f"filter_{self.terms}"
        value = field.convert(value)
        self.values[parameter] = _pattern(value) if operator == "contains" else value
        return ("is", key, operator, parameter)


def _pattern(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def read(header: bytes | None, fields: Mapping[str, Field]) -> Filter:
    """The filter of a request, or Invalid with one reason for each field that cannot be filtered on."""
    if not header:
        return NO_FILTER
    reader = _Reader(fields)
    try:
        sent = json.loads(header.decode("utf-8"), parse_constant=_no_constant)
        if not isinstance(sent, dict):
            raise ValueError(sent)
        order_by, order = sent.pop("+order_by", None), sent.pop("+order", None)
        if order not in (None, "asc", "desc") or (order is not None and order_by is None):
            raise ValueError(order)
        node = reader.object(sent, 1) if sent else None
    except (ValueError, TypeError, RecursionError) as error:
        raise Invalid.all([_cannot(key) for key in reader.unknown] or [COULD_NOT]) from error
    if order_by is not None and (not isinstance(order_by, str) or order_by not in fields):
        reader.unknown.append(str(order_by))
    if reader.unknown:
        raise Invalid.all([_cannot(key) for key in reader.unknown])
    if order_by is not None and fields[order_by].element_of is not None:
        raise Invalid.all([COULD_NOT])  # several values have no one place in an order
    return Filter(node, reader.values, order_by, order == "desc")


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _cannot(key: str) -> Reason:
    return Reason(f"Cannot filter on {key}", "X-Filter")
