"""Which automatic backups are kept: the day's, the week's, and the one of the week before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from crofter import clock
from crofter.resources.instances.backups.store import Backup

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEK = 7 * clock.DAY


def weekday(moment: int) -> str:
    return DAYS[datetime.fromtimestamp(moment / 1000, UTC).weekday()]


def kept(automatic: Sequence[Backup], now: int, day: str | None) -> set[int]:
    """Of the successful automatic backups, newest first, the numbers of those that fill a slot."""
    found: set[int] = set()
    weekly = biweekly = False
    for position, one in enumerate(automatic):
        taken = clock.parse(one.created)
        age = now - taken
        preferred = day is None or weekday(taken) == day
        if position == 0:
            found.add(one.id)
        if preferred and not weekly and age <= WEEK:
            weekly = True
            found.add(one.id)
        elif preferred and not biweekly and WEEK < age <= 2 * WEEK:
            biweekly = True
            found.add(one.id)
    return found
