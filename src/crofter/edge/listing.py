"""Page and filter of a collection request: the query string and ``X-Filter``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from crofter.context import Context
from crofter.db.collections import Collection, sortable
from crofter.db.filters import NO_FILTER, Filter
from crofter.edge import filters
from crofter.errors import Invalid, Reason
from crofter.shapes import Page

R = TypeVar("R")
V = TypeVar("V")

DEFAULT_SIZE = 100
MAX_SORTED = 10_000
"""Items sorted by a field that no column holds, in one request."""


class Listing:
    """Page and filter that a request selects."""

    def __init__(self, query_string: bytes, header: bytes | None, sizes: tuple[int, int]) -> None:
        self.number, self.size = 1, DEFAULT_SIZE
        self._header = header
        if b"page" in query_string:
            asked = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
            reasons: list[Reason] = []
            self.number = _bounded(asked, "page", 1, 2**31, 1, reasons)
            self.size = _bounded(asked, "page_size", *sizes, DEFAULT_SIZE, reasons)
            if reasons:
                raise Invalid.all(reasons)

    def of(
        self,
        ctx: Context,
        collection: Collection[R],
        views: Callable[[list[R]], list[V]],
        *,
        owner: int | None = None,
        **values: Any,
    ) -> Page[V]:
        """A page of the collection. ``owner`` is whose rows are counted: the account unless said."""
        if owner is None:
            owner = ctx.caller.account_id if ctx.caller else 0
        wanted = filters.read(self._header, collection.fields, collection.sortable.keys())
        if wanted is NO_FILTER or wanted == NO_FILTER:
            total, rows = collection.page(ctx, self.number, self.size, owner, values)
        elif wanted.order_by is None or collection.orders(wanted.order_by):
            total, rows = collection.filtered(ctx, wanted, self.number, self.size, owner, values)
        else:
            everything = wanted._replace(order_by=None)
            total, rows = collection.filtered(ctx, everything, 1, MAX_SORTED, owner, values)
            if total > MAX_SORTED:
                raise Invalid.all([_too_many(wanted.order_by, total)])
            items = views(rows[::-1] if collection.newest_first else rows)
            return self._sorted(items, wanted, collection.sortable)
        return self.wrap(views(rows), total)

    def filters_on(self, name: str) -> bool:
        """True if the filter may name the field, decided before the filterable fields are known."""
        return self._header is not None and f'"{name}"'.encode() in self._header

    def of_list(self, items: list[V], view: Any = None) -> Page[V]:
        """A page of a short list that is worked out rather than stored; nothing of it can be filtered on."""
        names = {} if view is None else sortable(view)
        return self._sorted(items, filters.read(self._header, {}, names.keys()), names)

    def _sorted(self, items: list[V], wanted: Filter, names: Mapping[str, str]) -> Page[V]:
        """Sort items by a field that is computed for the answer, and return the page."""
        if wanted.order_by is not None:
            field = names[wanted.order_by]
            items = sorted(items, key=lambda item: _place(getattr(item, field)))
            if wanted.descending:
                items.reverse()
        start = (self.number - 1) * self.size
        return self.wrap(items[start : start + self.size], len(items))

    def wrap(self, data: list[V], total: int) -> Page[V]:
        return Page(data, self.number, max(1, -(-total // self.size)), total)


def _place(value: Any) -> tuple[bool, bool, Any]:
    """Return the sort key of a value: null first, texts without regard to case."""
    is_text = isinstance(value, str)
    return value is not None, is_text, value.lower() if is_text else value or 0


def _too_many(name: str, total: int) -> Reason:
    limit = f"+order_by {name} sorts at most {MAX_SORTED} items, and {total} match"
    return filters.could_not(f"{limit}; add a condition or order by another field")


def _bounded(asked: Mapping[str, str], name: str, low: int, high: int, default: int, reasons: list[Reason]) -> int:
    sent = asked.get(name)
    if sent is None:
        return default
    if not (sent.isascii() and sent.removeprefix("-").isdigit()):
        reasons.append(Reason("Must be of type Integer", name))
        return default
    number = int(sent[:20])
    if not low <= number <= high:
        reasons.append(Reason(f"Must be {low}-{high}", name))
        return default
    return number
