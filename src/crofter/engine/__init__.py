"""Durable operations. Knows no resource: rooms declare what is to be done, the engine sees that it is."""

from crofter.engine.chores import Chore
from crofter.engine.conductor import Conductor
from crofter.engine.endings import cancel
from crofter.engine.operation import Failed, Nothing, Operation, Sleep, Step, step, tx_step
from crofter.engine.queue import admit, enqueue, prune
from crofter.engine.work import Work
from crofter.engine.worker import LANES, Worker

__all__ = [
    "LANES",
    "Chore",
    "Conductor",
    "Failed",
    "Nothing",
    "Operation",
    "Sleep",
    "Step",
    "Work",
    "Worker",
    "admit",
    "cancel",
    "enqueue",
    "prune",
    "step",
    "tx_step",
]
