"""Transfers."""

from __future__ import annotations

from msgspec.structs import replace

from crofter import clock
from crofter.context import Context
from crofter.db import Id, Json, Moment, Row, Session, among, identity, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Index, PrimaryKeyConstraint, Text, bindparam, case, or_, select
from crofter.errors import NotFound
from crofter.resources.transfers.shapes import TransferView

transfer = table(
    "transfer",
    identity(),
    Column("token", Text, nullable=False, unique=True),
    Column("sender_id", Id, ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("receiver_id", Id, ForeignKey("account.id", ondelete="SET NULL"), index=True),
    Column("status", Text, nullable=False),
    Column("computes", Json, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    Column("expiry", Moment, nullable=False),
    Index("ix_transfer_sender_id", "sender_id", "id"),
)
# An instance is in one open transfer at most: the database sees to it.
transfer_claim = table(
    "transfer_claim",
    Column("instance_id", Id, nullable=False),
    Column("transfer_id", Id, ForeignKey("transfer.id", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("instance_id"),
)


class Transfer(Row):
    id: int
    token: str
    sender_id: int
    receiver_id: int | None
    status: str
    computes: list[int]
    created: str
    updated: str
    expiry: str


_ALL = select(transfer)
_IS_SENDER = case((transfer.c.sender_id == bindparam("account_id"), True), else_=False)
TRANSFERS = Collection(
    TransferView,
    _ALL.where(or_(transfer.c.sender_id == bindparam("account_id"), transfer.c.receiver_id == bindparam("account_id"))),
    Transfer,
    key=transfer.c.id,
    columns={
        "created": transfer.c.created,
        "is_sender": _IS_SENDER,
        "status": transfer.c.status,
        "updated": transfer.c.updated,
    },
)
_BY_TOKEN = query(_ALL.where(transfer.c.token == bindparam("token")), Transfer)
_OFFERED = query(
    _ALL.where(transfer.c.sender_id == bindparam("account_id"), transfer.c.status == "pending").order_by(transfer.c.id),
    Transfer,
)
_CLAIMED = query(select(transfer_claim.c.instance_id).where(among(transfer_claim.c.instance_id, "ids")))


def get_unscoped(db: Session, token: str) -> Transfer | None:
    """Return a transfer of any account, for operations and for holders of its token."""
    return db.maybe(_BY_TOKEN, token=token)


def one(ctx: Context, token: str) -> Transfer:
    """Return a transfer: a pending one to any holder of the token, others to sender and receiver only."""
    row = get_unscoped(ctx.db, token)
    if row is None:
        raise NotFound
    row = _at(row, ctx.now)
    parties = {row.sender_id} if row.status in ("cancelled", "stale") else {row.sender_id, row.receiver_id}
    if row.status != "pending" and ctx.account_id not in parties:
        raise NotFound
    return row


def _at(row: Transfer, now: int) -> Transfer:
    """Return the transfer as stale after its expiry, even before the expiry is stored."""
    late = row.status == "pending" and now >= clock.parse(row.expiry)
    return replace(row, status="stale") if late else row


def sent(ctx: Context, token: str) -> Transfer:
    """A transfer of the account's own making."""
    row = one(ctx, token)
    if row.sender_id != ctx.account_id:
        raise NotFound
    return row


def offered(ctx: Context) -> list[Transfer]:
    """Return the pending transfers of the caller's account."""
    return ctx.db.all(_OFFERED, account_id=ctx.account_id)


def leave_pending(ctx: Context, row: Transfer, status: str, *, late: bool = False) -> bool:
    """From pending to an end, once; not by its sender when its time is over. Whether it was."""
    if _at(row, ctx.now).status != "pending" and not late:
        return False
    moved = ctx.db.update(transfer, {"id": row.id, "status": "pending"}, status=status, updated=ctx.moment)
    if moved:
        ctx.db.delete(transfer_claim, transfer_id=row.id)
    return moved > 0


def take(ctx: Context, row: Transfer) -> None:
    """The caller's account is the one that accepts. Its claim on the instances lasts until they have moved."""
    changes = {"status": "accepted", "receiver_id": ctx.account_id, "updated": ctx.moment}
    if not ctx.db.update(transfer, {"id": row.id, "status": "pending"}, **changes):
        raise NotFound  # accepted or cancelled by another request


def claimed(ctx: Context, ids: list[int]) -> set[int]:
    """Return the instances among ``ids`` that are in an open transfer."""
    return set(ctx.db.column(_CLAIMED, ids=ids))
