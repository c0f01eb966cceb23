"""Mail to people: promised in the caller's transaction, sent by a durable operation."""

from __future__ import annotations

from email.utils import parseaddr

from msgspec import Struct

from crofter.context import Context, Runtime
from crofter.db import Session, query
from crofter.db.sql import func, select
from crofter.drivers.mail import Mail, Mailer, Outbox, Smtp, Undeliverable
from crofter.engine.operation import Failed, Operation, Sleep, step
from crofter.engine.queue import enqueue, state_in
from crofter.engine.step_context import StepContext
from crofter.engine.tables import operation

_FIRST_WAIT = 30
_LONGEST_WAIT = 3600
_TRIES = 50
"""With the waits above, a mail server may be away for two days."""


class Letter(Struct, frozen=True):
    """A mail as an operation keeps it: its text may hold a link that sets a password, so it is sealed."""

    message_id: str
    to: str
    subject: str
    sealed: str = ""


def send(ctx: Context, to: str, subject: str, text: str) -> str:
    """Send a mail if and only if the caller's transaction commits; its message id.

    A mail server gets it at least once, and knows a repetition by its id. What goes to the outbox is
    written here and now: it leaves the server no more than any other row.
    """
    domain = parseaddr(ctx.runtime.settings.mail_from)[1].rpartition("@")[2]
    message_id = f"<{ctx.rng.hex(32)}@{domain}>"
    subject = " ".join(subject.split())  # customers write some of it, and a header is one line
    mailer = ctx.runtime.mailer
    if isinstance(mailer, Outbox):
        mailer.keep(ctx.db, Mail(message_id, to, subject, text))
        return message_id
    sealed = ctx.runtime.keyring.seal(text.encode(), _associated_data(message_id))
    enqueue(ctx, SEND, Letter(message_id, to, subject, sealed.hex()))
    return message_id


def driver(runtime: Runtime) -> Mailer:
    """Return the mail driver that the settings select."""
    settings = runtime.settings
    if settings.mail == "outbox":
        return Outbox(runtime.database, runtime.clock, runtime.keyring)
    return Smtp(settings.mail, settings.mail_from)


@step(deadline=60.0, retries=3)
def deliver(work: StepContext) -> Sleep | None:
    letter: Letter = work.args
    text = work.runtime.keyring.open(bytes.fromhex(letter.sealed), _associated_data(letter.message_id)).decode()
    try:
        work.runtime.mailer.send(Mail(letter.message_id, letter.to, letter.subject, text))
    except Undeliverable as error:
        raise Failed(str(error)) from error
    except OSError:  # includes smtplib's errors: unreachable, busy, or temporary refusals
        tries = work.vars.get("tries", 0) + 1
        if tries >= _TRIES:
            raise Failed("the mail server could not be reached") from None
        work.vars["tries"] = tries
        return Sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries))
    return None


def _associated_data(message_id: str) -> str:
    return f"mail:{message_id}:text"


_WAITING = query(
    select(func.count(), func.min(operation.c.created)).where(
        operation.c.kind == "mail.send", state_in(operation, "queued", "waiting", "running")
    ),
    lambda *values: values,
)


def waiting(db: Session) -> tuple[int, int | None]:
    """How many mails wait to be sent, and when the oldest of them was written (service time)."""
    amount, oldest = db.one(_WAITING)
    return int(amount), oldest


SEND = Operation(kind="mail.send", args=Letter, queue="bulk", keep=False, steps=(deliver,), erased=("sealed",))
OPERATIONS = (SEND,)
