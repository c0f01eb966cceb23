"""Which page of a collection a request asks for, and which rows: the query string and ``X-Filter``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from crofter.context import Context
from crofter.db.collections import Collection
from crofter.db.filters import NO_FILTER
from crofter.edge import filters
from crofter.errors import Invalid, Reason
from crofter.shapes import Page

R = TypeVar("R")
V = TypeVar("V")

DEFAULT_SIZE = 100


class Listing:
    """What a request asks of a collection: which page, and which rows."""

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
        wanted = filters.read(self._header, collection.fields)
        if wanted is NO_FILTER or wanted == NO_FILTER:
            total, rows = collection.page(ctx, self.number, self.size, owner, values)
        else:
            total, rows = collection.filtered(ctx, wanted, self.number, self.size, owner, values)
        return self.wrap(views(rows), total)

    def filters_on(self, name: str) -> bool:
        """Whether the filter names a field, as far as can be told before it is known what may be named."""
        return self._header is not None and f'"{name}"'.encode() in self._header

    def of_list(self, items: list[V]) -> Page[V]:
        """A page of a short list that is worked out rather than stored; nothing of it can be filtered on."""
        filters.read(self._header, {})
        start = (self.number - 1) * self.size
        return self.wrap(items[start : start + self.size], len(items))

    def wrap(self, data: list[V], total: int) -> Page[V]:
        return Page(data, self.number, max(1, -(-total // self.size)), total)


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
