"""``crofter admin doctor``: what is wrong with this installation, and what to do about it. Changes nothing."""

from __future__ import annotations

import os
import shutil
import smtplib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from crofter import mail
from crofter.cli.backups import LAST_BACKUP
from crofter.cli.opening import opened_existing
from crofter.cli.operators import Arguments, Refused, Rows, on_servers_record
from crofter.cli.payment_warning import PRETENDED_PAYMENTS, pretends_payments
from crofter.clock import DAY, HOUR
from crofter.config import Settings, complaints
from crofter.context import Runtime
from crofter.db import meta
from crofter.db.schema import SchemaError
from crofter.drivers.mail import Smtp
from crofter.engine import timekeeping
from crofter.engine.heartbeat import standing
from crofter.engine.metrics import overview
from crofter.errors import NoSpace, Problem

FREE_BYTES = 1 << 30
CLOCK_SECONDS = 5
MAIL_SECONDS = 5
MAIL_HOURS = 1
BACKUP_DAYS = 2
OLDEST_POSTGRESQL = 15


class Finding(NamedTuple):
    check: str
    ok: bool
    found: str
    do: str = ""


def examine(settings: Settings, arguments: Arguments) -> Rows:
    """Every check, in the order in which one would mend things. Exit code 1 if one of them is not well."""
    findings = [
        *_settings(settings),
        _disk(settings),
        _mail(settings, arguments["mail_to"]),
        _payments(settings),
        *_host_certificates(settings),
    ]
    try:
        runtime = opened_existing(settings)
    except (Problem, SchemaError, ValueError, OSError) as error:
        do = "start the database, or correct --data, --database or CROFTER_SECRET_KEY"
        if isinstance(error, NoSpace):
            do = "free some space where the database is"
        findings.append(Finding("database", False, str(error), do))
    else:
        try:
            findings += _inside(runtime)
            on_servers_record(runtime, arguments)
        finally:
            runtime.database.close()
    rows = [{**finding._asdict(), "do": "" if finding.ok else finding.do} for finding in findings]
    if all(finding.ok for finding in findings):
        return rows
    raise Refused(rows)


def _settings(settings: Settings) -> Iterator[Finding]:
    unknown = complaints(os.environ)
    yield Finding("settings", not unknown, "; ".join(unknown) or f"{settings.mode} mode", "correct the variable's name")
    if settings.secret_key is not None:
        yield Finding("key", True, "CROFTER_SECRET_KEY")
    else:
        file = settings.folder / "secret.key" if settings.folder else None
        there = file is not None and file.exists()
        safe = there and file is not None and file.stat().st_mode & 0o077 == 0
        state = f"{file}" if safe else f"{file} {'can be read by others' if there else 'is not there yet'}"
        yield Finding("key", safe, state, f"chmod 600 {file}" if there else "it is made at the first start")


def _disk(settings: Settings) -> Finding:
    folder = settings.folder or Path.cwd()
    while not folder.exists():
        folder = folder.absolute().parent
    free = shutil.disk_usage(folder).free
    do = "free some space: on a full disk every write is refused"
    return Finding("disk", free >= FREE_BYTES, f"{free // (1 << 20)} MiB free in {folder}", do)


def _mail(settings: Settings, recipient: str | None) -> Finding:
    """Offer a mail to the mail server as far as its recipient, so that a refusal is seen before a customer sees it."""
    if settings.mail == "outbox":
        well = settings.sandbox
        return Finding("mail", well, "kept in the outbox, never sent", "set CROFTER_MAIL to smtp://… to send mails")
    mailer = Smtp(settings.mail, settings.mail_from, timeout=MAIL_SECONDS)
    outcomes = [(False, f"no answer within {MAIL_SECONDS} seconds")]

    def offer() -> None:
        try:
            outcomes.append((True, f"would take a mail to {mailer.offer(recipient)}"))
        except smtplib.SMTPResponseException as error:
            refusal = error.smtp_error
            outcomes.append((False, refusal if isinstance(refusal, str) else refusal.decode(errors="replace")))
        except (OSError, smtplib.SMTPException) as error:
            outcomes.append((False, str(error) or type(error).__name__))

    # The limit of a connection is for each piece of an answer, and a slow server sends many.
    offering = threading.Thread(target=offer, name="mail", daemon=True)
    offering.start()
    offering.join(MAIL_SECONDS)
    well, outcome = outcomes[-1]
    do = "correct CROFTER_MAIL and CROFTER_MAIL_FROM, or name another recipient with --mail-to"
    return Finding("mail", well, f"{mailer.place}: {outcome}", do)


