"""Jobs of the libvirt driver end or fail at any call to a host, and what was ordered is done or can be removed."""

from __future__ import annotations

import pytest

from tests.drivers.fake_libvirt.harness import FakeHarness
from tests.drivers.harness import DriverCase
from tests.drivers.interruptions import (
    EACH_HOW,
    EACH_VERB,
    MOST,
    Interrupter,
    Setup,
    dies,
    interrupted,
    interrupting,
    points,
    remove_all,
)
from tests.drivers.verbs import disk


@pytest.fixture
def interrupter(fake_case: DriverCase, monkeypatch: pytest.MonkeyPatch) -> Interrupter:
    return interrupting(monkeypatch)


@EACH_VERB
@EACH_HOW
def test_a_job_is_interrupted_half_way(fake_case: DriverCase, interrupter: Interrupter, verb: Setup, how: str) -> None:
    interrupted(fake_case, interrupter, verb, how, 1)


@pytest.mark.soak
@EACH_VERB
@EACH_HOW
def test_a_job_is_interrupted_at_every_call(
    fake_case: DriverCase, interrupter: Interrupter, verb: Setup, how: str
) -> None:
    interrupted(fake_case, interrupter, verb, how, MOST)


def test_a_job_that_is_not_begun_again_is_seen_here(
    fake_case: DriverCase, fake_harness: FakeHarness, interrupter: Interrupter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that takes the work of the dead for done."""
    monkeypatch.setattr(
        type(fake_harness.hand._performer), "_taken_over", lambda self, ledger, task, begun: (None, False)
    )
    with pytest.raises(AssertionError):
        dies(fake_case, interrupter, disk, 2)


def test_what_is_left_behind_is_seen_here(
    fake_case: DriverCase, fake_harness: FakeHarness, interrupter: Interrupter
) -> None:
    fake_harness.hand.hosts_client.client(fake_case.host()).send_bytes("d4711.qcow2", b"of nobody")
    with pytest.raises(AssertionError):
        remove_all(fake_case)


def test_points_are_spread_from_the_first_to_the_last() -> None:
    assert list(points(10, 3)) == [1, 5, 10]
    assert list(points(2, 3)) == [1, 2]
    assert list(points(10, 1)) == [5]
