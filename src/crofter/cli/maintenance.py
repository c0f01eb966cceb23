"""Commands of ``crofter admin`` that announce maintenance of instances."""

from __future__ import annotations

from collections.abc import Callable

from crofter import clock
from crofter.cli.operators import Arguments, Rows, on_record, plain
from crofter.cli.tickets import seeking
from crofter.context import Context, Runtime
from crofter.errors import Invalid
from crofter.resources.instances import store as instances
from crofter.resources.maintenance import store as maintained


def schedule_maintenance(runtime: Runtime, arguments: Arguments) -> Rows:
    from crofter.resources.maintenance import rules as maintenance  # noqa: PLC0415 - a list needs none

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
        rows = maintained.everybodys(Context(runtime, db))
    return [
        {"id": row.id, "compute_id": row.instance_id, "when": row.when_, "type": row.type, "status": row.status}
        | {"label": plain(row.label), "reason": row.reason}
        for row in rows
    ]


def cancel_maintenance(runtime: Runtime, arguments: Arguments) -> Rows:
    from crofter.resources.maintenance import rules as maintenance  # noqa: PLC0415

    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        entry = maintained.any_one(ctx, arguments["id"])
        if entry is None or not maintenance.call_off(ctx, entry.id):
            raise Invalid(f"there is no maintenance {arguments['id']} that has not begun")
        account_id = instances.get_unscoped(ctx, entry.instance_id).account_id
        on_record(ctx, arguments, account_id, f"/v4/compute/instances/{entry.instance_id}")
    return [{"cancelled": arguments["id"]}]


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "maintenance schedule": schedule_maintenance,
    "maintenance cancel": cancel_maintenance,
}
LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"maintenance list": list_maintenance}
