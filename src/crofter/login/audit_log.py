"""What people and apps do at the login service, put on the audit log."""

from __future__ import annotations

from crofter import audit
from crofter.context import Context


def put_on_record(
    ctx: Context, account_id: int, user_id: int, username: str, operation: str, path: str, *fields: str
) -> None:
    """In the transaction that does it; ``fields`` are names, never values."""
    entry = audit.AuditEntry(
        account_id=account_id,
        at=ctx.moment,
        user_id=user_id,
        username=username,
        token_id=None,
        address=ctx.address,
        request_id=ctx.request_id,
        operation=operation,
        path=path,
        fields=list(fields),
        events=ctx.db.events,
    )
    audit.append(ctx.runtime.keyring, ctx.db, entry)
