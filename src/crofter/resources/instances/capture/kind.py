"""Images of accounts, as other resources may ask about them."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import kind_of
from crofter.resources.images import store
from crofter.resources.instances.capture import rules


def _remove(ctx: Context, image_id: int) -> None:
    rules.delete(ctx, store.own(ctx, f"{store.PRIVATE}{image_id}"))


IMAGE = kind_of(
    store.image,
    name=store.KIND,
    url="/v4/images/private/{id}",
    shown=lambda ctx, ids: store.views(store.these(ctx, ids)),
    remove=_remove,
)
