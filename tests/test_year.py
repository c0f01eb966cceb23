"""A year of billing, fast-forwarded: every invoice matches the usage."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from crofter.engine import step_context
from crofter.resources.billing import invoices, meters, promotions, store, sums
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.e2e.serving import SECRET
from tests.year.checks import (
    everything_is_as_it_should_be,
    moved_and_billed_on_both_sides,
    paid_by_hand,
    violated,
    what_was_billed,
)
from tests.year.clouds import KilledServer, RestartingServer
from tests.year.fingerprint import fingerprint
from tests.year.life import Year

SEED = 10
"""Seed of a history that contains every kind of event, in some months as in a year."""

EVERYTHING = {"compute", "backup", "ip", "managed", "credit", "volume", "nodebalancer", "transfer"}
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
"""Threads of a server whose power fails die of it."""


@pytest.fixture(scope="module")
def folders() -> Iterator[Callable[[str], Path]]:
    """Places that forget everything, and are quick because of it."""
    memory = Path("/dev/shm")
    bases: list[str] = []

    def new(name: str) -> Path:
        bases.append(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        return Path(bases[-1]) / name

    yield new
    for base in bases:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(autouse=True, scope="module")
def _progress_is_always_told() -> Iterator[None]:
    """Otherwise the time of the machine decides what is written when."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_context, "PROGRESS_EVERY", 0.0)
        yield


@pytest.mark.parametrize(
    ("accounts", "days", "actions", "bills"),
    [
        pytest.param(4, 120, 2, 12, id="four for some months"),
        pytest.param(50, 366, 8, 500, id="fifty for a year", marks=pytest.mark.soak),
    ],
)
def test_after_a_year_every_invoice_is_what_the_events_come_to(
    folders: Callable[[str], Path], accounts: int, days: int, actions: int, bills: int
) -> None:
    application = RestartingServer(folders("year"), SEED)
    try:
        year = Year(application, SEED, accounts)
        year.run(days, actions)
        assert everything_is_as_it_should_be(application.cloud, year.log) >= bills
        assert {"create", "resize", "delete", "transfer", "volume", "balancer", "manage", "pay"} <= set(+year.done)
        assert {"before a charge", "after a charge", "power cuts"} <= set(application.seen)
        assert what_was_billed(application.cloud) == EVERYTHING
        assert paid_by_hand(application.cloud) > 0
        assert moved_and_billed_on_both_sides(application.cloud, year.log) != set()
    finally:
        application.close()


@pytest.mark.soak
def test_a_year_in_a_process_that_is_killed_again_and_again(folders: Callable[[str], Path]) -> None:
    folder = folders("killed")
    killed = KilledServer(folder, SEED)
    year = Year(killed, SEED, 6)
    year.run(200, 2)
    killed.close()
    cloud = Cloud(data=str(folder), secret_key=SECRET)
    try:
        assert everything_is_as_it_should_be(cloud, year.log) > 20
        assert killed.seen["kills"] > 5
        assert what_was_billed(cloud) == EVERYTHING - {"transfer"}  # from outside, no traffic can be made
        assert moved_and_billed_on_both_sides(cloud, year.log) != set()
    finally:
        cloud.close()


@pytest.mark.parametrize(
    ("accounts", "days", "actions"),
    [pytest.param(3, 33, 2, id="weeks"), pytest.param(50, 366, 8, id="year", marks=pytest.mark.soak)],
)
def test_the_same_seed_makes_the_same_year_to_the_last_byte(
    folders: Callable[[str], Path], accounts: int, days: int, actions: int
) -> None:
    prints = []
    for name in ("one", "again"):
        application = RestartingServer(folders(name), 7)
        try:
            Year(application, 7, accounts).run(days, actions)
            prints.append(fingerprint(application.cloud))
            _a_leg_is_moved_by_a_micro_dollar(application.cloud)
            assert fingerprint(application.cloud) != prints[-1]
        finally:
            application.close()
    assert prints[0] == prints[1]


def _a_leg_is_moved_by_a_micro_dollar(cloud: Cloud) -> None:
    with cloud.runtime.database.write() as db:
        db.raw("UPDATE ledger SET amount = amount + 1 WHERE id = (SELECT max(id) FROM ledger)")


# ---- defects that are planted, and found ----------------------------------------------------------------------------

DATES, LINES = "invoices_are_made_when_they_should_be", "invoices_have_the_lines_that_the_history_comes_to"
LEGS, BOOKS = "the_ledger_has_each_leg_to_the_micro_dollar", "the_books_are_in_order"
OWNERS, HOURS = "all_that_is_there_costs_its_owner", "no_hour_of_an_object_is_metered_twice"


