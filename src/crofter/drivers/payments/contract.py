"""What every payment gateway promises.

- **The same key is the same charge.** However often it is asked for, money moves once.
- **In doubt is not declined.** A gateway that did not answer raises InDoubt; what became of the charge is looked
  up by its key, never assumed.
- **What is called off stays off.** A charge that never arrived can be refused for ever, so that a request which was
  stuck on its way does no harm when it arrives after all.
- **A staged payment is paid once.** Staging moves nothing. Whoever executes it, and under whichever keys: once, by the
  customer who staged it, and as much as was staged.
- **A card number goes in and never comes out.** The server keeps the gateway's token for it, and nothing else.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class InDoubt(Exception):
    """Nobody knows whether the money moved. Look it up by its key."""


class Refused(Exception):
    """The gateway does not take this card. The text is for its owner."""


class Card(Struct, frozen=True):
    """A card as it was typed in. Lives as long as the call that carries it."""

    number: str
    cvv: str
    expiry_month: int
    expiry_year: int

    def __repr__(self) -> str:
        return "Card(…)"  # must not reach a log or a traceback


class KeptCard(Struct, frozen=True):
    """What may be known of a card afterwards."""

    token: str
    card_type: str
    last_four: str
    expiry: str


class Staged(Struct, frozen=True):
    """A payment that waits for its payer to approve it with the gateway."""

    payment_id: str
    checkout_token: str


class Outcome(Struct, frozen=True):
    """What became of a charge."""

    paid: bool
    reason: str | None = None


class Gateway(Protocol):
    takes_payments: bool
    """False if the server has no gateway: every card and payment is refused before a call."""

    def keep(self, card: Card, key: str) -> KeptCard:
        """Store a card with the gateway, once per key. Raises Refused, InDoubt."""

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        """Take money from a stored card, once per key. Raises InDoubt."""

    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        """Prepare a payment that a payer approves with the gateway, once per key. Raises Refused, InDoubt.

        The payer is sent to one of the two addresses afterwards.
        """

    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        """Take the money of a staged payment from the payer who approved it, once per key. Raises InDoubt."""

    def find(self, key: str) -> Outcome | None:
        """What became of a charge; None if it never arrived. Raises InDoubt."""

    def call_off(self, key: str) -> Outcome:
        """What became of a charge; one that never arrived is refused from now on. Raises InDoubt."""
