"""Mails handed to a mail server, encrypted on the way: STARTTLS, or TLS from the first byte."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from urllib.parse import unquote, urlsplit

from crofter.drivers.mail.contract import Mail, Undeliverable

TIMEOUT = 20.0
_PORTS = {"smtp": 587, "smtps": 465}
_FOR_GOOD = range(500, 600)
"""Answers that a repetition does not change."""


class Smtp:
    """``address`` is ``smtp://user:password@host:port`` or ``smtps://…``; unencrypted mail is never sent."""

    def __init__(
        self, address: str, sender: str, context: ssl.SSLContext | None = None, timeout: float = TIMEOUT
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("a mail server is smtp://host or smtps://host")
        self._immediately = parts.scheme == "smtps"
        self._host, self._port = parts.hostname, parts.port or _PORTS[parts.scheme]
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._sender = sender
        self._context = context or ssl.create_default_context()
        self._timeout = timeout

    @property
    def place(self) -> str:
        """Host and port of the mail server."""
        return f"{self._host}:{self._port}"

    def offer(self, recipient: str | None = None) -> str:
        """Go as far as the recipient of a mail, and send none. Return the address; raise if the server refuses.

        Without a recipient, the sender writes to itself.
        """
        sender = parseaddr(self._sender)[1]
        with self._connected() as server:
            server.ehlo_or_helo_if_needed()
            for code, answer in (server.mail(sender), server.rcpt(recipient or sender)):
                if code >= 300:
                    raise smtplib.SMTPResponseException(code, f"{code} {answer.decode(errors='replace')}")
            server.rset()
        return recipient or sender

    def send(self, mail: Mail) -> None:
        try:
            message = self._message(mail)
        except ValueError as error:  # an address that no header can carry
            raise Undeliverable(str(error)) from error
        try:
            with self._connected() as server:
                server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            if all(status in _FOR_GOOD for status, _ in error.recipients.values()):
                raise Undeliverable("the recipient was refused") from error
            raise
        except smtplib.SMTPDataError as error:
            if error.smtp_code in _FOR_GOOD:
                raise Undeliverable("the mail was refused") from error
            raise

    def _connected(self) -> smtplib.SMTP:
        if self._immediately:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=self._timeout, context=self._context
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._timeout)
            server.starttls(context=self._context)
        if self._user:
            server.login(self._user, self._password)
        return server

    def _message(self, mail: Mail) -> EmailMessage:
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = mail.to
        message["Subject"] = mail.subject
        message["Date"] = formatdate(usegmt=True)
        message["Message-ID"] = mail.message_id
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.text)
        return message
