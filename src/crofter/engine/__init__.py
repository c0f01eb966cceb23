"""Durable operations. Knows no resource: resources declare what is to be done, the engine sees that it is."""

from crofter.engine.endings import cancel
from crofter.engine.operation import Failed, Nothing, Operation, Sleep, Step, step, tx_step
from crofter.engine.queue import admit, enqueue, prune
from crofter.engine.schedules import Schedule
from crofter.engine.step_context import StepContext
from crofter.engine.time_travel import TimeTravel
from crofter.engine.worker import POOL_SIZES, Worker

__all__ = [
    "POOL_SIZES",
    "Failed",
    "Nothing",
    "Operation",
    "Schedule",
    "Sleep",
    "Step",
    "StepContext",
    "TimeTravel",
    "Worker",
    "admit",
    "cancel",
    "enqueue",
    "prune",
    "step",
    "tx_step",
]
