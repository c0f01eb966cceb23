"""Contract of the payment gateways.

- **Same key, same charge.** Money moves once, however often the charge is repeated.

- **In doubt is not declined.** A gateway that did not answer raises InDoubt; the result of the charge is looked up by
its key, never assumed.

- **A cancelled charge stays cancelled.** A charge that never arrived can be refused for ever, so that a delayed request
does no harm when it arrives later.

- **A staged payment is paid once.** Staging moves nothing. It is executed once, under any keys, by the customer who
staged it, with the staged amount.

- **A card number goes in and never comes out.** The server keeps the gateway's token for it, and nothing else.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class InDoubt(Exception):
    """Unknown result of a charge. Look the charge up by its key."""


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
    """Data of a card that may be stored."""

    token: str
    card_type: str
    last_four: str
    expiry: str


class Staged(Struct, frozen=True):
    """A payment that waits for its payer to approve it with the gateway."""

    payment_id: str
    checkout_token: str


class Outcome(Struct, frozen=True):
    """Result of a charge."""

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
        """Return the result of a charge; None if it never arrived. Raises InDoubt."""

    def call_off(self, key: str) -> Outcome:
        """Cancel a charge that never arrived, and return its result. Raises InDoubt."""
