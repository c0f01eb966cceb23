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
    ages = [(now - clock.parse(one.created), one) for one in automatic]
    windows = (
        [one for _, one in ages[:1]],
        [one for age, one in ages if age < WEEK],
        [one for age, one in ages if WEEK <= age < 2 * WEEK],
    )
    return {_best(window, day).id for window in windows if window}


def _best(window: Sequence[Backup], day: str | None) -> Backup:
    """Of the preferred day the newest; without one the oldest, which covers most of the time."""
    preferred = [one for one in window if day is not None and weekday(clock.parse(one.created)) == day]
    return preferred[0] if preferred else window[-1]
