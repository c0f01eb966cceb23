"""Access to the managed service, for accounts that have enabled it."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.errors import Forbidden
from crofter.resources.account.store import account

_MANAGED = query(select(account.c.managed).where(account.c.id == bindparam("account_id")))


REMEDY = "Managed service is not enabled for this account. POST /v4/account/settings/managed-enable enables it."


def required(ctx: Context) -> None:
    """Refuse other accounts before any other check, so that they learn nothing."""
    if not ctx.db.value(_MANAGED, account_id=ctx.account_id):
        raise Forbidden(remedy=REMEDY)
