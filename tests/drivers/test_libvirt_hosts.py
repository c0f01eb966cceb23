"""Hosts under the libvirt driver: silent ones, full ones, and what is measured and kept there. On hosts in memory."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from crofter.clock import HOUR, machine_now
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor import (
    BackupRef,
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    Empty,
    FromDisk,
    ImageRef,
    Order,
    Refused,
    Unreachable,
)
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.libvirt.samples import PAGE
from tests.drivers.fake_libvirt.harness import PATIENCE, FakeHarness
from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.harness import DriverCase

from crofter.drivers.hypervisor.libvirt import connections, host, periodic_work, sampling  # isort: skip - once the binding is there

MINUTE = 60_000
SAMPLED = query(select(tables.sample.c.at).where(tables.sample.c.domain == bindparam("domain")))


# ---- silent hosts ---------------------------------------------------------------------------------------------------


def test_a_silent_host_does_not_keep_the_others_from_being_looked_at(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    silent, other = fake_case.machine(on=True), fake_case.machine(fake_case.host(fake_case.other_region), on=True)
    asked, answers = threading.Event(), threading.Event()

    def keep_silent(_name: str) -> None:
        asked.set()
        assert answers.wait(PATIENCE)

    fake_harness.host(silent.domain.host).hooks["getAllDomainStats"] = keep_silent
    fake_harness.kill(other.domain)
    driver = fake_harness.start()
    driver._periodic_work.sync_power(0.2)
    assert asked.wait(PATIENCE)
    while not driver.changes(0):
        driver._periodic_work.sync_power(0.2)
    assert [change.ref for change in driver.changes(0)] == [other.domain]
    assert len(fake_harness.host(silent.domain.host).called("getAllDomainStats")) == 1, "nobody asks it a second time"
    answers.set()


def test_a_host_is_asked_once_for_all_of_its_machines(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    first = fake_case.machine(on=True)
    second = fake_case.machine(first.domain.host, on=True)
    fake_harness.kill(first.domain)
    fake_harness.shut_down_inside(second.domain)
    asked = fake_harness.host(first.domain.host)
    asked.calls.clear()
    fake_harness.hand._periodic_work.sync_power()
    assert [change.reason for change in fake_harness.hand.changes(0)] == ["crashed", "guest"]
    assert asked.called("getAllDomainStats") == [""]
    assert asked.called("lookupByName") == []


def test_asking_for_news_asks_no_host(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    machine = fake_case.machine(on=True)
    fake_harness.kill(machine.domain)
    asked = fake_harness.host(machine.domain.host)
    asked.calls.clear()
    assert fake_harness.hand.changes(0) == ()
    assert asked.calls == []


def test_all_who_wait_for_a_silent_host_wait_together(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, opened = threading.Event(), threading.Event()

    def open_slowly(_uri: str) -> Any:
        opened.set()
        answers.wait(PATIENCE)

    monkeypatch.setattr(virt, "open", open_slowly)
    connection = connections.Connection("fake://nobody")
    with pytest.raises(Unreachable):
        connection.get(0.01)
    assert opened.wait(PATIENCE)
    connection._since -= 100  # simulates a long wait
    waited: list[float | None] = []
    trying: Any = connection._trying
    monkeypatch.setattr(trying, "result", lambda left: waited.append(left) or _late())
    with pytest.raises(Unreachable):
        connection.get(60)
    assert waited == [0.0]
    answers.set()


def _late() -> None:
    raise TimeoutError


# usage of machines


def samples(harness: FakeHarness, domain: int, moments: list[int]) -> None:
    with harness.database.write() as db:
        for at in moments:
            grown = dict.fromkeys(sampling.MEASURES, 1)
            db.insert(tables.sample, domain=domain, at=at, since=0, counters=grown, grown=grown)


def test_each_sample_counts_once_and_in_its_own_point(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    machine, now = fake_case.machine(), fake_harness.clock.now()
    start = now - 200 * MINUTE
    samples(fake_harness, machine.domain.id, [start, start + 1, start + 60 * MINUTE, start + 60 * MINUTE + 1, now])
    points = fake_harness.hand.history(machine.domain, start, now, 60 * MINUTE)
    assert [point.cpu for point in points] == [2, 1, 0, 1], "a sample is of the time before it"
    assert [point.start for point in points] == [start + place * 60 * MINUTE for place in range(4)]
    assert points[-1].stop == now


def test_a_month_is_added_up_in_one_pass(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, now = fake_case.machine(), fake_harness.clock.now()
    samples(fake_harness, machine.domain.id, [now - place * MINUTE for place in range(PAGE + 100)])
    added, add = [], sampling._sum

    def count(counters: Any, grown: Any) -> Any:
        added.append(grown)
        return add(counters, grown)

    monkeypatch.setattr(sampling, "_sum", count)
    points = fake_harness.hand.history(machine.domain, now - 30 * 24 * HOUR, now, 2 * HOUR)
    assert len(points) == 360
    assert sum(point.cpu for point in points) == len(added) == PAGE + 100
    with pytest.raises(Unreachable):
        fake_harness.hand.history(machine.domain, now - 30 * 24 * HOUR, now, 2 * HOUR, timeout=1e-9)


# ---- files of the operator ------------------------------------------------------------------------------------------


def test_two_processes_that_bring_the_same_file_do_not_spoil_each_other(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, file = fake_case.host(), fake_harness.hand.hosts_client.media.helper.kernel
    slow, quick = (fake_harness.start().hosts_client.client(number) for _ in range(2))
    reached, go_on = threading.Event(), threading.Event()
    hooks = fake_harness.host(number).hooks

    def wait(_name: str) -> None:
        del hooks["send"]
        reached.set()
        assert go_on.wait(PATIENCE)

    hooks["send"] = wait
    names: list[str] = []
    thread = threading.Thread(target=lambda: names.append(slow.have(file)))
    thread.start()
    assert reached.wait(PATIENCE)
    monkeypatch.setattr(host, "_uploads", {})  # another process knows nothing of its locks
    assert quick.have(file) == file.name
    go_on.set()
    thread.join(PATIENCE)
    assert names == [file.name]
    assert slow.listed() == [file.name], "nothing is left of either part"


def test_an_upload_that_fails_leaves_no_part(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    number, file = fake_case.host(), fake_harness.hand.hosts_client.media.helper.kernel
    client = fake_harness.hand.hosts_client.client(number)

    def fail(_name: str) -> None:
        raise Fault("OPERATION_FAILED", "no space left on device")

    fake_harness.host(number).hooks["send"] = fail
    with pytest.raises(Fault):
        client.have(file)
    assert client.listed() == []


def test_parts_of_uploads_stay_while_a_job_may_be_at_them_and_not_for_ever(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    number = fake_case.host()
    client, now = fake_harness.hand.hosts_client.client(number), machine_now()
    fresh = f"part{now}-0123456789ab-file-x"
    for name in (fresh, f"part{now - 24 * HOUR}-0123456789ab-file-x", "tmp4711-abc-script"):
        client.send_bytes(name, b"in part")
    job = {"operation": 1, "kind": "disk", "thing": 1, "step": "s", "verb": "disk", "changes": [], "reads": []}
    with fake_harness.database.write() as db:
        db.insert(tables.job, **job, owner="o", begun=now, beat=now, expected=1, state="running")
    fake_harness.hand._periodic_work.tidy()
    assert client.listed() == [fresh]
    with fake_harness.database.write() as db:
        db.delete(tables.job, operation=1)
    fake_harness.hand._periodic_work.tidy()
    assert client.listed() == []


def test_the_first_round_does_all_periodic_work_however_young_the_machine_is(
    fake_case: DriverCase, fake_harness: FakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = fake_case.machine(on=True)
    client = fake_harness.hand.hosts_client.client(machine.domain.host)
    client.send_bytes("tmp4711-abc-script", b"in part")
    monkeypatch.setattr(periodic_work, "SAMPLE_EVERY", math.inf)
    monkeypatch.setattr(periodic_work, "TIDY_EVERY", math.inf)
    fake_harness.start().run_periodic_work()
    assert "tmp4711-abc-script" not in client.listed()
    with fake_harness.database.read() as db:
        assert db.value(SAMPLED, domain=machine.domain.id) is not None


@pytest.mark.parametrize("moment", ["storagePoolDefineXML", "create pool"])
def test_two_who_need_a_folder_for_the_first_time_both_get_it(
    fake_case: DriverCase, fake_harness: FakeHarness, moment: str
) -> None:
    number = fake_case.host()
    slow, quick = (fake_harness.start().hosts_client.client(number) for _ in range(2))
    hooks = fake_harness.host(number).hooks

    def overtake(_name: str) -> None:
        del hooks[moment]
        assert quick.listed() == []

    hooks[moment] = overtake
    assert slow.listed() == []
    assert moment not in hooks


# ---- full hosts -----------------------------------------------------------------------------------------------------

SIZE = 4000
Demand = Callable[[DriverCase, int, Order], Any]


def _resize(case: DriverCase, number: int, order: Order) -> Any:
    disk = case.empty_disk(number, SIZE, "raw")
    return lambda: case.driver.ensure_size(disk, SIZE + 1001, order)


def _save(case: DriverCase, number: int, order: Order) -> Any:
    disk = case.empty_disk(number, SIZE, "raw")
    return lambda: case.driver.ensure_backup(BackupRef(number, case.number()), (disk,), order)


def _image(case: DriverCase, number: int, order: Order) -> Any:
    disk = case.empty_disk(case.host(case.other_region), SIZE, "raw")
    return lambda: case.driver.ensure_image(ImageRef(number, case.number()), FromDisk(disk), order)


def _make(case: DriverCase, number: int, order: Order) -> Any:
    return lambda: case.driver.ensure_disk(DiskRef(number, case.number()), DiskSpec(5001), Empty(), order)


def _move(case: DriverCase, number: int, order: Order) -> Any:
    machine = case.machine(case.host(case.other_region))
    return lambda: case.driver.ensure_moved(machine.domain, number, machine.disks, order)


def _define(case: DriverCase, number: int, order: Order) -> Any:
    return lambda: case.driver.ensure_domain(DomainRef(number, case.number()), DomainSpec(1, 1001), order)


def _limited(harness: FakeHarness, number: int, **limits: int) -> None:
    with harness.database.write() as db:
        db.update(tables.host, {"id": number}, **limits)


@pytest.mark.parametrize(
    ("demand", "limits"),
    [
        (_make, {"disk": 5000}),
        (_resize, {"disk": 5000}),
        (_save, {"disk": 5000}),
        (_image, {"disk": 3999}),
        (_move, {"disk": SIZE}),
        (_move, {"memory": 2047}),
        (_define, {"memory": 1000}),
    ],
)
def test_nothing_is_promised_that_a_host_does_not_have(
    fake_case: DriverCase, fake_harness: FakeHarness, demand: Demand, limits: dict[str, int]
) -> None:
    number, order = fake_case.host(), fake_case.order()
    call = demand(fake_case, number, order)
    _limited(fake_harness, number, **limits)
    with pytest.raises(Refused, match="has no"):
        call()


def test_images_and_backups_take_up_space(fake_case: DriverCase, fake_harness: FakeHarness) -> None:
    number = fake_case.host()
    disk = fake_case.empty_disk(number, SIZE, "raw")
    fake_case.image(disk)
    _limited(fake_harness, number, disk=2 * SIZE + 100)
    ref, order = DiskRef(number, fake_case.number()), fake_case.order()
    with pytest.raises(Refused):
        fake_case.driver.ensure_disk(ref, DiskSpec(101, "raw"), Empty(), order)
    fake_case.done(lambda: fake_case.driver.ensure_disk(ref, DiskSpec(100, "raw"), Empty(), order))


def test_a_machine_that_grows_no_larger_is_let_be_on_a_full_host(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    machine, order = fake_case.machine(), fake_case.order()
    _limited(fake_harness, machine.domain.host, memory=1, disk=1)
    smaller = DomainSpec(1, machine.spec.memory, machine.spec.devices)
    fake_case.done(lambda: fake_case.driver.ensure_domain(machine.domain, smaller, order))


def test_no_machine_is_placed_on_a_host_without_space_for_a_disk(
    fake_case: DriverCase, fake_harness: FakeHarness
) -> None:
    own = [host.id for host in fake_case.driver.hosts() if host.region == fake_case.region]
    _limited(fake_harness, own[0], disk=0)
    assert {fake_case.driver.place(fake_case.region, number, DomainSpec(1, 1024)) for number in range(8)} == {own[1]}
    _limited(fake_harness, own[1], disk=0)
    with pytest.raises(Unreachable):
        fake_case.driver.place(fake_case.region, 1, DomainSpec(1, 1024))
