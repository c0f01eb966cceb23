"""Mail to people: promised in the caller's transaction, sent by a durable operation."""

from __future__ import annotations

from msgspec import Struct

from crofter.context import Context, Runtime
from crofter.drivers.mail import Mail, Mailer, Outbox, Smtp, Undeliverable
from crofter.engine.operation import Failed, Operation, Sleep, step
from crofter.engine.queue import enqueue
from crofter.engine.step_context import StepContext

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
    message_id = f"<{ctx.rng.hex(32)}@crofter>"
    subject = " ".join(subject.split())  # customers write some of it, and a header is one line
    mailer = driver(ctx.runtime)
    if isinstance(mailer, Outbox):
        mailer.keep(ctx.db, Mail(message_id, to, subject, text))
        return message_id
    sealed = ctx.runtime.keyring.seal(text.encode(), _associated_data(message_id))
    enqueue(ctx, SEND, Letter(message_id, to, subject, sealed.hex()))
    return message_id


def driver(runtime: Runtime) -> Mailer:
    """The one that the settings name."""
    found: Mailer | None = runtime.services.get("mail")
    if found is None:
        settings = runtime.settings
        if settings.mail == "outbox":
            found = Outbox(runtime.database, runtime.clock, runtime.keyring)
        else:
            found = Smtp(settings.mail, settings.mail_from)
        found = runtime.services.setdefault("mail", found)
    return found


@step(deadline=60.0, retries=3)
def deliver(work: StepContext) -> Sleep | None:
    letter: Letter = work.args
    text = work.runtime.keyring.open(bytes.fromhex(letter.sealed), _associated_data(letter.message_id)).decode()
    try:
        driver(work.runtime).send(Mail(letter.message_id, letter.to, letter.subject, text))
    except Undeliverable as error:
        raise Failed(str(error)) from error
    except OSError:  # smtplib's own errors are among these: away, busy, or asking to come back
        tries = work.vars.get("tries", 0) + 1
        if tries >= _TRIES:
            raise Failed("the mail server could not be reached") from None
        work.vars["tries"] = tries
        return Sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries))
    return None


def _associated_data(message_id: str) -> str:
    return f"mail:{message_id}:text"


SEND = Operation(kind="mail.send", args=Letter, queue="bulk", keep=False, steps=(deliver,), erased=("sealed",))
OPERATIONS = (SEND,)
