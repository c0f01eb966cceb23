"""Consequences of a service's change: status, issue, ticket and notification."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from crofter import mail
from crofter.context import Context
from crofter.resources.managed.contacts import store as contacts
from crofter.resources.managed.issues import store as issues
from crofter.resources.managed.services import store
from crofter.resources.managed.services.store import Service
from crofter.resources.support import staff


class Verdict(Struct, frozen=True):
    """How a service was found, when it was as its revision says."""

    service_id: int
    account_id: int
    revision: int
    ok: bool
    detail: str


def news(status: str, *, ok: bool) -> bool:
    """True if the result changes the status; most results do not, and write nothing."""
    return status != ("ok" if ok else "problem")


def note(ctx: Context, verdicts: Sequence[Verdict]) -> None:
    """Take verdicts up, each unless the service has changed since it was looked at."""
    for account_id in sorted({verdict.account_id for verdict in verdicts}):
        ctx.db.lock_account(account_id)
    for verdict in verdicts:
        service = store.service_unscoped(ctx, verdict.service_id)
        if service is None or service.revision != verdict.revision or service.status == "disabled":
            continue
        if news(service.status, ok=verdict.ok):
            (_came_up if verdict.ok else _went_down)(ctx, service, verdict.detail)


def _went_down(ctx: Context, service: Service, detail: str) -> None:
    words = f"The managed service {service.label} at {service.address} is down since {ctx.moment} UTC: {detail}."
    summary = f"Managed service {service.label} is down"
    ticket_id = staff.open_ticket(ctx, service.account_id, summary, words, by=staff.MONITORING, nature="monitoring")
    issue_id = issues.insert(ctx, service.account_id, ticket_id, [service.id])
    store.change(ctx, service.id, status="problem", issue_id=issue_id)
    _notify(ctx, service, summary, f"{words}\n\nTicket {ticket_id} has been opened.\n")


def _came_up(ctx: Context, service: Service, _detail: str) -> None:
    words = f"The managed service {service.label} at {service.address} is up again since {ctx.moment} UTC."
    after_outage = service.issue_id is not None
    end_outage(ctx, service, words)
    store.change(ctx, service.id, status="ok", issue_id=None)
    if after_outage:
        _notify(ctx, service, f"Managed service {service.label} is up again", words + "\n")


def end_outage(ctx: Context, service: Service, words: str) -> None:
    """Close the issue of an outage, and its ticket if it has no replies."""
    if service.issue_id is None:
        return
    issue = issues.issue_unscoped(ctx, service.issue_id)
    issues.close(ctx, issue.id)
    ticket = staff.ticket_unscoped(ctx, issue.ticket_id)
    if ticket.closed is None:
        staff.answer(ctx, ticket.id, words, by=staff.MONITORING, close=ticket.status == "new")


def _notify(ctx: Context, service: Service, subject: str, text: str) -> None:
    """Mail to the group that the service names."""
    if service.consultation_group:
        for email in contacts.emails(ctx, service.account_id, service.consultation_group):
            mail.send(ctx, email, subject, text)
