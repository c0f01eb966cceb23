"""Firewalls, as other rooms may ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.kinds import Kind, Owned
from crofter.resources.firewalls import store
from crofter.resources.firewalls.shapes import FirewallView

_OWNED = Owned(store.firewall)


def _views(ctx: Context, ids: Sequence[int]) -> dict[int, FirewallView]:
    return {view.id: view for view in store.views(ctx, store.these(ctx, ids))}


FIREWALL = Kind(
    name=store.KIND,
    url="/v4/networking/firewalls/{id}",
    existing=_OWNED.existing,
    labelled=_OWNED.labelled,
    views=_views,
    remove=_OWNED.remove,
)
