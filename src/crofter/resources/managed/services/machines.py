"""Probe results without a network: set by the sandbox, or derived from simulated machines."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.db.sql import select
from crofter.drivers.probes import Answer
from crofter.resources.instances.ips.store import address
from crofter.resources.instances.store import instance
from crofter.resources.managed.services.store import Service


class Machine(Row):
    account_id: int
    address: str
    public: bool
    region: str
    status: str


_AT = query(
    select(address.c.account_id, address.c.address, address.c.public, address.c.region, instance.c.status)
    .join(instance, instance.c.id == address.c.instance_id)
    .where(among(address.c.address, "hosts")),
    Machine,
)


def known_answers(ctx: Context, services: Sequence[Service]) -> dict[int, Answer]:
    """Return the known results of these services by id."""
    if not ctx.runtime.settings.sandbox:
        return {}
    known = {
        service.id: Answer(0, service.forced == "up", "the sandbox says so") for service in services if service.forced
    }
    if ctx.runtime.settings.driver == "simulated":
        known = {**_simulated(ctx, services), **known}
    return known


def _simulated(ctx: Context, services: Sequence[Service]) -> dict[int, Answer]:
    """Return results of simulated machines: they have no network, and count as up while running."""
    hosts = [service.host for service in services if service.host[:1].isdigit()]
    machines = ctx.db.all(_AT, hosts=hosts) if hosts else []
    return {
        service.id: Answer(0, machine.status == "running", f"the instance is {machine.status}")
        for service in services
        for machine in machines
        if (machine.account_id, machine.address) == (service.account_id, service.host)
        and (machine.public or machine.region == service.region)
    }
