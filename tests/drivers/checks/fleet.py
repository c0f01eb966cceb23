"""Placement of objects, and detection of orphans."""

from __future__ import annotations

import pytest

from crofter.drivers.hypervisor import DiskRef, DiskSpec, DomainSpec, Refused, Unreachable
from tests.drivers.harness import IMAGE, DriverCase


def a_machine_is_placed_in_its_region(case: DriverCase) -> None:
    regions = {host.id: host.region for host in case.driver.hosts()}
    for number in range(1, 9):
        for region in case.harness.regions:
            host = case.driver.place(region, number, DomainSpec(1, 1024))
            assert regions[host] == region
            assert case.driver.place(region, number, DomainSpec(1, 1024)) == host, "the same question, another answer"


def a_machine_is_placed_on_another_host_when_asked(case: DriverCase) -> None:
    first = case.driver.place(case.region, 7, DomainSpec(1, 1024))
    assert case.driver.place(case.region, 7, DomainSpec(1, 1024), avoid=first) != first


def no_machine_is_placed_where_it_could_not_run(case: DriverCase) -> None:
    with pytest.raises(Refused):
        case.driver.place("nowhere", 7, DomainSpec(1, 1024))
    first = case.driver.place(case.region, 7, DomainSpec(1, 1024))
    case.harness.maintenance(first, begins=True)
    assert case.driver.place(case.region, 7, DomainSpec(1, 1024)) != first
    case.harness.maintenance(first, begins=False)
    for host in case.driver.hosts():
        case.harness.unplug(host.id)
    with pytest.raises(Unreachable):
        case.driver.place(case.region, 7, DomainSpec(1, 1024))


def a_list_finds_orphans(case: DriverCase) -> None:
    machine = case.machine(on=True)
    backup = case.backup(machine)
    forgotten = case.empty_disk(case.host(case.other_region))
    listed = case.harness.start().list()
    assert listed.domains == (machine.domain,)
    assert listed.disks == tuple(sorted((*machine.disks, forgotten), key=lambda ref: ref.id))
    assert listed.backups == (backup,)
    assert listed.unreachable == ()
    assert case.driver.list(forgotten.host).disks == (forgotten,)


def a_list_tells_which_hosts_it_could_not_see(case: DriverCase) -> None:
    near, far = case.machine(), case.machine(case.host(case.other_region))
    case.harness.unplug(near.domain.host)
    listed = case.driver.list()
    assert listed.domains == (far.domain,)
    assert listed.unreachable == (near.domain.host,)
    assert {host.id: host.state for host in case.driver.hosts()}[near.domain.host] == "unreachable"


def a_half_made_disk_is_listed_too(case: DriverCase) -> None:
    ref = DiskRef(case.host(), case.number())
    case.driver.ensure_disk(ref, DiskSpec(4000), IMAGE, case.order())
    assert case.harness.start().list().disks == (ref,)
