"""Who may hand what to whom."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from sqlalchemy import bindparam, func, select, update

from crofter import clock, mail
from crofter.context import Actor, Context
from crofter.db import Clash, among, query
from crofter.engine import Operation, Sleep, Work, admit, enqueue, tx_step
from crofter.errors import Busy, Forbidden, Invalid
from crofter.journal import Author, record, write
from crofter.kinds import Entity
from crofter.resources.account import store as accounts
from crofter.resources.billing import metering
from crofter.resources.billing import store as billing
from crofter.resources.firewalls.store import firewall_device
from crofter.resources.instances import costs, states
from crofter.resources.instances import store as instances
from crofter.resources.instances.backups.store import backup
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import config
from crofter.resources.instances.disks.store import disk
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.store import address
from crofter.resources.instances.store import Instance
from crofter.resources.managed.services import store as managed_services
from crofter.resources.tags import store as tags
from crofter.resources.transfers import store
from crofter.resources.transfers.shapes import Entities, TransferCreate, TransferView
from crofter.resources.transfers.store import Transfer
from crofter.resources.users.store import grant
from crofter.resources.volumes.store import volume

LIFETIME = clock.DAY
_VOLUMES = query(select(func.count()).where(among(volume.c.instance_id, "ids")))
_FIREWALLS = query(
    select(func.count()).where(firewall_device.c.kind == instances.KIND, among(firewall_device.c.object_id, "ids"))
)
_OWNED = (instances.instance, disk, config, backup, address)


class Args(Struct, frozen=True):
    token: str


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
    found = {row.id: row for row in instances.these(ctx, ids)}
    if set(ids) - set(found):
        raise Forbidden("You do not have permission to access this Compute", field="entities.computes")
    reasons = list(_obstacles(ctx, [found[one] for one in ids]))
    if reasons:
        raise Invalid(reasons[0], field="entities.computes")
    token = ctx.dice.uuid()
    number = ctx.db.insert(
        store.transfer,
        token=token,
        sender_id=ctx.account_id,
        status="pending",
        computes=ids,
        created=ctx.moment,
        updated=ctx.moment,
        expiry=clock.text(ctx.now + LIFETIME),
    )
    try:
        for one in ids:
            ctx.db.insert(store.transfer_claim, instance_id=one, transfer_id=number)
    except Clash:
        raise Invalid(IN_TRANSFER, field="entities.computes") from None
    enqueue(ctx, EXPIRE, Args(token), due=ctx.now + LIFETIME, dedup=f"transfer.expire:{token}")
    record(ctx, "entity_transfer_create", entity(token))
    account = accounts.one(ctx.db, ctx.account_id)
    mail.send(
        ctx,
        account.email,
        "Your transfer is ready",
        f"Give this token to whoever is to receive your instances: {token}\nIt is good for 24 hours.\n",
    )
    return view(ctx, store.one(ctx, token))


IN_TRANSFER = "A Compute is in another pending transfer already"


def _obstacles(ctx: Context, rows: list[Instance]) -> Iterator[str]:
    """Why these instances cannot change hands, if they cannot."""
    ids = [row.id for row in rows]
    if billing.balance(ctx.db, rows[0].account_id) > 0:
        yield "The account has a past due balance"
    if store.claimed(ctx, ids):
        yield IN_TRANSFER
    yield from attached(ctx, rows)


def attached(ctx: Context, rows: list[Instance]) -> Iterator[str]:
    """What hangs on the instances and cannot go along."""
    ids = [row.id for row in rows]
    if int(ctx.db.value(_VOLUMES, ids=ids)):
        yield "A Compute has volumes attached"
    if int(ctx.db.value(_FIREWALLS, ids=ids)):
        yield "A Compute has a firewall"
    for row in rows:
        if any(one["purpose"] == "vlan" for kept in configs.of(ctx, row.id) for one in kept.interfaces):
            yield "A Compute has a VLAN attached"
    addresses = [one for found in ips.by_instance(ctx, ids).values() for one in found]
    addresses += [row.ipv6.partition("/")[0] for row in rows if row.ipv6]
    if managed_services.monitors(ctx, addresses):
        yield "A Compute has a managed service"


def cancel(ctx: Context, found: Transfer) -> None:
    _end(ctx, found, "cancelled")
    record(ctx, "entity_transfer_cancel", entity(found.token))


def _end(ctx: Context, found: Transfer, status: str) -> None:
    """From pending to an end, once."""
    moved = ctx.db.update(store.transfer, {"id": found.id, "status": "pending"}, status=status, updated=ctx.moment)
    if not moved:
        raise Invalid("Only a pending transfer can be changed.")
    ctx.db.delete(store.transfer_claim, transfer_id=found.id)


def accept(ctx: Context, found: Transfer) -> None:
    if found.sender_id == ctx.account_id:
        raise Invalid("A transfer cannot be accepted by the account that sent it.")
    if found.status != "pending" or ctx.now >= clock.parse(found.expiry):
        raise Invalid("Only a pending transfer can be accepted.")
    if billing.default_method(ctx.db, ctx.account_id) is None:
        raise Invalid("A payment method is needed to accept a transfer.")
    if billing.balance(ctx.db, ctx.account_id) > 0:
        raise Invalid("The account has a past due balance")
    accepted = ctx.db.update(
        store.transfer,
        {"id": found.id, "status": "pending"},
        status="accepted",
        receiver_id=ctx.account_id,
        updated=ctx.moment,
    )
    if not accepted:
        raise Invalid("Only a pending transfer can be accepted.")
    record(ctx, "entity_transfer_accept", entity(found.token))
    sender = Author(found.sender_id, None, ctx.actor.username)
    write(ctx.db, ctx.now, sender, "entity_transfer_accept", "notification", entity(found.token))
    enqueue(ctx, COMPLETE, Args(found.token))


def entity(token: str) -> Entity:
    return Entity("entity_transfer", token, token, f"/v4/account/entity-transfers/{token}")


# ---- what happens later ---------------------------------------------------------------------------------------------


@tx_step()
def settle(ctx: Context, work: Work) -> Sleep | None:
    """A moment passes between accepting and having, as callers expect."""
    if "begun" in work.vars:
        return None
    work.vars["begun"] = True
    return Sleep(2)


@tx_step()
def hand_over(ctx: Context, work: Work) -> Sleep | None:
    """Everything moves, or nothing does."""
    found = store.any(ctx.db, work.args.token)
    if found is None or found.status != "accepted" or found.receiver_id is None:
        return None
    for account_id in sorted((found.sender_id, found.receiver_id)):
        ctx.db.hold(account_id)
    seller = Context(ctx.world, ctx.db, Actor(found.sender_id, 0, "", False, 0, frozenset({"*"})))
    rows = instances.these(seller, found.computes)
    try:
        for row in rows:
            admit(seller, states.key(row.id))
    except Busy:
        return Sleep(2)
    obstacles = list(attached(seller, rows))
    if len(rows) != len(found.computes) or obstacles or _labels_clash(ctx, rows, found.receiver_id):
        _finish(ctx, found, "failed", "entity_transfer_fail")
        return None
    for row in rows:
        _move(ctx, row, found.receiver_id)
    _finish(ctx, found, "completed", None)
    return None


_SAME_LABELS = query(
    select(func.count()).where(
        instances.instance.c.account_id == bindparam("account_id"), among(instances.instance.c.label, "labels")
    )
)
_RENAME = query(
    update(instances.instance).where(instances.instance.c.id == bindparam("number")).values(label=bindparam("name"))
)


def _labels_clash(ctx: Context, rows: list[Instance], receiver_id: int) -> bool:
    """Labels are unique in an account; one that is taken gets its number behind it."""
    for row in rows:
        taken = int(ctx.db.value(_SAME_LABELS, account_id=receiver_id, labels=[row.label]))
        if taken:
            ctx.db.run(_RENAME, number=row.id, name=f"{row.label[:50]}-{row.id}")
    return False


def _move(ctx: Context, row: Instance, receiver_id: int) -> None:
    for owned in _OWNED:
        where = {"id": row.id} if owned is instances.instance else {"instance_id": row.id}
        ctx.db.update(owned, where, account_id=receiver_id)
    ctx.db.delete(grant, kind=instances.KIND, object_id=row.id)
    tags.detach(ctx, instances.KIND, row.id)
    for what in (costs.COMPUTE, costs.BACKUP, costs.ADDRESS):
        metering.move(ctx, what, row.id, receiver_id)


def _finish(ctx: Context, found: Transfer, status: str, action: str | None) -> None:
    ctx.db.update(store.transfer, {"id": found.id, "status": "accepted"}, status=status, updated=ctx.moment)
    ctx.db.delete(store.transfer_claim, transfer_id=found.id)
    if action is not None:
        for account_id in (found.sender_id, found.receiver_id):
            assert account_id is not None
            author = Author(account_id, None, "")
            write(ctx.db, ctx.now, author, action, "notification", entity(found.token))


@tx_step()
def expire(ctx: Context, work: Work) -> Sleep | None:
    """A day has passed and nobody took it."""
    found = store.any(ctx.db, work.args.token)
    if found is None or found.status != "pending":
        return None
    ctx.db.hold(found.sender_id)
    if ctx.db.update(store.transfer, {"id": found.id, "status": "pending"}, status="stale", updated=ctx.moment):
        ctx.db.delete(store.transfer_claim, transfer_id=found.id)
        author = Author(found.sender_id, None, "")
        write(ctx.db, ctx.now, author, "entity_transfer_stale", "notification", entity(found.token))
    return None


COMPLETE = Operation(kind="transfer.complete", args=Args, steps=(settle, hand_over))
EXPIRE = Operation(kind="transfer.expire", args=Args, steps=(expire,), keep=False)
OPERATIONS = (COMPLETE, EXPIRE)
