"""Faults that the sandbox makes on the simulated hypervisor, and how it recovers from them."""

from __future__ import annotations

import pytest

from crofter.drivers.hypervisor import Absent, Refused
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from tests.drivers.harness import DriverCase
from tests.drivers.simulated_harness import SimulatedHarness


def test_a_boot_fails_when_its_host_goes_into_maintenance(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    machine, order = case.machine(), case.order()
    simulated.ensure_running(machine.domain, order)
    simulated.faults.maintenance(machine.domain.host, begins=True)
    assert simulated.ensure_running(machine.domain, order).failure == "The host went into maintenance."
    assert simulated.observe(machine.domain).reason == "host"
    simulated.faults.maintenance(machine.domain.host, begins=False)
    assert simulated.observe(machine.domain).power == "on"


def test_a_shutdown_that_its_host_overtakes_is_done_and_stays(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    machine, order = case.machine(on=True), case.order()
    simulated.ensure_off(machine.domain, order)
    simulated.faults.maintenance(machine.domain.host, begins=True)
    case.done(lambda: simulated.ensure_off(machine.domain, order))
    simulated.faults.maintenance(machine.domain.host, begins=False)
    assert simulated.observe(machine.domain).power == "off"


def test_a_region_can_be_away_and_come_back(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    near, far = case.machine(on=True), case.machine(case.host(case.other_region), on=True)
    simulated.faults.outage(case.region, begins=True)
    assert simulated.observe(near.domain).power == "unknown"
    assert simulated.observe(far.domain).power == "on"
    assert {host.region for host in simulated.hosts() if host.state == "unreachable"} == {case.region}
    simulated.faults.outage(case.region, begins=False)
    assert simulated.observe(near.domain).power == "on"
    with pytest.raises(Absent):
        simulated.faults.outage("atlantis", begins=True)


@pytest.mark.both
def test_clearing_undoes_every_fault(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    machine = case.machine(on=True)
    simulated.faults.maintenance(machine.domain.host, begins=True)
    simulated.faults.unreachable(case.host(), begins=True)
    simulated.faults.outage(case.other_region, begins=True)
    simulated.faults.clear()
    assert {host.state for host in simulated.hosts()} == {"up"}
    assert simulated.observe(machine.domain).power == "on"


def test_only_a_machine_that_is_on_goes_off_by_itself(case: DriverCase, simulated: SimulatedHypervisor) -> None:
    with pytest.raises(Refused):
        simulated.faults.power_off(case.machine().domain.id)
    with pytest.raises(Absent):
        simulated.faults.power_off(999)
    with pytest.raises(Absent):
        simulated.faults.maintenance(1, begins=True)


@pytest.mark.both
def test_a_change_is_signalled_when_it_has_committed(case: DriverCase, harness: SimulatedHarness) -> None:
    received: list[str] = []
    machine = case.machine(on=True)
    stop = harness.database.signals.listen("hypervisor", received.append)
    harness.shut_down_inside(machine.domain)
    stop()
    assert received == ["hypervisor"]
