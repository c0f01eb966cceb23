"""Notifications as callers see them."""

from __future__ import annotations

from typing import Literal

from crofter.shapes import Moment, View

NotificationType = Literal[
    "migration_scheduled",
    "migration_imminent",
    "migration_pending",
    "reboot_scheduled",
    "outage",
    "payment_due",
    "ticket_important",
    "ticket_abuse",
    "notice",
    "maintenance",
    "promotion",
]


Severity = Literal["minor", "major", "critical"]


class NotificationEntity(View):
    """What a notification is about."""

    id: int | str | None
    label: str | None
    type: str
    url: str | None


class NotificationView(View):
    """Something that the account should know; it goes when its cause does."""

    body: str | None
    entity: NotificationEntity | None
    label: str
    message: str
    severity: Severity
    type: NotificationType
    until: Moment | None
    when: Moment | None
