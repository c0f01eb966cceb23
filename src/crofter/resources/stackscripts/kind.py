"""StackScripts, as other rooms may ask about them."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import Kind, Owned
from crofter.resources.stackscripts import store

_OWNED = Owned(store.stackscript)


def _remove(ctx: Context, stackscript_id: int) -> None:
    # One that is public is everybody's: it stays.
    ctx.db.delete(store.stackscript, account_id=ctx.account_id, id=stackscript_id, is_public=False)


STACKSCRIPT = Kind(
    name=store.KIND,
    url="/v4/compute/stackscripts/{id}",
    existing=_OWNED.existing,
    labelled=_OWNED.labelled,
    remove=_remove,
)
