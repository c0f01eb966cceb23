"""Registry of object kinds, to name an object without importing its resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from crofter.context import Context
from crofter.db import among, query
from crofter.db.sql import Table, bindparam, select
from crofter.errors import Forbidden


def kind_of(
    objects: Table,
    *,
    name: str,
    url: str,
    shown: Callable[[Context, Sequence[int]], Iterable[Any]] = lambda _ctx, _ids: (),
    taggable: bool = False,
    remove: Callable[[Context, int], None] | None = None,
) -> Kind:
    """A kind for a table whose rows belong to accounts and have labels. ``shown``: these objects as views."""
    own = objects.c.account_id == bindparam("account_id")
    ids_of = query(select(objects.c.id).where(own, among(objects.c.id, "ids")))
    labels = query(select(objects.c.id, objects.c.label).where(own).order_by(objects.c.id), lambda *named: named)

    following = query(
        select(objects.c.id)
        .where(own, objects.c.id > bindparam("after"))
        .order_by(objects.c.id)
        .limit(bindparam("most"))
    )

    def remove_row(ctx: Context, object_id: int) -> None:
        ctx.db.delete(objects, account_id=ctx.account_id, id=object_id)

    return Kind(
        name=name,
        url=url,
        existing=lambda ctx, ids: set(ctx.db.column(ids_of, account_id=ctx.account_id, ids=list(ids))),
        labelled=lambda ctx: ctx.db.all(labels, account_id=ctx.account_id),
        following=lambda ctx, after, most: ctx.db.column(following, account_id=ctx.account_id, after=after, most=most),
        remove=remove or remove_row,
        views=lambda ctx, ids: {view.id: view for view in shown(ctx, ids)},
        taggable=taggable,
    )


class Entity(Struct, frozen=True):
    """An object as events, tickets and notifications speak of it."""

    type: str
    id: int | str | None
    label: str | None
    url: str | None = None

    @property
    def id_document(self) -> str | None:
        """The id as a JSON scalar, the form in which it is kept."""
        return None if self.id is None else msgspec.json.encode(self.id).decode()


class Kind(Struct, frozen=True):
    """A kind of object, with the functions that other resources may call."""

    name: str
    """Name in grants and events: ``compute``, ``volume``."""
    url: str
    """Where one is viewed; ``{id}`` stands for the id."""
    existing: Callable[[Context, Sequence[int]], set[int]]
    """Return the ids that exist in the caller's account."""
    labelled: Callable[[Context], Sequence[tuple[int, str | None]]]
    """Every object of the caller's account with its label, in the order of ids: what grants can be given on."""
    following: Callable[[Context, int, int], Sequence[int]]
    """The next few objects of the caller's account after an id, in the order of ids."""
    remove: Callable[[Context, int], None]
    """Take an object away for good, since its account closes."""
    views: Callable[[Context, Sequence[int]], dict[int, Any]] = lambda _ctx, _ids: {}
    """The objects as their own endpoint shows them, by id; where tags or tickets may name them."""
    taggable: bool = False

    def entity(self, object_id: int, label: str | None) -> Entity:
        return Entity(self.name, object_id, label, self.url.format(id=object_id))


class Kinds:
    """Every kind of the server, and who may do what to one."""

    def __init__(self, kinds: Sequence[Kind], permits: Callable[[Context, str, int, str], bool]) -> None:
        self._by_name = {kind.name: kind for kind in kinds}
        self._permits = permits

    def get(self, name: str) -> Kind | None:
        return self._by_name.get(name)

    def remove_some(self, ctx: Context, reached: dict[str, int], most: int) -> bool:
        """Take away some of what the caller's account has; whether there was any left.

        ``reached`` keeps the last id of each kind: what takes its time to go is still there at the next call.
        """
        for kind in self._by_name.values():
            object_ids = kind.following(ctx, reached.get(kind.name, 0), most)
            for object_id in object_ids:
                kind.remove(ctx, object_id)
            if object_ids:
                reached[kind.name] = object_ids[-1]
                return True
        return False

    def permits(self, ctx: Context, name: str, object_id: int, level: str) -> bool:
        """True if the caller may read or write the object. Says nothing about its existence."""
        return self._permits(ctx, name, object_id, level)

    def require(self, ctx: Context, name: str, ids: Sequence[int], level: str, *, field: str) -> None:
        """Refuse the field unless the caller may read or write all of these objects."""
        if not ids:
            return
        kind = self._by_name.get(name)
        existing = kind.existing(ctx, ids) if kind else set()
        if any(number not in existing or not self._permits(ctx, name, number, level) for number in ids):
            raise inaccessible(name, field)


def inaccessible(name: str, field: str) -> Forbidden:
    """Return the refusal for an object that is missing or not permitted: both cases look the same."""
    return Forbidden(no_permission(name), field=field)


def no_permission(name: str) -> str:
    return f"You do not have permission to access this {_TITLES.get(name, name)}"


_TITLES = {
    "compute": "Compute",
    "disk": "Disk",
    "domain": "Domain",
    "firewall": "Firewall",
    "image": "Image",
    "lkecluster": "LKE Cluster",
    "longview": "Longview Client",
    "nodebalancer": "NodeBalancer",
    "stackscript": "StackScript",
    "volume": "Volume",
}
