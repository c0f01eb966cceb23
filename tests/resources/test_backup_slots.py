"""Retention of automatic backups over many weeks, including days without a backup."""

from __future__ import annotations

import random
from typing import Any

import pytest

from crofter import clock
from crofter.resources.instances.backups import slots
from crofter.resources.instances.backups.store import Backup

FIRST = clock.parse("2027-12-20T00:00:00")
"""A Monday; Christmas, the end of the year and a February of 29 days are still to come."""
WEEKS = 12


def made(number: int, moment: int) -> Backup:
    at = clock.text(moment)
    nothing: Any = []
    return Backup(number, 1, 1, "auto", "successful", None, "us-east", 1, nothing, nothing, at, at, at)


def weeks(missed: set[int], day: str | None = "Wednesday", seed: int = 1) -> list[list[int]]:
    """For each day, the ages in days of the backups that are kept, newest first."""
    rng = random.Random(seed)
    kept: list[Any] = []
    shown: list[Any] = []
    for today in range(7 * WEEKS):
        moment = FIRST + today * clock.DAY + rng.randrange(clock.DAY)  # late on one day, early on the next
        if today not in missed:
            kept.insert(0, made(today, moment))
            fills = slots.kept(kept, moment, day)
            kept = [backup for backup in kept if backup.id in fills]
        shown.append([today - backup.id for backup in kept])
    return shown


@pytest.mark.parametrize("day", ["Wednesday", "Sunday", None])
def test_the_day_the_week_and_the_week_before_each_have_their_slot(day: str | None) -> None:
    shown = weeks(set(), day)
    assert all(ages[0] == 0 and len(ages) <= 3 for ages in shown)
    assert all(any(7 <= age < 14 for age in ages) for ages in shown[14:])
    assert all(any(0 < age < 7 for age in ages) or len(ages) == 2 for ages in shown[14:])


def test_what_is_kept_for_longer_is_of_the_preferred_day() -> None:
    for today, ages in enumerate(weeks(set()), start=0):
        assert all((today - age) % 7 == 2 for age in ages[1:]) or today < 9


@pytest.mark.parametrize("seed", range(20))
def test_days_without_a_backup_cost_no_more_than_those_days(seed: int) -> None:
    rng = random.Random(seed)
    missed = {today for today in range(1, 7 * WEEKS) if rng.random() < 0.1}
    for today, ages in enumerate(weeks(missed, seed=seed)):
        newest = max(number for number in range(today + 1) if number not in missed)
        assert ages[0] == today - newest
        assert len(ages) <= 3
        if today >= 14 and not missed & set(range(today - 14, today + 1)):
            assert any(7 <= age < 14 for age in ages), (today, ages)
