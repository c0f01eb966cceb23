"""StackScripts."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Text, bindparam, or_, select, update

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, identity, owned, query, table

KIND = "stackscript"
ANY_IMAGE = "any/all"

stackscript = table(
    "stackscript",
    identity(),
    owned(),
    # Who wrote it. The name stays when the user goes.
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="SET NULL"), index=True),
    Column("username", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("images", Json, nullable=False),
    Column("script", Text, nullable=False),
    Column("user_defined_fields", Json, nullable=False),
    Column("rev_note", Text, nullable=False, server_default=""),
    Column("is_public", Flag, nullable=False),
    Column("deployments_total", Integer, nullable=False, server_default="0"),
    Column("deployments_active", Integer, nullable=False, server_default="0"),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    Index("ix_stackscript_account_id", "account_id", "id"),
    Index("ix_stackscript_is_public", "is_public", "id"),
)


class StackScript(Row):
    id: int
    account_id: int
    label: str
    images: list[str]
    script: str
    is_public: bool

    def runs_on(self, image: str) -> bool:
        return ANY_IMAGE in self.images or image in self.images


_FIND = query(
    select(*(stackscript.c[name] for name in StackScript.__struct_fields__)).where(
        stackscript.c.id == bindparam("id"),
        or_(stackscript.c.account_id == bindparam("account_id"), stackscript.c.is_public.is_(True)),
    ),
    StackScript,
)
_DEPLOYED = query(
    update(stackscript)
    .where(stackscript.c.id == bindparam("script_id"))
    .values(deployments_total=stackscript.c.deployments_total + 1)
)
_ACTIVE = query(
    update(stackscript)
    .where(stackscript.c.id == bindparam("script_id"))
    .values(deployments_active=stackscript.c.deployments_active + bindparam("amount"))
)


def find(ctx: Context, stackscript_id: int) -> StackScript | None:
    """The script, if it is public or of the caller's account."""
    return ctx.db.maybe(_FIND, id=stackscript_id, account_id=ctx.account_id)


def count_deployment(ctx: Context, stackscript_id: int) -> None:
    ctx.db.run(_DEPLOYED, script_id=stackscript_id)


def count_active(ctx: Context, before: int | None, after: int | None) -> None:
    """An instance that was deployed with one script is now deployed with another, or there is no more of it."""
    if before == after:
        return
    # Always in the same order: scripts are shared, and two accounts must not wait for each other.
    for stackscript_id, amount in sorted((script, amount) for script, amount in ((before, -1), (after, 1)) if script):
        ctx.db.run(_ACTIVE, script_id=stackscript_id, amount=amount)
