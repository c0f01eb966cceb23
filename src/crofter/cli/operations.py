"""Commands of ``crofter admin`` on operations: list, retry, end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from crofter import clock
from crofter.cli.operators import SERVER, Arguments, Rows, on_record, plain
from crofter.context import Context, Runtime
from crofter.db import Row, query
from crofter.db.sql import bindparam, or_, select
from crofter.engine import cancel, timekeeping
from crofter.engine.operation import Operations
from crofter.engine.queue import TOPIC
from crofter.engine.tables import operation
from crofter.errors import Invalid, NotFound

MOST = 200
"""Operations that are listed."""


class _Listed(Row):
    id: int
    kind: str
    state: str
    cursor: str
    due: int
    attempt: int
    account_id: int | None
    event_id: int | None
    error: str | None


_COLUMNS = [operation.c[name] for name in _Listed.__struct_fields__]
_LISTED = query(
    select(*_COLUMNS)
    .where(or_(bindparam("any"), operation.c.state == bindparam("state")))
    .where(or_(bindparam("ended"), operation.c.state.in_(("queued", "running", "waiting", "failed"))))
    .order_by(operation.c.id.desc())
    .limit(MOST + 1),
    _Listed,
)
_ONE = query(select(*_COLUMNS).where(operation.c.id == bindparam("id")), _Listed)


def list_operations(runtime: Runtime, arguments: Arguments) -> Rows:
    """The latest first; without a state those that have not ended, and those that failed."""
    state = arguments["state"]
    with runtime.database.read() as db:
        rows = db.all(_LISTED, any=state is None, state=state or "", ended=state is not None)
    if len(rows) > MOST:
        print(f"crofter: these are the latest {MOST}; there are more", file=sys.stderr)
    return [
        {**msgspec.structs.asdict(row), "due": clock.text(row.due), "error": plain(row.error) if row.error else None}
        for row in rows[:MOST]
    ]


def retry(runtime: Runtime, arguments: Arguments) -> Rows:
    """Do one now that waits for its next try; or again, if it failed and was the server's own."""
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        failed = _found(ctx, arguments["id"])
        now = timekeeping.now(runtime, db)
        changes: dict[str, Any] = {"due": now, "attempt": 0, "crashes": 0}
        if failed.state == "failed":
            if _has_told_owner(failed) or not _can_begin_again(failed.kind):
                raise Invalid(f"operation {failed.id} has told its owner that it failed; it has to be ordered again")
            changes |= {"state": "queued", "finished": None, "error": None}
        elif failed.state not in ("queued", "waiting"):
            raise Invalid(f"operation {failed.id} is {failed.state}")
        if db.update(operation, {"id": failed.id, "state": failed.state}, **changes) != 1:
            raise Invalid(f"operation {failed.id} has moved on meanwhile")
        db.signal(TOPIC)
        _on_record(ctx, arguments, failed)
    return [{"retried": failed.id}]


def _has_told_owner(failed: _Listed) -> bool:
    """True if the failure was the owner's own order, and not the follow-up of one."""
    from crofter.operations import OPERATIONS  # noqa: PLC0415 - takes longer to load than all else here

    kind = Operations(OPERATIONS).find(failed.kind)
    return failed.event_id is not None and (kind is None or kind.keep)


def _can_begin_again(name: str) -> bool:
    """True if the operation still has its arguments."""
    from crofter.operations import OPERATIONS  # noqa: PLC0415 - takes longer to load than all else here

    kind = Operations(OPERATIONS).find(name)
    return kind is not None and not kind.erased


def call_off(runtime: Runtime, arguments: Arguments) -> Rows:
    """End one that is queued; let one that is under way stop at its next checkpoint."""
    from crofter.operations import OPERATIONS  # noqa: PLC0415 - each has its own way to clear up

    runtime.operations = Operations(OPERATIONS)
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        operation = _found(ctx, arguments["id"])
        if operation.account_id is not None:
            ctx = Context.of_system(runtime, db, operation.account_id)  # the cleanup acts on this account
        if not cancel(ctx, operation.id):
            raise Invalid(f"operation {operation.id} has ended already")
        _on_record(ctx, arguments, operation)
    return [{"cancelled": operation.id}]


def _found(ctx: Context, number: int) -> _Listed:
    operation = ctx.db.maybe(_ONE, id=number)
    if operation is None:
        raise NotFound(f"there is no operation {number}")
    if operation.account_id is not None:
        ctx.db.lock_account(operation.account_id)
    return operation


def _on_record(ctx: Context, arguments: Arguments, operation: _Listed) -> None:
    about = f"operation {operation.id} ({operation.kind})"
    on_record(ctx, arguments, SERVER if operation.account_id is None else operation.account_id, about)


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {"operations retry": retry, "operations cancel": call_off}
LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"operations list": list_operations}
