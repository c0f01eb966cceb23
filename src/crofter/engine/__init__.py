"""Durable operations. Knows no resource: resources declare what is to be done, the engine sees that it is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crofter.engine.endings import cancel, follow_up
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
    "follow_up",
    "prune",
    "step",
    "tx_step",
]

_OPERATION = dict.fromkeys(("Failed", "Nothing", "Operation", "Sleep", "Step", "step", "tx_step"), "operation")
_MODULES = _OPERATION | {
    "POOL_SIZES": "worker",
    "Schedule": "schedules",
    "StepContext": "step_context",
    "TimeTravel": "time_travel",
    "Worker": "worker",
    "admit": "queue",
    "cancel": "endings",
    "enqueue": "queue",
    "follow_up": "endings",
    "prune": "queue",
}


def __getattr__(name: str) -> Any:
    """Import the module on first access: a command that reads the clock needs neither queue nor worker."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no {name}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value
