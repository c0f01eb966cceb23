"""Kind of domains, for other resources."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import kind_of
from crofter.resources.domains import rules, store


def _remove(ctx: Context, domain_id: int) -> None:
    rules.delete(ctx, store.one(ctx, domain_id))


DOMAIN = kind_of(
    store.domain,
    name=store.KIND,
    url="/v4/domains/{id}",
    shown=lambda ctx, ids: store.views(store.these_shown(ctx, ids)),
    taggable=True,
    remove=_remove,
)
