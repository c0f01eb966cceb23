"""Retention of automatic backups: the day's, the week's, and that of the week before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from crofter import clock
from crofter.resources.instances.backups.store import Backup

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEK = 7
"""Days of the calendar: a backup that came late in its day is of that day all the same."""


def weekday(moment: int) -> str:
    return DAYS[datetime.fromtimestamp(moment / 1000, UTC).weekday()]


def kept(automatic: Sequence[Backup], now: int, day: str | None) -> set[int]:
    """Return the ids of the successful automatic backups, given newest first, that fill a slot."""
    ages = [(now // clock.DAY - clock.parse(backup.created) // clock.DAY, backup) for backup in automatic]
    this_week = [backup for age, backup in ages if age < WEEK]
    week_before = [backup for age, backup in ages if WEEK <= age < 2 * WEEK]
    # The newest of the week before was the week's backup until today.
    slots = (automatic[:1], _of_the_week(this_week, day), week_before[:1])
    return {backup.id for slot in slots for backup in slot}


def _of_the_week(week: Sequence[Backup], day: str | None) -> Sequence[Backup]:
    """Return the newest backup of the preferred day; without a preference the oldest."""
    preferred = [backup for backup in week if day is not None and weekday(clock.parse(backup.created)) == day]
    return preferred[:1] or week[-1:]