class Lived(NamedTuple):
    """Result of a history: actions, invoices, and failed checks."""

    done: Counter[str]
    billed: set[str]
    moved: set[int]
    violated: set[str]


def live(place: Path | str) -> Lived:
    """Simulate some weeks of three accounts with every billable object."""
    application = RestartingServer(place, 26, cuts=False)
    try:
        year = Year(application, 26, 3)
        year.run(45, 2)
        moved = moved_and_billed_on_both_sides(application.cloud, year.log)
        return Lived(+year.done, what_was_billed(application.cloud), moved, violated(application.cloud, year.log))
    finally:
        application.close()


@pytest.fixture(scope="module")
def undisturbed(folders: Callable[[str], Path]) -> Lived:
    return live(folders("undisturbed"))


def _an_hour_is_counted_twice(patch: pytest.MonkeyPatch) -> None:
    right = meters.begun_hours
    patch.setattr(meters, "begun_hours", lambda meter, at: right(meter, at) + (right(meter, at) > 100))


def _a_cap_is_ignored(patch: pytest.MonkeyPatch) -> None:
    right = meters.since
    patch.setattr(meters, "since", lambda *args: [replace(meter, monthly=10**12) for meter in right(*args)])


def _what_is_not_billed_yet_is_added_up_wrong(patch: pytest.MonkeyPatch) -> None:
    right = sums.uninvoiced
    patch.setattr(sums, "uninvoiced", lambda *args: right(*args) * 3)


def _the_end_of_a_meter_is_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(meters, "_end", lambda _ctx, _found: None)


def _the_hour_that_has_begun_is_paid_by_both(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(meters, "_next_hour", lambda _found, now: now)


def _traffic_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(invoices, "_overage", lambda *_: [])


def _a_promotion_pays_without_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(promotions.Credit, "left", lambda credit, _month: credit.remaining)


def _a_leg_is_off_by_a_micro_dollar(patch: pytest.MonkeyPatch) -> None:
    """Change internal ledger accounts only, so that customers still owe the right amount."""
    right = store.post

    def post(db: Any, account_id: int, entry: str, at: str, legs: dict[str, int]) -> None:
        off = {"revenue": legs["revenue"] + 1, "tax": legs["tax"] - 1} if "revenue" in legs else {}
        right(db, account_id, entry, at, {**legs, **off})

    patch.setattr(store, "post", post)


FOUND_BY: dict[Callable[[pytest.MonkeyPatch], None], set[str]] = {
    _an_hour_is_counted_twice: {LINES},
    _a_cap_is_ignored: {LINES},
    _what_is_not_billed_yet_is_added_up_wrong: {DATES, LINES},
    _the_end_of_a_meter_is_lost: {DATES, LINES, OWNERS, HOURS},
    _the_hour_that_has_begun_is_paid_by_both: {LINES, HOURS},
    _traffic_is_forgotten: {LINES},
    _a_promotion_pays_without_end: {LINES, BOOKS},
    _a_leg_is_off_by_a_micro_dollar: {LEGS, BOOKS},
}
"""Each defect, and the checks that find something wrong because of it: these and no others."""
IN_EVERY_RUN = (_the_end_of_a_meter_is_lost, _a_promotion_pays_without_end)
"""Defects that together trigger every check but one. Each of the others takes five seconds of a core."""


def test_without_a_defect_all_is_found_to_be_right(undisturbed: Lived) -> None:
    assert undisturbed.violated == set()
    assert undisturbed.billed == EVERYTHING
    assert undisturbed.moved != set()
    assert undisturbed.done["resize"] > 0


@pytest.mark.soak
def test_the_other_database_has_the_same_history(postgres_server: PostgresServer, undisturbed: Lived) -> None:
    assert live(postgres_server.address(postgres_server.create())) == undisturbed


@pytest.mark.parametrize(
    "defect",
    [pytest.param(defect, marks=() if defect in IN_EVERY_RUN else pytest.mark.soak) for defect in FOUND_BY],
)
def test_a_defect_is_found_in_the_same_history(
    folders: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: Lived,
    defect: Callable[[pytest.MonkeyPatch], None],
) -> None:
    defect(monkeypatch)
    lived = live(folders("disturbed"))
    assert lived.done == undisturbed.done
    assert lived.violated == FOUND_BY[defect]
