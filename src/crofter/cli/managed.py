"""Commands of the support staff for managed accounts."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from crofter import events
from crofter.cli.operators import Arguments, Rows, on_record, operator, plain
from crofter.cli.tickets import seeking
from crofter.context import Context, Runtime
from crofter.db import Row, query
from crofter.db.sql import bindparam, or_, select
from crofter.errors import Invalid
from crofter.events import Author
from crofter.resources.account.store import ENTITY, account, is_managed
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
        return [msgspec.structs.asdict(row) for row in db.all(_CREDENTIALS, account_id=account_id)]


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
    from crofter.resources.managed import enabling  # noqa: PLC0415 - it brings billing along

    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        account_id = staff.account_of(ctx, arguments["euuid"])
        db.lock_account(account_id)
        if not enabling.disable(ctx, account_id):
            raise Invalid("managed service is not enabled on this account")
        events.write(db, ctx.now, Author(account_id, None, staff.STAFF), "managed_disabled", "notification", ENTITY)
        on_record(ctx, arguments, account_id, "/v4/account/settings")
    return [{"disabled": arguments["euuid"]}]


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "managed decrypt": decrypt,
    "managed ssh-key": ssh_key,
    "managed disable": disable,
}
LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "managed services": list_services,
    "managed credentials": list_credentials,
}
