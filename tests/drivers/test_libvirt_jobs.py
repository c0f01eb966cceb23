"""Jobs of the libvirt driver when processes stand still, die or lose their host, on hosts in memory."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from crofter.clock import Clock, machine_now
from crofter.db import Database
from crofter.drivers.hypervisor import DiskRef, DiskSpec, Empty, Order, Progress
from crofter.drivers.hypervisor.errors import Unreachable
from crofter.drivers.hypervisor.libvirt import host_ledger, tables
from tests.drivers.fake_libvirt.harness import PATIENCE, FakeHarness
from tests.drivers.fake_libvirt.module import Fault
from tests.drivers.harness import IMAGE, DriverCase


class Job:
    """A disk that is being made, and the hold on its copy."""

    def __init__(self, case: DriverCase, harness: FakeHarness) -> None:
        self.ref, self.order, self.harness = DiskRef(case.host(), case.number()), case.order(), harness
        self.reached = [threading.Event(), threading.Event()]
        self.go_on = [threading.Event(), threading.Event()]
        self._copies = 0
        harness.host(self.ref.host).hooks["createXMLFrom"] = self._hold

    def _hold(self, name: str) -> None:
        if name != f"d{self.ref.id}.qcow2" or self._copies >= len(self.go_on):
            return
        self._copies += 1
        place = self._copies - 1
        self.reached[place].set()
        assert self.go_on[place].wait(PATIENCE)

    @property
    def copies(self) -> int:
        return self._copies

    def call(self, driver: Any) -> Progress:
        progress: Progress = driver.ensure_disk(self.ref, DiskSpec(4000), IMAGE, self.order)
        return progress

    def rows(self) -> list[Any]:
        with self.harness.hand._store.reading() as ledger:
            return ledger.jobs()

    def seems_dead(self) -> None:
        with self.harness.database.write() as db:
            db.update(tables.job, {"thing": self.ref.id}, beat=0)


@pytest.fixture
def job(fake_case: DriverCase, fake_harness: FakeHarness) -> Job:
    return Job(fake_case, fake_harness)


def test_a_late_job_does_not_delete_what_its_successor_has_made(job: Job, fake_harness: FakeHarness) -> None:
    late, successor = fake_harness.start(), fake_harness.start()
    hooks = fake_harness.host(job.ref.host).hooks
    hooks["after createXMLFrom"] = hooks.pop("createXMLFrom")  # it has copied, and stands still before it looks again
    late._performer._beating = True  # and gives no sign of life, however long this takes
    job.call(late)
    assert job.reached[0].wait(PATIENCE)
    job.seems_dead()
    job.go_on[1].set()
    job.call(successor)
    for thread in list(successor._performer._threads.values()):
        thread.join(PATIENCE)
    assert job.call(successor).done
    threads = list(late._performer._threads.values())
    job.go_on[0].set()
    for thread in threads:
        thread.join(PATIENCE)
    assert fake_harness.file(job.ref).content, "it is still there"
    assert job.call(successor).done


def test_a_late_job_does_not_delete_the_row_of_its_successor(job: Job, fake_harness: FakeHarness) -> None:
    late, successor = fake_harness.start(), fake_harness.start()
    late._performer._beating = True  # and so gives no sign of life
    job.call(late)
    assert job.reached[0].wait(PATIENCE)
    threads = list(late._performer._threads.values())
    job.seems_dead()
    job.call(successor)
    assert job.reached[1].wait(PATIENCE)
    job.go_on[0].set()
    for thread in threads:
        thread.join(PATIENCE)
    assert [row.owner for row in job.rows()] == [successor._performer.owner]
    job.go_on[1].set()
    fake_harness.wait(PATIENCE)
    assert job.call(successor).done


def test_a_process_does_not_take_its_own_job_over(job: Job, fake_harness: FakeHarness) -> None:
    driver = fake_harness.start()
    job.call(driver)
    assert job.reached[0].wait(PATIENCE)
    job.seems_dead()
    assert not job.call(driver).done
    assert job.copies == 1
    assert job.rows()[0].beat > 0, "it has given a sign of life"
    job.go_on[0].set()
    fake_harness.wait(PATIENCE)
    assert job.call(driver).done
    assert job.copies == 1


def test_a_job_that_goes_back_and_forth_is_begun_again_only_when_the_old_thread_is_over(
    job: Job, fake_harness: FakeHarness
) -> None:
    first, second = fake_harness.start(), fake_harness.start()
    first._performer._beating = second._performer._beating = True  # and so give no signs of life
    job.call(first)
    assert job.reached[0].wait(PATIENCE)
    old = list(first._performer._threads.values())
    job.seems_dead()
    job.call(second)
    assert job.reached[1].wait(PATIENCE)
    job.seems_dead()
    assert not job.call(first).done
    assert [row.owner for row in job.rows()] == [second._performer.owner]
    job.go_on[0].set()
    for thread in old:
        thread.join(PATIENCE)
    job.go_on[1].set()
    fake_harness.wait(PATIENCE)
    assert job.call(first).done


def test_signs_of_life_are_given_only_for_jobs_that_are_at_work(job: Job, fake_harness: FakeHarness) -> None:
    driver = fake_harness.start()
    job.call(driver)
    assert job.reached[0].wait(PATIENCE)
    with fake_harness.database.write() as db:
        values = {name: getattr(job.rows()[0], name) for name in ("kind", "step", "changes", "reads", "begun", "state")}
        stray = db.insert(
            tables.job, **values, operation=99, verb="gone", thing=99, owner=driver._performer.owner, beat=7, expected=1
        )
    driver._performer._beat_once()
    assert {row.beat for row in job.rows() if row.id == stray} == {7}
    job.go_on[0].set()


def test_a_job_whose_host_is_lost_comes_to_an_end(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    case, ref = fake_case, fake_case.empty_disk(fake_case.host())
    spare, order, gone = DiskRef(ref.host, case.number()), case.order(), case.order("gone")
    host, driver, is_off = fake_harness.host(ref.host), case.driver, threading.Event()

    def await_the_end(_name: str) -> None:
        assert is_off.wait(PATIENCE)

    host.hooks["createXML"] = host.hooks["delete"] = await_the_end
    assert not driver.ensure_disk(spare, DiskSpec(100, "raw"), Empty(), order).done
    assert not driver.ensure_gone(ref, gone).done
    host.until_called("createXML")
    host.until_called("delete")
    host.plugged = False
    is_off.set()
    driver.declare_lost(ref.host)  # type: ignore[attr-defined]
    fake_harness.wait(PATIENCE)
    assert driver.ensure_disk(spare, DiskSpec(100, "raw"), Empty(), order).failure is not None
    assert driver.ensure_gone(ref, gone).done
    assert driver.observe(ref).presence == driver.observe(spare).presence == "absent"


def test_a_job_waits_for_a_host_that_goes_away_before_its_turn(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, ref, order = fake_harness.start(), DiskRef(fake_case.host(), fake_case.number()), fake_case.order()
    near, asked = driver.hosts_client.near, 0

    def away_at_first(number: int) -> Any:
        nonlocal asked
        if threading.current_thread().name.startswith("hypervisor job"):
            asked += 1
            if asked == 1:
                raise Unreachable("The host does not answer.")
        return near(number)

    monkeypatch.setattr(driver.hosts_client, "near", away_at_first)
    fake_case.done(lambda: driver.ensure_disk(ref, DiskSpec(100, "raw"), Empty(), order))
    assert asked == 2


def test_a_job_waits_for_the_store_before_it_begins(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, ref, order = fake_harness.start(), DiskRef(fake_case.host(), fake_case.number()), fake_case.order()
    look, asked = driver._performer._await_others, 0

    def away_at_first(number: int) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Unreachable("The store does not answer.")
        look(number)

    monkeypatch.setattr(driver._performer, "_await_others", away_at_first)
    fake_case.done(lambda: driver.ensure_disk(ref, DiskSpec(100, "raw"), Empty(), order))
    assert asked == 2


def test_a_job_waits_until_a_copy_for_a_dead_process_is_over(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    """Wait for the daemon: it continues the copy, and refuses to delete the volume meanwhile."""
    ref, order = DiskRef(fake_case.host(), fake_case.number()), fake_case.order()
    spec, tried = DiskSpec(100, "raw"), []
    fake_case.done(lambda: fake_case.driver.ensure_disk(ref, spec, Empty(), order))
    file, again = fake_harness.file(ref), fake_case.order()
    file.building = True

    def over_at_the_second_try(name: str) -> None:
        tried.append(name)
        file.building = len(tried) < 2

    fake_harness.host(ref.host).hooks["delete"] = over_at_the_second_try
    fake_case.done(lambda: fake_case.driver.ensure_gone(ref, again))
    assert len(tried) == 2


def test_a_helper_system_of_another_process_is_let_be(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    """Two processes work on one disk in turn: the late one takes neither the files of the other nor its machine."""
    late, ref = fake_harness.start(), DiskRef(fake_case.host(), fake_case.number())
    order, spec = Order(77, "disk", 1, "disk_create"), DiskSpec(100)
    seen: list[str] = []
    fake_harness.host(ref.host).hooks["upload"] = seen.append
    with fake_harness.stalled(late, 2):
        late.ensure_disk(ref, spec, Empty(), order)
        fake_case.done(lambda: fake_case.driver.ensure_disk(ref, spec, Empty(), order))
    scripts = [name for name in seen if name.endswith("-script")]
    assert len(scripts) == len(set(scripts)) == 2
    assert fake_harness.file(ref).filesystem == 100 << 20


def test_what_libvirt_refuses_for_good_fails_at_once(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    ref, order = DiskRef(fake_case.host(), fake_case.number()), fake_case.order()

    def refuse(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "no space left in /pool/secret")

    fake_harness.host(ref.host).hooks["createXML"] = refuse
    ended = fake_case.finish(lambda: fake_case.driver.ensure_disk(ref, DiskSpec(100, "raw"), Empty(), order))
    assert ended.failure == "The host could not do this.", "and no word of a host's folders"


def test_leases_go_by_the_clock_of_the_database(postgres_store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_ledger, "machine_now", lambda: 0)
    with host_ledger.Store(postgres_store, Clock()).reading() as ledger:
        now = ledger.lease_time
        rows = [_row(1, now), _row(2, now - host_ledger.LEASE - 1), _row(3, now - host_ledger.LEASE // 2)]
        assert ledger.living(rows) == {1, 3}
    assert abs(now - machine_now()) < 60_000


def _row(number: int, beat: int) -> host_ledger.JobRow:
    return host_ledger.JobRow(number, 1, "disk", 1, "s", "disk", [], [], "me", 0, beat, 1, "running")
