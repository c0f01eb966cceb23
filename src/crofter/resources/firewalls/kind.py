"""Firewalls, as other resources may ask about them."""

from __future__ import annotations

from crofter.kinds import kind_of
from crofter.resources.firewalls import store

FIREWALL = kind_of(
    store.firewall,
    name=store.KIND,
    url="/v4/networking/firewalls/{id}",
    shown=lambda ctx, ids: store.views(ctx, store.these(ctx, ids)),
)
