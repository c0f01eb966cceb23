"""The warning about a production server that only pretends to take money."""

from __future__ import annotations

from crofter.config import Settings

PRETENDED_PAYMENTS = (
    "payment_gateway is simulated in production: cards are accepted and invoices marked as paid without any money"
)


def pretends_payments(settings: Settings) -> bool:
    return settings.payment_gateway == "simulated" and not settings.sandbox
