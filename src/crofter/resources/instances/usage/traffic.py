"""Traffic of instances for billing, in bytes, from the hosts."""

from __future__ import annotations

from collections.abc import Mapping

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor import Unreachable
from crofter.resources.instances.store import instance
from crofter.resources.instances.usage import port


class _Machine(Row):
    id: int
    host: int | None


_MACHINES = query(
    select(instance.c.id, instance.c.host).where(
        instance.c.account_id == bindparam("account_id"), among(instance.c.id, "ids")
    ),
    _Machine,
)


def measure(ctx: Context, account_id: int, periods: Mapping[int, tuple[int, int]], *, exactly: bool) -> dict[int, int]:
    """Bytes of those of these instances that the account has, each from one moment to another.

    A host that does not answer in time counts for nothing, unless it must be known ``exactly``: then Unreachable.
    """
    machines = ctx.db.all(_MACHINES, account_id=account_id, ids=list(periods))
    until = port.deadline()
    measured: dict[int, int] = {}
    for machine in machines:
        try:
            bytes_used = port.traffic_of(ctx.runtime, machine.id, machine.host, *periods[machine.id], until=until)
        except Unreachable:
            if exactly:
                raise
            bytes_used = 0
        measured[machine.id] = bytes_used
    return measured
