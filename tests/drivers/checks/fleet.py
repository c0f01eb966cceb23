"""Where things are put, and finding what nobody remembers having put there."""

from __future__ import annotations

import pytest

from crofter.drivers.hypervisor import DiskRef, DiskSpec, DomainSpec, Refused, Unreachable
from tests.drivers.bench import IMAGE, Yard


def a_machine_is_placed_in_its_region(yard: Yard) -> None:
    regions = {host.id: host.region for host in yard.driver.hosts()}
    for number in range(1, 9):
        for region in yard.bench.regions:
            host = yard.driver.place(region, number, DomainSpec(1, 1024))
            assert regions[host] == region
            assert yard.driver.place(region, number, DomainSpec(1, 1024)) == host, "the same question, another answer"


def a_machine_is_placed_on_another_host_when_asked(yard: Yard) -> None:
    first = yard.driver.place(yard.region, 7, DomainSpec(1, 1024))
    assert yard.driver.place(yard.region, 7, DomainSpec(1, 1024), avoid=first) != first


def no_machine_is_placed_where_it_could_not_run(yard: Yard) -> None:
    with pytest.raises(Refused):
        yard.driver.place("nowhere", 7, DomainSpec(1, 1024))
    first = yard.driver.place(yard.region, 7, DomainSpec(1, 1024))
    yard.bench.maintenance(first, begins=True)
    assert yard.driver.place(yard.region, 7, DomainSpec(1, 1024)) != first
    yard.bench.maintenance(first, begins=False)
    for host in yard.driver.hosts():
        yard.bench.unplug(host.id)
    with pytest.raises(Unreachable):
        yard.driver.place(yard.region, 7, DomainSpec(1, 1024))


def a_list_finds_orphans(yard: Yard) -> None:
    machine = yard.machine(on=True)
    backup = yard.backup(machine)
    forgotten = yard.empty_disk(yard.host(yard.other_region))
    listed = yard.bench.start().list()
    assert listed.domains == (machine.domain,)
    assert listed.disks == tuple(sorted((*machine.disks, forgotten), key=lambda ref: ref.id))
    assert listed.backups == (backup,)
    assert listed.unreachable == ()
    assert yard.driver.list(forgotten.host).disks == (forgotten,)


def a_list_tells_which_hosts_it_could_not_see(yard: Yard) -> None:
    near, far = yard.machine(), yard.machine(yard.host(yard.other_region))
    yard.bench.unplug(near.domain.host)
    listed = yard.driver.list()
    assert listed.domains == (far.domain,)
    assert listed.unreachable == (near.domain.host,)
    assert {host.id: host.state for host in yard.driver.hosts()}[near.domain.host] == "unreachable"


def a_half_made_disk_is_listed_too(yard: Yard) -> None:
    ref = DiskRef(yard.host(), yard.number())
    yard.driver.ensure_disk(ref, DiskSpec(4000), IMAGE, yard.order())
    assert yard.bench.start().list().disks == (ref,)
