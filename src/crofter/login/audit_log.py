"""What people and apps do at the login service, put on the audit log."""

from __future__ import annotations

from crofter import audit
from crofter.context import Context


def put_on_record(
    ctx: Context, account_id: int, user_id: int, username: str, operation: str, path: str, *fields: str
) -> None:
    """In the transaction that does it; ``fields`` are names, never values."""
    audit.write_as(ctx, account_id, user_id, username, operation, path, *fields)
