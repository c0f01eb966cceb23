"""StackScripts, and how often each was deployed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crofter.catalogue import Offered
from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Query, identity, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Select,
    Text,
    and_,
    bindparam,
    false,
    func,
    or_,
    select,
    text,
)
from crofter.errors import Forbidden, NotFound
from crofter.kinds import Entity
from crofter.resources.stackscripts.shapes import StackScriptView
from crofter.resources.users.store import is_granted

KIND = "stackscript"
ANY_IMAGE = "any/all"
MAKER = "compute"
"""Username of the scripts that the catalogue file has."""
SLOTS = 16
"""Rows in which the deployments of one script are counted."""

stackscript = table(
    "stackscript",
    identity(),
    # Null for a script of the catalogue. That one has a slug, and a position while the catalogue file lists it.
    Column("account_id", Id, ForeignKey("account.id", ondelete="CASCADE")),
    Column("slug", Text, unique=True),
    Column("position", Integer, unique=True),
    # Author. The name stays when the user is deleted.
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="SET NULL"), index=True),
    Column("username", Text, nullable=False),
    Column("gravatar_id", Text, nullable=False, server_default=""),
    Column("label", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("images", Json, nullable=False),
    Column("script", Text, nullable=False),
    Column("user_defined_fields", Json, nullable=False),
    Column("rev_note", Text, nullable=False, server_default=""),
    Column("is_public", Flag, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    Index("ix_stackscript_account_id", "account_id", "id"),
    Index("ix_stackscript_is_public", "is_public", "id"),
)

deployment_count = table(
    "stackscript_deployment_count",
    # A public script is deployed by all accounts. One row for all of them would make each creation of an instance wait
    # for every other one, so an account counts in one of a few rows, and who reads adds these up.
    Column("stackscript_id", Id, ForeignKey("stackscript.id", ondelete="CASCADE"), nullable=False),
    Column("slot", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("active", Integer, nullable=False),
    PrimaryKeyConstraint("stackscript_id", "slot"),
    sqlite_without_rowid=True,
)


class StackScript(Offered):
    id: int
    account_id: int | None
    username: str
    gravatar_id: str
    label: str
    description: str
    images: list[str]
    script: str
    user_defined_fields: list[Any]
    rev_note: str
    is_public: bool
    created: str
    updated: str
    total: int
    active: int

    @property
    def offered(self) -> bool:
        return self.account_id is not None or self.position is not None

    def runs_on(self, image: str) -> bool:
        return ANY_IMAGE in self.images or image in self.images


def _sum(column: ColumnElement[Any]) -> ColumnElement[int]:
    counted = select(func.coalesce(func.sum(column), 0)).where(deployment_count.c.stackscript_id == stackscript.c.id)
    return counted.correlate(stackscript).scalar_subquery()


_TOTAL = _sum(deployment_count.c.total)
_SHOWN = select(
    *(stackscript.c[name] for name in StackScript.__struct_fields__ if name not in ("total", "active")),
    _TOTAL.label("total"),
    _sum(deployment_count.c.active).label("active"),
)
_OWN = stackscript.c.account_id == bindparam("account_id")
_MINE: ColumnElement[bool] = func.coalesce(_OWN, false())
"""`_OWN`, with false instead of null for a script of the catalogue."""
_PUBLIC = stackscript.c.is_public.is_(True)
_OFFERED = and_(_PUBLIC, or_(stackscript.c.slug.is_(None), stackscript.c.position.is_not(None)))
_GRANTED = is_granted(KIND, stackscript.c.id)


def _collection(statement: Select[Any], mine: ColumnElement[bool]) -> Collection[StackScript]:
    names = ("created", "description", "is_public", "label", "rev_note", "updated", "username")
    columns = {name: stackscript.c[name] for name in names}
    return Collection(
        StackScriptView,
        statement,
        StackScript,
        key=stackscript.c.id,
        columns={**columns, "deployments_total": _TOTAL, "mine": mine},
    )


# No row is of the caller. A constant could not be ordered by.
PUBLIC = _collection(_SHOWN.where(_OFFERED), stackscript.c.id < 0)
ALL = _collection(_SHOWN.where(or_(_OWN, _OFFERED)), _MINE)
GRANTED = _collection(_SHOWN.where(or_(and_(_OWN, _GRANTED), _OFFERED)), _MINE)

_FIND: Query[StackScript] = query(
    _SHOWN.where(stackscript.c.id == bindparam("id"), or_(_OWN, _PUBLIC)),
    StackScript,
)
_COUNT = query(select(func.count()).select_from(stackscript).where(_OWN))
_ADD = query(
    text(
        "INSERT INTO stackscript_deployment_count (stackscript_id, slot, total, active)"
        " SELECT id, :slot, :total, :active FROM stackscript WHERE id = :script_id"
        " ON CONFLICT (stackscript_id, slot) DO UPDATE SET total = stackscript_deployment_count.total + :total,"
        " active = stackscript_deployment_count.active + :active"
    ).bindparams(
        bindparam("slot", type_=Integer), bindparam("total", type_=Integer), bindparam("active", type_=Integer)
    )
)


def find(ctx: Context, stackscript_id: int) -> StackScript | None:
    """Return a script that is public, still offered or not, or of the caller's account; else None."""
    return ctx.db.maybe(_FIND, id=stackscript_id, account_id=ctx.caller.account_id if ctx.caller else 0)


