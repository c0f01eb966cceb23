"""The traffic of instances as billing asks for it, who knows no machines: bytes, from the hosts."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.drivers.hypervisor import Absent, DomainRef, Unreachable
from crofter.resources.instances.store import instance


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
    """Bytes of those of these instances that the account has, each from one moment to another."""
    machines = ctx.db.all(_MACHINES, account_id=account_id, ids=list(periods))
    return {machine.id: _bytes(ctx, machine, *periods[machine.id], exactly=exactly) for machine in machines}


def _bytes(ctx: Context, machine: _Machine, start: int, stop: int, *, exactly: bool) -> int:
    """What went in and out over the public network."""
    if machine.host is None or start >= stop:
        return 0
    try:
        points = ctx.runtime.hypervisor.history(DomainRef(machine.host, machine.id), start, stop, stop - start)
    except Absent:
        return 0
    except Unreachable:
        if exactly:
            raise
        return 0
    return sum(point.ipv4_in + point.ipv6_in + point.ipv4_out + point.ipv6_out for point in points)
