"""Faults that the sandbox makes on the simulated hypervisor, and how it recovers from them."""

from __future__ import annotations

import pytest

from crofter.drivers.hypervisor import Absent, Refused
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from tests.drivers.bench import Yard
from tests.drivers.simulated_bench import SimulatedBench


def test_a_boot_fails_when_its_host_goes_into_maintenance(yard: Yard, simulated: SimulatedHypervisor) -> None:
    machine, order = yard.machine(), yard.order()
    simulated.ensure_running(machine.domain, order)
    simulated.faults.maintenance(machine.domain.host, begins=True)
    assert simulated.ensure_running(machine.domain, order).failure == "The host went into maintenance."
    assert simulated.observe(machine.domain).reason == "host"
    simulated.faults.maintenance(machine.domain.host, begins=False)
    assert simulated.observe(machine.domain).power == "on"


def test_a_shutdown_that_its_host_overtakes_is_done_and_stays(yard: Yard, simulated: SimulatedHypervisor) -> None:
    machine, order = yard.machine(on=True), yard.order()
    simulated.ensure_off(machine.domain, order)
    simulated.faults.maintenance(machine.domain.host, begins=True)
    yard.done(lambda: simulated.ensure_off(machine.domain, order))
    simulated.faults.maintenance(machine.domain.host, begins=False)
    assert simulated.observe(machine.domain).power == "off"


def test_a_region_can_be_away_and_come_back(yard: Yard, simulated: SimulatedHypervisor) -> None:
    near, far = yard.machine(on=True), yard.machine(yard.host(yard.other_region), on=True)
    simulated.faults.outage(yard.region, begins=True)
    assert simulated.observe(near.domain).power == "unknown"
    assert simulated.observe(far.domain).power == "on"
    assert {host.region for host in simulated.hosts() if host.state == "unreachable"} == {yard.region}
    simulated.faults.outage(yard.region, begins=False)
    assert simulated.observe(near.domain).power == "on"
    with pytest.raises(Absent):
        simulated.faults.outage("atlantis", begins=True)


@pytest.mark.both
def test_mending_undoes_every_fault(yard: Yard, simulated: SimulatedHypervisor) -> None:
    machine = yard.machine(on=True)
    simulated.faults.maintenance(machine.domain.host, begins=True)
    simulated.faults.unreachable(yard.host(), begins=True)
    simulated.faults.outage(yard.other_region, begins=True)
    simulated.faults.mend()
    assert {host.state for host in simulated.hosts()} == {"up"}
    assert simulated.observe(machine.domain).power == "on"


def test_only_a_machine_that_is_on_goes_off_by_itself(yard: Yard, simulated: SimulatedHypervisor) -> None:
    with pytest.raises(Refused):
        simulated.faults.power_off(yard.machine().domain.id)
    with pytest.raises(Absent):
        simulated.faults.power_off(999)
    with pytest.raises(Absent):
        simulated.faults.maintenance(1, begins=True)


@pytest.mark.both
def test_a_change_is_signalled_when_it_has_committed(yard: Yard, bench: SimulatedBench) -> None:
    heard: list[str] = []
    machine = yard.machine(on=True)
    stop = bench.database.signals.listen("hypervisor", heard.append)
    bench.shut_down_inside(machine.domain)
    stop()
    assert heard == ["hypervisor"]
