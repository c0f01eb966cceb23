"""Taking money: what a payment gateway promises, and one that only pretends."""

from crofter.drivers.payments.contract import Card, Gateway, InDoubt, KeptCard, Outcome, Refused, Staged
from crofter.drivers.payments.simulated import SimulatedGateway

__all__ = ["Card", "Gateway", "InDoubt", "KeptCard", "Outcome", "Refused", "SimulatedGateway", "Staged"]
