"""Operations of transfers: the move of instances to another account, and expiry."""

from __future__ import annotations

from msgspec import Struct, convert, to_builtins

from crofter import clock
from crofter.context import Context
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor import Unreachable
from crofter.engine import Operation, Sleep, StepContext, admit, step, tx_step
from crofter.errors import Busy
from crofter.events import Author, write
from crofter.kinds import Entity
from crofter.resources.account import store as accounts
from crofter.resources.billing import meters, traffic
from crofter.resources.instances import costs, hypervisor_client, states
from crofter.resources.instances import store as instances
from crofter.resources.instances.backups import schedule
from crofter.resources.instances.backups.store import backup
from crofter.resources.instances.configs.store import config
from crofter.resources.instances.disks.store import disk
from crofter.resources.instances.ips.store import address
from crofter.resources.instances.store import Instance
from crofter.resources.maintenance.store import maintenance
from crofter.resources.managed.compute_settings.store import setting
from crofter.resources.tags import store as tags
from crofter.resources.transfers import obstacles, store
from crofter.resources.transfers.store import Transfer
from crofter.resources.users import access

A_MOMENT = 2.0
"""Seconds between accepting and having, as callers expect; and until a busy instance is looked at again."""
PATIENCE = 3 * clock.HOUR
"""How long a transfer waits for an instance that is busy, or for a host that does not answer."""
LONGEST_LABEL = 64
MOVED = (disk, config, backup, address, maintenance)
"""Tables whose rows move with the instance. Tags and grants stay; tickets stay with their author."""
_LABELS = query(select(instances.instance.c.label).where(instances.instance.c.account_id == bindparam("account_id")))


class Args(Struct, frozen=True):
    token: str


def entity(token: str) -> Entity:
    return Entity("entity_transfer", token, token, f"/v4/account/entity-transfers/{token}")


# ---- moving over -----------------------------------------------------------------------------------------------------


@tx_step()
def wait(ctx: Context, work: StepContext) -> Sleep | None:
    if "begun" in work.vars:
        return None
    work.vars["begun"] = ctx.now
    return Sleep(A_MOMENT)


@step()
def count_traffic(work: StepContext) -> Sleep | None:
    """The sender pays for what the instances sent and received until now."""
    with work.read() as ctx:
        transfer = store.get_unscoped(ctx.db, work.args.token)
        assert transfer is not None
        late = ctx.now - work.vars["begun"] >= PATIENCE
        try:
            left = traffic.leaving(ctx, transfer.sender_id, transfer.computes, exactly=not late)
        except Unreachable:
            return hypervisor_client.ask_later(work)
        work.vars |= {"traffic": to_builtins(left), "counted": ctx.now}
    return None


@tx_step()
def hand_over(ctx: Context, work: StepContext) -> Sleep | None:
    """Everything moves, or nothing does."""
    transfer = store.get_unscoped(ctx.db, work.args.token)
    if transfer is None or transfer.status != "accepted" or transfer.receiver_id is None:
        return None
    for account_id in sorted((transfer.sender_id, transfer.receiver_id)):
        ctx.db.lock_account(account_id)
    seller = Context.of_system(ctx.runtime, ctx.db, transfer.sender_id)
    rows = sorted(instances.these(seller, transfer.computes), key=lambda row: row.id)
    reason = _obstacle(ctx, seller, transfer, rows)
    if reason is None and _busy(seller, rows):
        if ctx.now - work.vars["counted"] < PATIENCE:
            return Sleep(A_MOMENT)
        reason = "A Compute was busy for too long"
    if reason is not None:
        _fail(ctx, transfer, reason)
        return None
    left = convert(work.vars["traffic"], list[traffic.Leaving])
    traffic.remember(ctx, transfer.sender_id, left, work.vars["counted"])
    for row in rows:
        _move(ctx, row, transfer.receiver_id)
    _finish(ctx, transfer, "completed")
    return None


def _obstacle(ctx: Context, seller: Context, transfer: Transfer, rows: list[Instance]) -> str | None:
    assert transfer.receiver_id is not None
    if accounts.by_id(ctx.db, transfer.receiver_id).closed:
        return "The receiving account is closed"
    if len(rows) != len(transfer.computes) or accounts.by_id(ctx.db, transfer.sender_id).closed:
        return "A Compute is not there any more"
    return next(obstacles.of_moving(seller, rows), None)