def _payments(settings: Settings) -> Finding:
    if pretends_payments(settings):
        return Finding("payments", False, PRETENDED_PAYMENTS, "set CROFTER_PAYMENT_GATEWAY to none")
    none = settings.payment_gateway == "none"
    effect = "cards and payments are refused, and invoices stay due" if none else "payments move no money"
    return Finding("payments", True, f"{settings.payment_gateway}: {effect}")


def _host_certificates(settings: Settings) -> Iterator[Finding]:
    """When the certificates for connections to hosts end: from that day on no host can be reached."""
    if settings.folder is None:
        return
    from crofter import certificates  # noqa: PLC0415 - only an installation with hosts of its own needs it

    for certificate in certificates.examine(settings.folder / "hosts"):
        do = "see the certificates in docs/hosts.md: crofter admin hosts certificate makes a new one"
        if isinstance(certificate, certificates.Unreadable):
            state = f"of {certificate.whose}: {certificate.file} cannot be read: {certificate.why}"
            yield Finding("certificate", False, state, do)
            continue
        state = f"of {certificate.whose}, good until {certificate.ends:%Y-%m-%d}"
        yield Finding("certificate", not certificate.ends_soon, state, do)


def _inside(runtime: Runtime) -> Iterator[Finding]:
    """Check the contents of the database. An open database proves that schema and key fit."""
    with runtime.database.read() as db:
        if runtime.database.dialect == "postgresql":
            version = int(db.raw("SELECT current_setting('server_version_num')").fetchall()[0][0]) // 10_000
            do = f"use PostgreSQL {OLDEST_POSTGRESQL} or newer"
            yield Finding("database", version >= OLDEST_POSTGRESQL, f"PostgreSQL {version}", do)
        else:
            state = db.raw("PRAGMA quick_check(1)").fetchall()[0][0]
            yield Finding("database", state == "ok", f"SQLite, {state}", "restore it from a backup")
        apart = abs(timekeeping.machine(db) / 1000 - time.time())
        behind, ahead = runtime.clock.behind(), runtime.clock.ahead()
        whole = overview(db, runtime.clock.now())
    state = f"{apart:.1f} s from the database's clock, {behind:.0f} s behind the time that was told"
    do = "let NTP set this machine's clock; if service time itself is ahead, see crofter admin clock back"
    if ahead:
        state = standing(ahead)
        do = "set the machine's clock, or confirm that it is right with crofter admin clock accept"
    yield Finding("clock", apart < CLOCK_SECONDS and not behind and not ahead, state, do)
    simulated = ": machines are simulated" if runtime.settings.driver == "simulated" else ""
    yield Finding("driver", True, f"{runtime.settings.driver}{simulated}")
    yield from _waiting_mails(runtime)
    workers = f"{whole.workers} processes run operations"
    yield Finding("workers", whole.workers > 0, workers, "start crofter serve, or crofter work")
    yield Finding(
        "operations", not whole.stuck, f"{whole.stuck} stuck, {whole.failed} failed today", "see operations list"
    )


def _waiting_mails(runtime: Runtime) -> Iterator[Finding]:
    with runtime.database.read() as db:
        amount, oldest = mail.waiting(db)
        backup = meta.get(db, LAST_BACKUP)
    now = runtime.clock.now()
    hours = 0.0 if oldest is None else (now - oldest) / HOUR
    state = f"{amount} wait to be sent, the oldest for {hours:.1f} hours" if amount else "none waits to be sent"
    yield Finding("mails", hours < MAIL_HOURS, state, "see what the mail server says to the sender and recipients")
    days = None if backup is None else (now - int(backup)) / DAY
    taken = "none was taken by crofter admin backup" if days is None else f"the last one is {days:.1f} days old"
    yield Finding("backup", days is None or days < BACKUP_DAYS, taken, "run crofter admin backup each day")
