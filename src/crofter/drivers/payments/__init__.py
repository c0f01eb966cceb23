"""Payment gateways: the contract, a simulated gateway, and the absence of one."""

from crofter.drivers.payments.absent import NOT_TAKEN, NoGateway
from crofter.drivers.payments.contract import Card, Gateway, InDoubt, KeptCard, Outcome, Refused, Staged
from crofter.drivers.payments.simulated import SimulatedGateway

__all__ = [
    "NOT_TAKEN",
    "Card",
    "Gateway",
    "InDoubt",
    "KeptCard",
    "NoGateway",
    "Outcome",
    "Refused",
    "SimulatedGateway",
    "Staged",
]
