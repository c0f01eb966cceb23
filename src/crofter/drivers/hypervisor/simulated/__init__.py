"""A hypervisor that only pretends: deterministic, durable, and as quick or as broken as it is told to be."""

from crofter.drivers.hypervisor.ledger.conditions import Transition, Transitions
from crofter.drivers.hypervisor.simulated.hypervisor import SimulatedHypervisor

__all__ = ["SimulatedHypervisor", "Transition", "Transitions"]