def _busy(seller: Context, rows: list[Instance]) -> bool:
    try:
        for row in rows:
            admit(seller, states.key(row.id))
    except Busy:
        return True
    return False


def _move(ctx: Context, row: Instance, receiver_id: int) -> None:
    costs.move(ctx, row, receiver_id)
    label = _free_label(ctx, row, receiver_id)
    ctx.db.update(instances.instance, {"id": row.id}, account_id=receiver_id, label=label, updated=ctx.moment)
    for owned in MOVED:
        ctx.db.update(owned, {"instance_id": row.id}, account_id=receiver_id)
    moved = instances.get_unscoped(ctx, row.id)
    access.forget(ctx, instances.KIND, row.id)
    tags.detach(ctx, instances.KIND, row.id)
    ctx.db.delete(setting, compute_id=row.id)
    schedule.plan(ctx, moved)
    costs.rename(ctx, moved)


def _free_label(ctx: Context, row: Instance, receiver_id: int) -> str:
    """Labels are unique in an account; one that is taken gets the instance's number behind it."""
    taken = set(ctx.db.column(_LABELS, account_id=receiver_id))
    label, ending = row.label, ""
    while label in taken:
        ending += f"-{row.id}"
        label = row.label[: LONGEST_LABEL - len(ending)].rstrip("-_.") + ending
    return label


def _fail(ctx: Context, transfer: Transfer, reason: str) -> None:
    _finish(ctx, transfer, "failed")
    for account_id in (transfer.sender_id, transfer.receiver_id):
        assert account_id is not None
        author = Author(account_id, None, "")
        named = entity(transfer.token)
        write(ctx.db, ctx.now, author, "entity_transfer_fail", "notification", named, message=reason)


def given_up(ctx: Context, work: StepContext, reason: str) -> None:
    """End a failed transfer: nothing has moved, and it must not stay accepted."""
    transfer = store.get_unscoped(ctx.db, work.args.token)
    if transfer is not None and transfer.status == "accepted" and transfer.receiver_id is not None:
        for account_id in sorted((transfer.sender_id, transfer.receiver_id)):
            ctx.db.lock_account(account_id)
        _fail(ctx, transfer, reason)


def _finish(ctx: Context, transfer: Transfer, status: str) -> None:
    ctx.db.update(store.transfer, {"id": transfer.id, "status": "accepted"}, status=status, updated=ctx.moment)
    ctx.db.delete(store.transfer_claim, transfer_id=transfer.id)


def expected_cost(ctx: Context, args: Args) -> tuple[int, int]:
    """Return the cost of the instances for the receiver."""
    transfer = store.get_unscoped(ctx.db, args.token)
    running = [
        meter
        for compute_id in (transfer.computes if transfer else ())
        for kind in (costs.COMPUTE, costs.BACKUP, costs.ADDRESS)
        for meter in meters.running(ctx.db, kind, compute_id)
    ]
    return sum(meter.hourly for meter in running), sum(meter.monthly for meter in running)


COMPLETE = Operation(
    kind="transfer.complete",
    args=Args,
    steps=(wait, count_traffic, hand_over),
    failed=given_up,
    cost=expected_cost,
    keep=False,
)


# ---- running out ----------------------------------------------------------------------------------------------------


@tx_step()
def expire(ctx: Context, work: StepContext) -> Sleep | None:
    """Expire a transfer that was not accepted within a day."""
    run_out(ctx, work)
    return None


def run_out(ctx: Context, work: StepContext, _reason: str = "") -> None:
    """Expire the transfer, even after a failed operation: its instances must be free for another offer."""
    transfer = store.get_unscoped(ctx.db, work.args.token)
    if transfer is not None and store.leave_pending(ctx, transfer, "stale", late=True):
        author = Author(transfer.sender_id, None, "")
        write(ctx.db, ctx.now, author, "entity_transfer_stale", "notification", entity(transfer.token))


EXPIRE = Operation(kind="transfer.expire", args=Args, steps=(expire,), failed=run_out, keep=False)
OPERATIONS = (COMPLETE, EXPIRE)
