"""Kind of StackScripts, for other resources."""

from __future__ import annotations

from crofter.context import Context
from crofter.kinds import kind_of
from crofter.resources.stackscripts import store
from crofter.resources.users import access


def _remove(ctx: Context, stackscript_id: int) -> None:
    # A public script stays: all accounts may use it.
    access.forget(ctx, store.KIND, stackscript_id)
    ctx.db.delete(store.stackscript, account_id=ctx.account_id, id=stackscript_id, is_public=False)


STACKSCRIPT = kind_of(store.stackscript, name=store.KIND, url="/v4/compute/stackscripts/{id}", remove=_remove)
