"""The ``X-Filter`` header: a JSON object, read into a filter of fields that a collection has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

from crofter.db.filters import NO_FILTER, Field, Filter, Node
from crofter.errors import Invalid, Reason

MAX_DEPTH = 15
MAX_TERMS = 20
MAX_PARTS = 200
"""Objects and values in a filter, be they terms or nothing."""
MAX_NAMED = 100
"""Characters of an unknown operator that a refusal repeats."""
COMPARISONS = {"+gt", "+gte", "+lt", "+lte"}
EVERYTHING: Node = ("and",)


class FilterRefused(Exception):
    """A filter that cannot be applied: the key, and the reason."""


class _Reader:
    def __init__(self, fields: Mapping[str, Field]) -> None:
        self.fields = fields
        self.values: dict[str, Any] = {}
        self.terms = self.parts = 0
        self.unknown: list[str] = []

    def object(self, sent: Any, depth: int, place: str) -> Node:
        if not isinstance(sent, dict):
            raise FilterRefused(f"{place} must hold JSON objects")
        self.count(depth, place)
        nodes = [self.entry(key, value, depth) for key, value in sent.items()]
        return nodes[0] if len(nodes) == 1 else ("and", *nodes)

    def count(self, depth: int, place: str) -> None:
        self.parts += 1
        if depth > MAX_DEPTH:
            raise FilterRefused(f"{place} is nested more than {MAX_DEPTH} levels deep")
        if self.parts > MAX_PARTS:
            raise FilterRefused(f"{place} exceeds the limit of {MAX_PARTS} parts")

    def entry(self, key: str, value: Any, depth: int) -> Node:
        if key in ("+and", "+or"):
            items = _list(key, value)
            return (key[1:], *(self.object(item, depth + 1, key) for item in items)) if items else EVERYTHING
        if key.startswith("+"):
            raise _unknown_operator(key, "the filter takes +and, +or, +order_by and +order")
        self.count(depth, _short(key))
        field = self.fields.get(key)
        if field is None:
            self.unknown.append(key)
            return EVERYTHING
        return self.field(key, field, value, depth)

    def field(self, key: str, field: Field, value: Any, depth: int) -> Node:
        self.count(depth, key)
        if isinstance(value, dict):
            if not value:
                raise FilterRefused(f"{key} has an object without an operator")
            nodes = [self.operator(key, field, name, operand, depth) for name, operand in value.items()]
            return nodes[0] if len(nodes) == 1 else ("and", *nodes)
        if isinstance(value, list) and field.element_of and key == "tags":
            raise Invalid("Tags filter must be a string or dict", field="X-Filter")
        return self.term(key, field, "=", value)

    def operator(self, key: str, field: Field, name: str, operand: Any, depth: int) -> Node:
        if name in ("+and", "+or"):
            items = _list(f"{name} of {key}", operand)
            return (name[1:], *(self.field(key, field, item, depth + 1) for item in items)) if items else EVERYTHING
        if name == "+neq":
            return self.term(key, field, "!=", operand)
        if name == "+contains":
            if not field.text:
                raise FilterRefused(f"{key} does not take +contains: the field is not a text")
            return self.term(key, field, "contains", operand)
        if name in COMPARISONS:
            if not field.ordered:
                raise FilterRefused(f"{key} does not take {name}: the field is neither a number nor a date-time")
            return self.term(key, field, name, operand)
        raise _unknown_operator(name, f"{key} takes +and, +or, +neq, +contains, +gt, +gte, +lt and +lte")

    def term(self, key: str, field: Field, operator: str, value: Any) -> Node:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise FilterRefused(f"{key} exceeds the limit of {MAX_TERMS} conditions")
        if value is None and operator in ("=", "!="):
            return ("null", key, operator == "!=")
        group = value.lower() if isinstance(value, str) and operator in ("=", "!=") else None
        if group in field.groups:
            return ("group", key, operator == "!=", group)
        parameter = f"filter_{self.terms}"
        try:
            value = field.convert(value)
        except (ValueError, TypeError) as error:
            raise FilterRefused(f"{key} {field.expected}") from error
        self.values[parameter] = _pattern(value) if operator == "contains" else value
        return ("is", key, operator, parameter)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FilterRefused(f"{name} must be a list")
    return value


def _unknown_operator(name: str, known: str) -> FilterRefused:
    return FilterRefused(f"{_short(name)} is not an operator; {known}")


def _short(name: str) -> str:
    return _encodable(name[:MAX_NAMED])


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can escape and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


def _pattern(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def read(header: bytes | None, fields: Mapping[str, Field], scalars: Set[str] = frozenset()) -> Filter:
    """Return the filter of a request, or raise Invalid with one reason for each unknown field.

    ``scalars``: further fields that ``+order_by`` takes.
    """
    if not header:
        return NO_FILTER
    reader = _Reader(fields)
    try:
        sent = _sent(header)
        order_by, order = sent.pop("+order_by", None), sent.pop("+order", None)
        if order_by is not None and order not in (None, "asc", "desc"):
            raise FilterRefused("+order must be asc or desc")
        node = reader.object(sent, 1, "X-Filter") if sent else None
        if order_by is not None:
            _check_order(order_by, reader, scalars)
    except FilterRefused as error:
        raise Invalid.all([_cannot(key) for key in reader.unknown] or [could_not(str(error))]) from error
    if reader.unknown:
        raise Invalid.all([_cannot(key) for key in reader.unknown])
    return Filter(node, reader.values, order_by, order_by is not None and order == "desc")


def _sent(header: bytes) -> dict[str, Any]:
    try:
        sent = json.loads(header.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FilterRefused("X-Filter is not valid JSON") from error
    if not isinstance(sent, dict):
        raise FilterRefused("X-Filter must be a JSON object")
    return sent


def _check_order(order_by: Any, reader: _Reader, scalars: Set[str]) -> None:
    if not isinstance(order_by, str):
        raise FilterRefused("+order_by must be the name of a field")
    field = reader.fields.get(order_by)
    if field is None and order_by not in scalars:
        reader.unknown.append(order_by)
    elif field is not None and field.element_of is not None:
        raise FilterRefused(f"+order_by does not take {order_by}: the field holds several values")


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def could_not(reason: str) -> Reason:
    return Reason(f"Could not apply filter: {reason}", "X-Filter")


def _cannot(key: str) -> Reason:
    return Reason(f"Cannot filter on {_encodable(key)}", "X-Filter")
