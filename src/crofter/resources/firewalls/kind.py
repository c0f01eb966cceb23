"""Firewalls, as other resources may ask about them."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import kind_of
from crofter.resources.firewalls import store
from crofter.resources.instances import store as instances
from crofter.resources.instances.neighbours import Neighbour
from crofter.resources.instances.store import Instance

FIREWALL = kind_of(
    store.firewall,
    name=store.KIND,
    url="/v4/networking/firewalls/{id}",
    shown=lambda ctx, ids: store.views(ctx, store.these(ctx, ids)),
)


def _let_go(ctx: Context, instance: Instance) -> None:
    store.let_go(ctx, instances.KIND, instance.id)


NEIGHBOUR = Neighbour(deleted=_let_go)
"""Firewalls, as instances see them."""
