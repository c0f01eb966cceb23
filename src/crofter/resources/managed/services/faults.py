"""The fault ``probe``: sets the result of a service's probes."""

from __future__ import annotations

from typing import Literal

from crofter.context import Context, Runtime
from crofter.engine.queue import enqueue
from crofter.errors import Invalid
from crofter.faults import FaultKind
from crofter.resources.managed.services import rounds, store
from crofter.shapes import Body, Id


class ProbeFault(Body):
    service_id: Id
    result: Literal["up", "down"]


def _start(runtime: Runtime, fault: ProbeFault) -> None:
    with runtime.database.write() as db:
        ctx = Context(runtime, db)
        service = store.service_unscoped(ctx, fault.service_id)
        if service is None:
            raise Invalid("service_id is not valid", field="service_id")
        store.change(ctx, service.id, forced=fault.result)
        enqueue(ctx, rounds.ROUND, rounds.Block(service.id, service.id))


def _clear(runtime: Runtime) -> None:
    with runtime.database.write() as db:
        store.unforce(Context(runtime, db))


PROBE = FaultKind(name="probe", body=ProbeFault, start=_start, clear=_clear, same=("service_id",))
