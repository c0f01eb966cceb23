"""Rules of transfers between accounts."""

from __future__ import annotations

from crofter import clock, mail
from crofter.context import Context
from crofter.db import Duplicate
from crofter.engine import enqueue
from crofter.errors import Invalid, Reason
from crofter.events import Author, record, write
from crofter.kinds import no_permission
from crofter.resources.account import store as accounts
from crofter.resources.billing import standing
from crofter.resources.billing import store as billing
from crofter.resources.instances import store as instances
from crofter.resources.transfers import obstacles, operations, store
from crofter.resources.transfers.operations import Args, entity
from crofter.resources.transfers.shapes import Entities, TransferCreate, TransferView
from crofter.resources.transfers.store import Transfer

LIFETIME = clock.DAY
FIELD = "entities.computes"
NOT_PENDING = "Only a pending transfer can be accepted or cancelled."
LETTER = "Give this token to whoever is to receive your instances: {token}\nIt is good for 24 hours.\n"


def view(ctx: Context, row: Transfer) -> TransferView:
    return TransferView(
        created=row.created,
        entities=Entities(row.computes),
        expiry=row.expiry,
        is_sender=row.sender_id == ctx.account_id,
        status=row.status,  # type: ignore[arg-type]
        token=row.token,
        updated=row.updated,
    )


def create(ctx: Context, body: TransferCreate) -> TransferView:
    ids = list(dict.fromkeys(body.entities.computes))
    own = {row.id: row for row in instances.these(ctx, ids)}
    if set(ids) - set(own):
        raise Invalid(no_permission(instances.KIND), field=FIELD)
    reasons = [Reason(text, FIELD) for text in obstacles.of_sending(ctx, [own[compute_id] for compute_id in ids])]
    if standing.past_due(ctx.db, ctx.account_id):
        reasons.insert(0, Reason(obstacles.SENDER_OWES))
    if reasons:
        raise Invalid.all(reasons)
    token = ctx.rng.uuid()
    values = {"created": ctx.moment, "updated": ctx.moment, "expiry": clock.text(ctx.now + LIFETIME)}
    number = ctx.db.insert(
        store.transfer, token=token, sender_id=ctx.account_id, status="pending", computes=ids, **values
    )
    try:
        for compute_id in ids:
            ctx.db.insert(store.transfer_claim, instance_id=compute_id, transfer_id=number)
    except Duplicate:
        raise Invalid("A Compute is in another transfer already", field=FIELD) from None
    enqueue(ctx, operations.EXPIRE, Args(token), due=ctx.now + LIFETIME)
    record(ctx, "entity_transfer_create", entity(token))
    mail.send(ctx, accounts.by_id(ctx.db, ctx.account_id).email, "Your transfer is ready", LETTER.format(token=token))
    return view(ctx, store.one(ctx, token))


def cancel(ctx: Context, transfer: Transfer) -> None:
    if not store.leave_pending(ctx, transfer, "cancelled"):
        raise Invalid(NOT_PENDING)
    record(ctx, "entity_transfer_cancel", entity(transfer.token))


def cancel_all(ctx: Context) -> None:
    """The account closes: what it has offered is offered no more."""
    for transfer in store.offered(ctx):
        cancel(ctx, transfer)


def accept(ctx: Context, transfer: Transfer) -> None:
    if transfer.sender_id == ctx.account_id:
        raise Invalid("A transfer cannot be accepted by the account that sent it.")
    # Events of both accounts are written, and what the sender has must stay as it is transfer.
    for account_id in sorted((transfer.sender_id, ctx.account_id)):
        ctx.db.lock_account(account_id)
    if store.one(ctx, transfer.token).status != "pending":
        raise Invalid(NOT_PENDING)
    _must_be_able_to_take(ctx)
    _must_be_there_to_give(ctx, transfer)
    store.take(ctx, transfer)
    _tell(ctx, transfer)
    lower = min(transfer.sender_id, ctx.account_id)
    enqueue(ctx, operations.COMPLETE, Args(transfer.token), author=Author(lower, None, ""))


def _must_be_able_to_take(ctx: Context) -> None:
    if billing.default_method(ctx.db, ctx.account_id) is None:
        raise Invalid("A payment method is needed to accept a transfer.")
    standing.must_be_paid_up(ctx)


def _must_be_there_to_give(ctx: Context, transfer: Transfer) -> None:
    seller = Context.of_system(ctx.runtime, ctx.db, transfer.sender_id)
    rows = instances.these(seller, transfer.computes)
    reasons = [Reason(text) for text in obstacles.of_moving(seller, rows)]
    if len(rows) != len(transfer.computes):
        reasons.append(Reason("A Compute of this transfer is not there any more"))
    if standing.past_due(ctx.db, transfer.sender_id):
        reasons.insert(0, Reason(obstacles.SENDER_OWES))
    if reasons:
        raise Invalid.all(reasons)


def _tell(ctx: Context, transfer: Transfer) -> None:
    record(ctx, "entity_transfer_accept", entity(transfer.token))
    # The sender must not learn the receiver's user.
    sender = Author(transfer.sender_id, None, "")
    write(ctx.db, ctx.now, sender, "entity_transfer_accept", "notification", entity(transfer.token))
