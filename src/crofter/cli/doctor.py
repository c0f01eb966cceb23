"""``crofter admin doctor``: what is wrong with this installation, and what to do about it. Changes nothing."""

from __future__ import annotations

import os
import shutil
import smtplib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from crofter.cli.opening import opened_existing
from crofter.cli.operators import Arguments, Refused, Rows, on_servers_record
from crofter.cli.payment_warning import PRETENDED_PAYMENTS, pretends_payments
from crofter.config import Settings, complaints
from crofter.context import Runtime
from crofter.db.schema import SchemaError
from crofter.engine import timekeeping
from crofter.engine.heartbeat import standing
from crofter.engine.metrics import overview
from crofter.errors import Problem

FREE_BYTES = 1 << 30
CLOCK_SECONDS = 5
MAIL_SECONDS = 5
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
        _mail(settings),
        _payments(settings),
        *_host_certificates(settings),
    ]
    try:
        runtime = opened_existing(settings)
    except (Problem, SchemaError, ValueError, OSError) as error:
        do = "start the database, or correct --data, --database or CROFTER_SECRET_KEY"
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


def _mail(settings: Settings) -> Finding:
    if settings.mail == "outbox":
        well = settings.sandbox
        return Finding("mail", well, "kept in the outbox, never sent", "set CROFTER_MAIL to smtp://… to send mails")
    parts = urlsplit(settings.mail)
    make: Callable[..., smtplib.SMTP] = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
    port = parts.port or (465 if parts.scheme == "smtps" else 587)
    outcomes = [f"no answer within {MAIL_SECONDS} seconds"]

    def ask() -> None:
        try:
            with make(parts.hostname or "", port, timeout=MAIL_SECONDS) as server:
                server.noop()
            outcomes.append("")
        except (OSError, smtplib.SMTPException) as error:
            outcomes.append(str(error) or type(error).__name__)

    # The limit of a connection is for each piece of an answer, and a slow server sends many.
    asking = threading.Thread(target=ask, name="mail", daemon=True)
    asking.start()
    asking.join(MAIL_SECONDS)
    if wrong := outcomes[-1]:
        return Finding("mail", False, f"{parts.hostname}:{port}: {wrong}", "see whether the mail server can be reached")
    return Finding("mail", True, f"{parts.hostname}:{port} answers")


def _payments(settings: Settings) -> Finding:
    if pretends_payments(settings):
        return Finding("payments", False, PRETENDED_PAYMENTS, "set CROFTER_PAYMENT_GATEWAY to none")
    none = settings.payment_gateway == "none"
    effect = "cards and payments are refused, and invoices stay due" if none else "payments move no money"
    return Finding("payments", True, f"{settings.payment_gateway}: {effect}")


def _host_certificates(settings: Settings) -> Iterator[Finding]:
    """When the certificates for connections to hosts end: from that day on no host can be reached."""
    if settings.folder is None or not (settings.folder / "hosts" / "cacert.pem").exists():
        return
    from crofter.cli import host_certificates  # noqa: PLC0415 - only who has hosts of their own needs it

    for certificate in host_certificates.known(settings.folder / "hosts"):
        do = "see the certificates in docs/hosts.md: crofter admin hosts certificate makes a new one"
        state = f"of {certificate.whose}, good until {certificate.ends:%Y-%m-%d}"
        yield Finding("certificate", not certificate.ends_soon, state, do)


def _inside(runtime: Runtime) -> Iterator[Finding]:
    """What only the database can tell. That it could be opened means that schema and key fit."""
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
    workers = f"{whole.workers} processes run operations"
    yield Finding("workers", whole.workers > 0, workers, "start crofter serve, or crofter work")
    yield Finding(
        "operations", not whole.stuck, f"{whole.stuck} stuck, {whole.failed} failed today", "see operations list"
    )
