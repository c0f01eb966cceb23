"""What the support staff does for managed accounts and for machines that need maintenance."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from sqlalchemy import bindparam, or_, select

from crofter import clock, events
from crofter.cli.operators import Arguments, Rows, on_record, operator, plain
from crofter.cli.tickets import seeking
from crofter.context import Context, Runtime
from crofter.db import Row, query
from crofter.errors import Invalid
from crofter.events import Author
from crofter.resources.account.store import ENTITY, account, is_managed
from crofter.resources.instances import store as instances
from crofter.resources.maintenance import rules as maintenance
from crofter.resources.maintenance import store as maintained
from crofter.resources.managed import enabling
from crofter.resources.managed.credentials import rules as credentials
from crofter.resources.managed.credentials.store import credential
from crofter.resources.managed.services.store import service
from crofter.resources.support import staff


class _Monitored(Row):
    id: int
    euuid: str
    status: str
    label: str
    address: str
    notes: str | None


_SERVICES = query(
    select(service.c.id, account.c.euuid, service.c.status, service.c.label, service.c.address, service.c.notes)
    .join(account, account.c.id == service.c.account_id)
    .where(or_(bindparam("everything"), service.c.status == "problem"))
    .order_by(service.c.id),
    _Monitored,
)


class _Entrusted(Row):
    id: int
    label: str
    last_decrypted: str | None


_CREDENTIALS = query(
    select(credential.c.id, credential.c.label, credential.c.last_decrypted)
    .where(credential.c.account_id == bindparam("account_id"))
    .order_by(credential.c.id),
    _Entrusted,
)


def list_services(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        services = db.all(_SERVICES, everything=not arguments["problems"])
    return [{**msgspec.structs.asdict(service), "notes": plain(service.notes or "")} for service in services]


def list_credentials(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        account_id = staff.account_of(Context(runtime, db), arguments["euuid"])
        return [msgspec.structs.asdict(one) for one in db.all(_CREDENTIALS, account_id=account_id)]


def decrypt(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db, seeking(f"credential {arguments['id']}"):
        secrets = credentials.decrypt(Context(runtime, db), arguments["id"], by=operator(arguments))
    return [dict(secrets) if arguments["json"] else {name: plain(value or "") for name, value in secrets.items()}]


def ssh_key(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        account_id = staff.account_of(ctx, arguments["euuid"])
        if not is_managed(db, account_id):
            raise Invalid("managed service is not enabled on this account")
        private = credentials.private_key(ctx, account_id, by=operator(arguments))
    if arguments["json"]:
        return [{"private_key": private}]
    print(private, end="")
    return []


def disable(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        account_id = staff.account_of(ctx, arguments["euuid"])
        db.lock_account(account_id)
        if not enabling.disable(ctx, account_id):
            raise Invalid("managed service is not enabled on this account")
        events.write(db, ctx.now, Author(account_id, None, staff.STAFF), "managed_disabled", "notification", ENTITY)
        on_record(ctx, arguments, account_id, "/v4/account/settings")
    return [{"disabled": arguments["euuid"]}]


# ---- maintenance ----------------------------------------------------------------------------------------------------


def schedule_maintenance(runtime: Runtime, arguments: Arguments) -> Rows:
    when = _moment(arguments["when"])
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        with seeking(f"instance {arguments['compute_id']}"):
            instance = instances.get_unscoped(ctx, arguments["compute_id"])
        db.lock_account(instance.account_id)
        if when <= ctx.now:
            raise Invalid(f"{arguments['when']} is over")
        number = maintenance.schedule(ctx, instance, arguments["type"], when, arguments["reason"])
        on_record(ctx, arguments, instance.account_id, f"/v4/compute/instances/{instance.id}")
    return [{"scheduled": number}]


def _moment(text: str) -> int:
    try:
        return clock.parse(text)
    except ValueError as error:
        raise Invalid(f"{text} is no moment like 2030-12-31T23:00:00") from error


def list_maintenance(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        found = maintained.everybodys(Context(runtime, db))
    return [
        {"id": one.id, "compute_id": one.instance_id, "when": one.when_, "type": one.type, "status": one.status}
        | {"label": plain(one.label), "reason": one.reason}
        for one in found
    ]


def cancel_maintenance(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        found = maintained.any_one(ctx, arguments["id"])
        if found is None or not maintenance.call_off(ctx, found.id):
            raise Invalid(f"there is no maintenance {arguments['id']} that has not begun")
        account_id = instances.get_unscoped(ctx, found.instance_id).account_id
        on_record(ctx, arguments, account_id, f"/v4/compute/instances/{found.instance_id}")
    return [{"cancelled": arguments["id"]}]


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "managed decrypt": decrypt,
    "managed ssh-key": ssh_key,
    "managed disable": disable,
    "maintenance schedule": schedule_maintenance,
    "maintenance cancel": cancel_maintenance,
}
LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "managed services": list_services,
    "managed credentials": list_credentials,
    "maintenance list": list_maintenance,
}
