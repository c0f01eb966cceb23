"""Contract of the mail drivers."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Mail(Struct, frozen=True):
    """A plain-text message to a single recipient."""

    message_id: str
    """The same for every attempt, so that a mail that is sent twice is recognised as one."""
    to: str
    subject: str
    text: str


class Undeliverable(Exception):
    """The mail will never arrive, however often it is sent."""


class Mailer(Protocol):
    def send(self, mail: Mail) -> None:
        """Hand a mail over. Raises Undeliverable for good, anything else for now; may be repeated."""
