"""Outbox: mails stored in a table and not sent, for sandboxes and servers without a mail server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crofter import clock
from crofter.db import Moment, Row, Sealed, Session, identity, query, table
from crofter.db.sql import Column, Text, bindparam, select
from crofter.drivers.mail.contract import Mail

if TYPE_CHECKING:
    from crofter.clock import Clock
    from crofter.db import Database
    from crofter.keyring import Keyring

outbox = table(
    "outbox",
    identity(),
    Column("message_id", Text, nullable=False, unique=True),
    Column("recipient", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Sealed, nullable=False),  # links that set a password are secrets
    Column("at", Moment, nullable=False),
)


class _Kept(Row):
    id: int
    message_id: str
    recipient: str
    subject: str
    body: bytes
    at: str


_KNOWN = query(select(outbox.c.id).where(outbox.c.message_id == bindparam("message_id")))
_NEWEST = query(
    select(*(outbox.c[name] for name in _Kept.__struct_fields__))
    .order_by(outbox.c.id.desc())
    .limit(bindparam("limit")),
    _Kept,
)


class Outbox:
    def __init__(self, database: Database, clock: Clock, keyring: Keyring) -> None:
        self._database = database
        self._clock = clock
        self._keyring = keyring

    def send(self, mail: Mail) -> None:
        with self._database.write() as db:
            self.keep(db, mail)

    def keep(self, db: Session, mail: Mail) -> None:
        """Put a mail into the outbox in a transaction that is open already."""
        if db.value(_KNOWN, message_id=mail.message_id) is None:
            db.insert(
                outbox,
                message_id=mail.message_id,
                recipient=mail.to,
                subject=mail.subject,
                body=self._keyring.seal(mail.text.encode(), _associated_data(mail.message_id)),
                at=clock.text(self._clock.now()),
            )

    def mails(self, limit: int = 1000) -> list[dict[str, object]]:
        """Return the stored mails, newest first."""
        with self._database.read() as db:
            kept = db.all(_NEWEST, limit=limit)
        return [
            {
                "id": mail.id,
                "message_id": mail.message_id,
                "to": mail.recipient,
                "subject": mail.subject,
                "text": self._keyring.open(mail.body, _associated_data(mail.message_id)).decode(),
                "sent": mail.at,
            }
            for mail in kept
        ]


def _associated_data(message_id: str) -> str:
    return f"outbox:{message_id}:body"
