"""Which automatic backups are kept: the day's, the week's, and the one of the week before."""

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
    """Of the successful automatic backups, newest first, the numbers of those that fill a slot."""
    ages = [(now // clock.DAY - clock.parse(one.created) // clock.DAY, one) for one in automatic]
    this_week = [one for age, one in ages if age < WEEK]
    week_before = [one for age, one in ages if WEEK <= age < 2 * WEEK]
    # What was the week's until today is the newest of the week before.
    slots = (automatic[:1], _of_the_week(this_week, day), week_before[:1])
    return {one.id for slot in slots for one in slot}


def _of_the_week(found: Sequence[Backup], day: str | None) -> Sequence[Backup]:
    """Of the preferred day the newest; without one the oldest, which will be a week old soonest."""
    preferred = [one for one in found if day is not None and weekday(clock.parse(one.created)) == day]
    return preferred[:1] or found[-1:]
