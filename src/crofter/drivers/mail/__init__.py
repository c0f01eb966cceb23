"""Sending mail: what every driver promises, and the drivers."""

from crofter.drivers.mail.contract import Mail, Mailer, Undeliverable
from crofter.drivers.mail.outbox import Outbox
from crofter.drivers.mail.smtp import Smtp

__all__ = ["Mail", "Mailer", "Outbox", "Smtp", "Undeliverable"]
