"""A hypervisor that only pretends: deterministic, durable, and as quick or as broken as it is told to be."""

from crofter.drivers.hypervisor.simulated.hypervisor import SimulatedHypervisor
from crofter.drivers.hypervisor.simulated.world import Transition, Transitions

__all__ = ["SimulatedHypervisor", "Transition", "Transitions"]
