"""Collections: pages, totals and filtered rows, at a cost that does not grow with the account."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from msgspec import inspect as shape

from crofter.context import Context
from crofter.db import filters
from crofter.db.deferred import evaluate
from crofter.db.filters import Field, Filter
from crofter.db.query import Query, query
from crofter.db.sql import ColumnElement, Select, bindparam, func, select, unindexed
from crofter.db.tally import Tally

R = TypeVar("R")

SCALARS = (shape.StrType, shape.IntType, shape.FloatType, shape.BoolType, shape.LiteralType)
SHALLOW = 500
"""Rows that may be passed over one by one; beyond that a page is found by its first row."""
CACHED_SHAPES = 256
FEW = 1000
"""Number of rows up to which sorting is faster than an index scan in the wanted order. Rows that are rare in the table
are sorted beyond it, because a scan meets a page of them late.
"""


def filterable(view: Any) -> tuple[str, ...]:
    """The fields of a view that ``X-Filter`` may name; those of nested objects with dots."""
    info = shape.type_info(view)
    assert isinstance(info, shape.StructType)
    names: list[str] = []
    for field in info.fields:
        kind = field.type
        if isinstance(kind, shape.Metadata) and (kind.extra or {}).get("filterable"):
            names.append(field.encode_name)
            continue
        for option in _options(kind):
            if isinstance(option, shape.StructType):
                names += [f"{field.encode_name}.{inner}" for inner in filterable(option.cls)]
    return tuple(names)


def sortable(view: Any) -> dict[str, str]:
    """Return the fields of a view that hold one value, and their names in Python: ``+order_by`` takes them all."""
    info = shape.type_info(view)
    assert isinstance(info, shape.StructType)
    return {field.encode_name: field.name for field in info.fields if _is_scalar(field.type)}


def _is_scalar(kind: shape.Type) -> bool:
    options = [option for option in _options(kind) if not isinstance(option, shape.NoneType)]
    return all(
        _is_scalar(option) if isinstance(option, shape.Metadata) else isinstance(option, SCALARS) for option in options
    )


def _options(kind: shape.Type) -> tuple[shape.Type, ...]:
    if isinstance(kind, shape.Metadata):
        return _options(kind.type)
    return kind.types if isinstance(kind, shape.UnionType) else (kind,)


class Collection(Generic[R]):
    """Rows that can be listed: where they come from, their order, and what may be filtered on."""

    def __init__(
        self,
        view: Any,
        statement: Select[Any],
        row: Callable[..., R],
        *,
        key: ColumnElement[Any],
        columns: Mapping[str, ColumnElement[Any] | Field],
        newest_first: bool = False,
        order: tuple[ColumnElement[Any], ...] = (),
        tally: Tally | None = None,
        floor: str | None = None,
    ) -> None:
        self.view = view
        self.row = row
        self._columns = columns
        self._statement = statement
        self.key = key
        self._newest_first = newest_first
        self._order = order or ((key.desc(),) if newest_first else (key.asc(),))
        self._tally = None if order else tally
        self._floor = floor
        """The bound value that is the lowest key shown, where there are rows below it."""
        self._shapes: OrderedDict[Any, tuple[Query[R], Query[Any], Query[R] | None]] = OrderedDict()

    def joined(self, table: Any, on: ColumnElement[bool]) -> Collection[R]:
        """Return the same list joined with another table. The number of its rows is not stored."""
        return Collection(
            self.view,
            self._statement.join(table, on),
            self.row,
            key=self.key,
            columns=self._columns,
            newest_first=self._newest_first,
            order=self._order,
            floor=self._floor,
        )

    # Statements are built on first use: a start need not prepare every list.

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return the filterable fields by name. A filterable field without a column is a defect."""
        return {name: _field(self._columns[name]) for name in filterable(self.view)}

    @cached_property
    def sortable(self) -> dict[str, str]:
        return sortable(self.view)

    def orders(self, name: str) -> bool:
        """True if the database can order rows by the field."""
        return name in self.fields or name in self._columns

    def _order_field(self, name: str) -> Field:
        return self.fields.get(name) or _field(self._columns[name])

    @cached_property
    def _plain(self) -> Query[R]:
        return self._page_query(self._above_floor(self.key), self._order)

    @cached_property
    def _deep(self) -> Query[R]:
        edge: Any = bindparam("edge")
        from_edge = self.key <= edge if self._newest_first else self.key >= edge
        return self._page_query(self._above_floor(self.key).where(from_edge), self._order)

    @cached_property
    def _total(self) -> Query[Any]:
        return _count(self._above_floor(self.key))

    def statements(self) -> tuple[Query[Any], ...]:
        """Return the statements of requests without a filter."""
        return (self._plain, self._total) if self._tally is None else (self._plain, self._deep)

    def _above_floor(self, order: ColumnElement[Any]) -> Select[Any]:
        """The statement, in which the floor chooses no index that is in the wrong order."""
        if self._floor is None:
            return self._statement
        return self._statement.where((self.key if order is self.key else unindexed(self.key)) >= bindparam(self._floor))

    def _page_query(self, statement: Select[Any], order: tuple[ColumnElement[Any], ...]) -> Query[R]:
        return query(statement.order_by(*order).limit(bindparam("rows")).offset(bindparam("passed")), self.row)

    def total(self, ctx: Context, owner: int, values: dict[str, Any]) -> tuple[int, int]:
        """How many rows there are, and how many more are counted below the floor."""
        if self._tally is None:
            return int(ctx.db.value(self._total, **values)), 0
        hidden = self._tally.before(ctx.db, owner, values[self._floor]) if self._floor else 0
        return self._tally.total(ctx.db, owner) - hidden, hidden

    def page(self, ctx: Context, number: int, size: int, owner: int, values: dict[str, Any]) -> tuple[int, list[R]]:
        """The total, and the rows of one page, in the collection's own order."""
        passed = (number - 1) * size
        total, hidden = self.total(ctx, owner, values)
        if passed >= total:
            return total, []
        if passed <= SHALLOW or self._tally is None:
            return total, ctx.db.all(self._plain, rows=size, passed=passed, **values)
        before = passed if self._newest_first else passed + hidden
        edge = self._tally.locate(ctx.db, owner, before, descending=self._newest_first)
        return total, ctx.db.all(self._deep, rows=size, passed=0, edge=edge, **values)

    @property
    def newest_first(self) -> bool:
        return self._newest_first

    def filtered(
        self, ctx: Context, wanted: Filter, number: int, size: int, owner: int, values: dict[str, Any]
    ) -> tuple[int, list[R]]:
        page, count, few = self._shaped(wanted)
        passed = (number - 1) * size
        if few is not None:
            total = int(ctx.db.value(count, **values, **wanted.values))
            chosen = few if self._are_few(ctx, total, size, owner, values) else page
            return total, ctx.db.all(chosen, rows=size, passed=passed, **values, **wanted.values)
        rows = ctx.db.all(page, rows=size, passed=passed, **values, **wanted.values)
        if len(rows) < size and (rows or not passed):
            return passed + len(rows), rows  # the last page counts itself
        if wanted.node is None:
            return self.total(ctx, owner, values)[0], rows
        return int(ctx.db.value(count, **values, **wanted.values)), rows

    def _are_few(self, ctx: Context, matching: int, size: int, owner: int, values: dict[str, Any]) -> bool:
        """In order, a page of them is met after as many rows as there are of all for each of them."""
        return matching <= FEW or matching * matching <= size * self.total(ctx, owner, values)[0]

    def _shaped(self, wanted: Filter) -> tuple[Query[R], Query[Any], Query[R] | None]:
        """The statements of a filter's shape, written once and then kept: a page, the count, and a page of few."""
        key = (wanted.node, wanted.order_by, wanted.descending)
        statements = self._shapes.get(key)
        if statements is None:
            order = self.key if wanted.order_by is None else self._order_field(wanted.order_by).expression
            rows, counted = self._above_floor(order), self._above_floor(self.key)
            may_be_few = self._may_be_few(wanted)
            if wanted.node is not None:
                rows = rows.where(filters.clause(wanted.node, self.fields, order, many=may_be_few))
                counted = counted.where(filters.clause(wanted.node, self.fields))
            page, few = self._page_query(rows, self._wanted_order(wanted)), None
            if may_be_few:
                few = self._page_query(counted, self._wanted_order(wanted, unindexed))
            statements = self._shapes[key] = (page, _count(counted), few)
            if len(self._shapes) > CACHED_SHAPES:
                self._shapes.popitem(last=False)
        return statements

    def _may_be_few(self, wanted: Filter) -> bool:
        """True if an index can find the rows, and sorting them is better than a scan in order if there are few."""
        if self._tally is None or not filters.can_be_looked_up(wanted.node, self.fields):
            return False
        in_order = wanted.order_by is None and not filters.has_alternatives(wanted.node)
        return not in_order or filters.has_common_element(wanted.node, self.fields)

    def _wanted_order(
        self, wanted: Filter, by: Callable[[ColumnElement[Any]], ColumnElement[Any]] = lambda column: column
    ) -> tuple[ColumnElement[Any], ...]:
        if wanted.order_by is None:
            key = by(self.key)
            return self._order if key is self.key else (key.desc() if self._newest_first else key.asc(),)
        field = self._order_field(wanted.order_by)
        # Texts are compared in lower case here as in filters: one index serves both, on both databases.
        column = func.lower(field.expression) if field.text and not field.lower_case else field.expression
        up, down = by(column).asc(), by(column).desc()
        if getattr(
            evaluate(field.expression), "nullable", True
        ):  # the databases differ in where they put what is missing
            up, down = up.nulls_first(), down.nulls_last()
        return (down, self.key.desc()) if wanted.descending else (up, self.key.asc())


def _field(column: ColumnElement[Any] | Field) -> Field:
    return column if isinstance(column, Field) else Field(column)


def _count(statement: Select[Any]) -> Query[Any]:
    return query(select(func.count()).select_from(statement.order_by(None).subquery()))
