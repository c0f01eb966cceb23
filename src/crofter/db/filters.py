"""Filters as SQL: fields with their columns, and a WHERE clause with bound values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from crofter import clock
from crofter.db.deferred import evaluate
from crofter.db.sql import (
    Boolean,
    ColumnElement,
    Float,
    Integer,
    Moment,
    Text,
    and_,
    bindparam,
    func,
    not_,
    or_,
    unindexed,
)

MAX_TEXT = 2048
"""Characters of a value; no field is as long."""

Node = tuple[Any, ...]
"""``("and"|"or", node, …)``, ``("is", field, operator, parameter)``, ``("null", field, negated)`` or ``("group", field,
negated, value)``: the shape of a filter without its values, so that filters of one shape share one statement."""


class Field:
    """A field that may be filtered on: where it lies, and how a sent value becomes a stored one."""

    def __init__(
        self,
        expression: ColumnElement[Any],
        convert: Callable[[Any], Any] | None = None,
        *,
        lower_case: bool = False,
        element_of: Callable[[ColumnElement[bool]], ColumnElement[bool]] | None = None,
        element_by_row: Callable[[ColumnElement[bool]], ColumnElement[bool]] | None = None,
        expected: str = "",
        groups: Mapping[str, ColumnElement[bool]] | None = None,
    ) -> None:
        self.expression = expression
        self.lower_case = lower_case
        """True if all stored values are lower case, so that an index on the column serves."""
        self.element_of = element_of
        """For a field that holds several values: from "an element is so" to "the row has such an element"."""
        self.element_by_row = element_by_row
        """Test of each row for an element. For frequent elements a scan in order finds a page sooner than an index
        lookup.
        """
        self.groups = groups or {}
        """Values that no row holds, and the condition that each of them stands for; in lower case."""
        self._convert = convert
        self._expected = expected

    # Attributes derived from the column type, which needs SQLAlchemy: set at the first filter.

    @cached_property
    def text(self) -> bool:
        return self._convert is None and _has_type(self.expression, Text)

    @property
    def ordered(self) -> bool:
        return not self.text

    @cached_property
    def convert(self) -> Callable[[Any], Any]:
        return self._convert or _kind(self.expression)[0]

    @property
    def expected(self) -> str:
        """Requirement on a value, for the text of a refusal: ``must be an integer``."""
        return self._expected or _kind(self.expression)[1]


def _has_type(expression: ColumnElement[Any], kind: Any) -> bool:
    return isinstance(evaluate(expression).type, evaluate(kind))


def _kind(expression: ColumnElement[Any]) -> tuple[Callable[[Any], Any], str]:
    """Return the converter of the column's type, and the requirement on a value."""
    kinds: tuple[tuple[Any, Callable[[Any], Any], str], ...] = (
        (Moment, _moment, "must be a date-time: YYYY-MM-DDTHH:MM:SS"),
        (Boolean, _boolean, "must be true or false"),
        (Integer, _integer, "must be an integer"),
        (Float, _number, "must be a number"),
    )
    fitting = ((convert, expected) for kind, convert, expected in kinds if _has_type(expression, kind))
    return next(fitting, (_text, f"must be a text of at most {MAX_TEXT} characters"))


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(value)
    return value


def _text(value: Any) -> str:
    if type(value) is not str or "\x00" in value or len(value) > MAX_TEXT:
        raise ValueError(value)
    value.encode()  # half a surrogate pair is a ValueError too
    return value


def _integer(value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError(value)
    return float(value)


def _moment(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(value)
    return clock.text(clock.parse(value))


class Filter(NamedTuple):
    """A parsed filter: shape, values, and order."""

    node: Node | None
    values: dict[str, Any]
    order_by: str | None
    descending: bool


NO_FILTER = Filter(None, {}, None, False)


def clause(
    node: Node, fields: Mapping[str, Field], order: ColumnElement[Any] | None = None, *, many: bool = False
) -> ColumnElement[bool]:
    """The shape of a filter as a WHERE clause.

    ``order``: what the rows are wanted in the order of, which an index gives. Then only a bound on that column, and
    what every row must equal, may choose an index: one that is in that order too. The rest is looked at row by row.
    ``many``: it is known to fit many rows, so that elements are looked at row by row too.
    """
    if node[0] == "and":
        return and_(True, *(clause(child, fields, order, many=many) for child in node[1:]))
    if node[0] == "or":
        return or_(False, *(_alternative(child, fields, order) for child in node[1:]))
    field = fields[node[1]]
    bound = field.expression is order or node[2] == "=" or field.element_of is not None
    return _term(node, field, free=order is not None and not bound, many=many)


def has_alternatives(node: Node | None) -> bool:
    """True if the filter contains ``or``, for which no index gives an order."""
    return node is not None and (
        node[0] == "or" or (node[0] == "and" and any(has_alternatives(child) for child in node[1:]))
    )


def has_common_element(node: Node | None, fields: Mapping[str, Field]) -> bool:
    """True if the filter tests for an element that many rows may have."""
    if node is None or node[0] == "or":
        return False
    if node[0] == "and":
        return any(has_common_element(child, fields) for child in node[1:])
    return fields[node[1]].element_by_row is not None


def can_be_looked_up(node: Node | None, fields: Mapping[str, Field], *, alone: bool = True) -> bool:
    """True if an index can find all matching rows: they share a value, or one of a few values."""
    if node is None or node[0] in ("null", "group"):
        return False
    if node[0] == "is":  # for ``or``, SQLite uses indexes on columns only
        return bool(node[2] == "=") and (alone or fields[node[1]].element_of is None)
    if node[0] == "and":
        return any(can_be_looked_up(child, fields, alone=alone) for child in node[1:])
    return len(node) > 1 and all(can_be_looked_up(child, fields, alone=False) for child in node[1:])


def _alternative(node: Node, fields: Mapping[str, Field], order: ColumnElement[Any] | None) -> ColumnElement[bool]:
    if node[0] in ("and", "or"):
        join = and_ if node[0] == "and" else or_
        return join(node[0] == "and", *(_alternative(child, fields, order) for child in node[1:]))
    field = fields[node[1]]
    return _term(node, field, free=order is not None and field.element_of is None)


def _term(node: Node, field: Field, *, free: bool, many: bool = False) -> ColumnElement[bool]:
    if node[0] == "group":
        return not_(field.groups[node[3]]) if node[2] else field.groups[node[3]]
    column = unindexed(field.expression) if free else field.expression
    negated = node[2] is True or node[2] == "!="
    condition = column.is_(None) if node[0] == "null" else _condition(field, column, node[2], node[3])
    has_element = (field.element_by_row if many else None) or field.element_of
    if has_element is not None:
        condition = has_element(condition)
    if not negated:
        return condition
    return not_(condition) if node[0] == "null" or field.element_of else or_(not_(condition), column.is_(None))


def _condition(field: Field, column: ColumnElement[Any], operator: str, parameter: str) -> Any:
    value: Any = bindparam(parameter, type_=column.type)
    if field.text:
        value = func.lower(value)
        column = column if field.lower_case else func.lower(column)
    if operator == "contains":
        return column.like(value, escape="\\")
    if operator in ("=", "!="):
        return column == value
    if operator == "+gt":
        return column > value
    if operator == "+gte":
        return column >= value
    return column < value if operator == "+lt" else column <= value
