"""A year of money, fast-forwarded: whatever happened on the way, every invoice is what the usage comes to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from crofter.engine import work
from crofter.resources.billing import metering, meters, store
from tests.cloud import Cloud
from tests.e2e.serving import SECRET
from tests.year.checks import everything_is_as_it_should_be, fingerprint
from tests.year.houses import Killed, Shaky
from tests.year.life import Year

SEED = 20270110
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
"""Threads of a house whose power fails die of it."""


@pytest.fixture
def folders() -> Iterator[Callable[[str], Path]]:
    """Places that forget everything, and are quick because of it."""
    memory = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield lambda name: base / name
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(autouse=True)
def _progress_is_always_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the time of the machine decides what is written when."""
    monkeypatch.setattr(work, "PROGRESS_EVERY", 0.0)


@pytest.mark.parametrize(
    ("accounts", "days", "deeds", "bills"),
    [
        pytest.param(4, 120, 2, 12, id="four for some months"),
        pytest.param(50, 366, 8, 500, id="fifty for a year", marks=pytest.mark.soak),
    ],
)
def test_after_a_year_every_invoice_is_what_the_events_come_to(
    folders: Callable[[str], Path], accounts: int, days: int, deeds: int, bills: int
) -> None:
    house = Shaky(folders("year"), SEED)
    try:
        year = Year(house, SEED, accounts)
        year.run(days, deeds)
        assert everything_is_as_it_should_be(house.cloud, year.log) >= bills
        assert {"create", "resize", "delete", "transfer", "volume", "balancer", "manage"} <= set(year.done)
        assert {"before a charge", "after a charge", "power cuts"} <= set(house.seen)
    finally:
        house.close()


@pytest.mark.soak
def test_a_year_in_a_process_that_is_killed_again_and_again(folders: Callable[[str], Path]) -> None:
    folder = folders("killed")
    killed = Killed(folder, SEED)
    year = Year(killed, SEED, 6)
    year.run(200, 2)
    killed.close()
    cloud = Cloud(data=str(folder), secret_key=SECRET)
    try:
        assert everything_is_as_it_should_be(cloud, year.log) > 20
        assert killed.seen["kills"] > 5
    finally:
        cloud.close()


@pytest.mark.parametrize(
    ("accounts", "days", "deeds"),
    [pytest.param(3, 45, 2, id="weeks"), pytest.param(50, 366, 8, id="year", marks=pytest.mark.soak)],
)
def test_the_same_seed_makes_the_same_year_to_the_last_byte(
    folders: Callable[[str], Path], accounts: int, days: int, deeds: int
) -> None:
    prints = []
    for name, seed in (("one", 7), ("again", 7), *([] if days > 100 else [("other", 8)])):
        house = Shaky(folders(name), seed)
        try:
            Year(house, seed, accounts).run(days, deeds)
            prints.append(fingerprint(house.cloud))
        finally:
            house.close()
    assert prints[0] == prints[1]
    assert len(set(prints)) == len(prints) - 1


# ---- defects that are planted, and found ----------------------------------------------------------------------------


def _an_hour_is_counted_twice(patch: pytest.MonkeyPatch) -> None:
    right = metering._hours
    patch.setattr(metering, "_hours", lambda found, at: right(found, at) + (right(found, at) > 100))


def _a_cap_is_ignored(patch: pytest.MonkeyPatch) -> None:
    right = meters.since
    patch.setattr(meters, "since", lambda *args: [replace(one, monthly=10**12) for one in right(*args)])


def _the_end_of_a_meter_is_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(metering, "_end", lambda _ctx, _found: None)


def _a_leg_is_off_by_a_micro_dollar(patch: pytest.MonkeyPatch) -> None:
    right = store.book

    def book(db: Any, account_id: int, entry: str, at: str, legs: dict[str, int]) -> None:
        right(db, account_id, entry, at, {**legs, "owed": legs["owed"] + 1, "tax": legs.get("tax", 0) - 1})

    patch.setattr(store, "book", book)


@pytest.mark.parametrize(
    "defect",
    [None, _an_hour_is_counted_twice, _a_cap_is_ignored, _the_end_of_a_meter_is_lost, _a_leg_is_off_by_a_micro_dollar],
)
def test_the_reckoning_finds(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, defect: Callable[[Any], None] | None
) -> None:
    if defect is not None:
        defect(monkeypatch)
    house = Shaky(folders("year"), 3, cuts=False)
    try:
        year = Year(house, 3, 2)
        year.run(40, 2)
        if defect is None:
            assert everything_is_as_it_should_be(house.cloud, year.log) >= 2
        else:
            with pytest.raises(AssertionError):
                everything_is_as_it_should_be(house.cloud, year.log)
    finally:
        house.close()
