"""Simulated hypervisor: deterministic, durable, with configurable speed and faults."""

from crofter.drivers.hypervisor.ledger.conditions import Transition, Transitions
from crofter.drivers.hypervisor.simulated.hypervisor import SimulatedHypervisor

__all__ = ["SimulatedHypervisor", "Transition", "Transitions"]