def offered(ctx: Context, stackscript_id: int) -> StackScript | None:
    """Return a script that may be viewed and deployed, or None. A script that left the catalogue is not offered."""
    script = find(ctx, stackscript_id)
    return script if script is not None and script.offered else None


def one(ctx: Context, stackscript_id: int) -> StackScript:
    script = offered(ctx, stackscript_id)
    if script is None:
        raise NotFound
    return script


def own(ctx: Context, stackscript_id: int) -> StackScript:
    """A script that the account may change: those of others are only to be read."""
    script = one(ctx, stackscript_id)
    if script.account_id != ctx.account_id:
        raise Forbidden
    return script


def count(ctx: Context) -> int:
    """How many scripts the account has."""
    return int(ctx.db.value(_COUNT, account_id=ctx.account_id))


def insert(ctx: Context, values: Mapping[str, Any]) -> StackScript:
    number = ctx.db.insert(
        stackscript,
        account_id=ctx.account_id,
        user_id=ctx.actor.user_id,
        username=ctx.actor.username,
        created=ctx.moment,
        updated=ctx.moment,
        **values,
    )
    return one(ctx, number)


def change(ctx: Context, stackscript_id: int, values: Mapping[str, Any]) -> StackScript:
    own_row = {"account_id": ctx.account_id, "id": stackscript_id}
    ctx.db.update(stackscript, own_row, **values, updated=ctx.moment)
    return one(ctx, stackscript_id)


def entity(script: StackScript) -> Entity:
    return Entity(KIND, script.id, script.label, f"/v4/compute/stackscripts/{script.id}")


def count_deployment(ctx: Context, stackscript_id: int) -> None:
    _add(ctx, stackscript_id, total=1)


def count_active(ctx: Context, before: int | None, after: int | None) -> None:
    """An instance that was deployed with one script is now deployed with another, or there is no more of it."""
    if before == after:
        return
    # Always in the same order: accounts that share a row must not wait for each other.
    for stackscript_id, amount in sorted((script, amount) for script, amount in ((before, -1), (after, 1)) if script):
        _add(ctx, stackscript_id, active=amount)


def _add(ctx: Context, stackscript_id: int, *, total: int = 0, active: int = 0) -> None:
    """Add to the counts of a script; a deleted script is ignored."""
    ctx.db.run(_ADD, script_id=stackscript_id, slot=ctx.account_id % SLOTS, total=total, active=active)
