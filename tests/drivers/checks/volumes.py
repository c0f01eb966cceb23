"""Volumes: attached to a single machine at a time, whatever else happens to the volume."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import Device, DomainSpec, Empty, FromVolume, Progress, Refused, VolumeRef
from tests.at_once import at_once
from tests.drivers.harness import DriverCase, Machine


def _with_volume(case: DriverCase, machine: Machine, volume: VolumeRef) -> DomainSpec:
    """Define a machine so that it boots with a volume."""
    spec = replace(machine.spec, devices=(*machine.spec.devices, Device("sdc", volume=volume.id)))
    order = case.order("define")
    case.done(lambda: case.driver.ensure_domain(machine.domain, spec, order))
    return spec


def _detach(case: DriverCase, machine: Machine, volume: VolumeRef) -> None:
    order = case.order("detach", action="volume_detach")
    case.done(lambda: case.driver.ensure_detached(machine.domain, volume, order))


def a_volume_is_being_made_until_it_is_ready(case: DriverCase) -> None:
    machine = case.machine(on=True)
    ref, order = VolumeRef(case.region, case.number()), case.order(action="volume_create")
    assert case.driver.observe(ref).presence == "absent"
    begun = case.driver.ensure_volume(ref, 20, Empty(), order)
    if not begun.done and not case.driver.real_time:  # a real host creates an empty volume immediately
        assert case.driver.observe(ref).presence == "making"
        with pytest.raises(Refused):
            case.driver.ensure_attached(machine.domain, ref, case.order())
    case.done(lambda: case.driver.ensure_volume(ref, 20, Empty(), order))
    seen = case.driver.observe(ref)
    assert (seen.presence, seen.size, seen.user) == ("ready", 20, None)
    with pytest.raises(Refused):
        case.driver.ensure_volume(ref, 30, Empty(), case.order())


def a_volume_is_plugged_into_one_machine_only(case: DriverCase) -> None:
    first, second, volume = case.machine(on=True), case.machine(on=True), case.volume()
    case.attach(first.domain, volume)
    assert case.driver.observe(first.domain).volumes == (volume.id,)
    with pytest.raises(Refused):
        case.driver.ensure_attached(second.domain, volume, case.order())
    assert case.driver.observe(volume).user == first.domain.id
    assert case.driver.observe(second.domain).volumes == ()


def a_volume_is_taken_from_the_moment_its_plugging_begins(case: DriverCase) -> None:
    first, second, volume = case.machine(on=True), case.machine(on=True), case.volume()
    if not case.driver.ensure_attached(first.domain, volume, case.order()).done:
        with pytest.raises(Refused):
            case.driver.ensure_attached(second.domain, volume, case.order())
        with pytest.raises(Refused):
            case.driver.ensure_gone(volume, case.order())


def of_two_machines_that_want_a_volume_at_once_one_has_it(case: DriverCase) -> None:
    machines, volume = (case.machine(on=True), case.machine(on=True)), case.volume()
    orders = [case.order(), case.order()]

    def ask(number: int) -> Progress | None:
        try:
            return case.harness.start().ensure_attached(machines[number].domain, volume, orders[number])
        except Refused:
            return None

    answers = at_once(partial(ask, 0), partial(ask, 1))
    assert len([answer for answer in answers if answer is not None]) == 1
    case.harness.wait(30)
    assert [case.driver.observe(machine.domain).volumes for machine in machines].count((volume.id,)) == 1


def a_machine_boots_with_the_volumes_of_its_definition(case: DriverCase) -> None:
    machine, volume = case.machine(), case.volume()
    spec = _with_volume(case, machine, volume)
    assert case.driver.observe(volume).user is None
    case.boot(machine.domain)
    seen = case.driver.observe(machine.domain)
    assert (seen.active, seen.volumes, case.driver.observe(volume).user) == (spec, (volume.id,), machine.domain.id)


def a_machine_does_not_boot_with_a_volume_that_another_one_has(case: DriverCase) -> None:
    holder, machine, volume = case.machine(on=True), case.machine(), case.volume()
    case.attach(holder.domain, volume)
    _with_volume(case, machine, volume)
    with pytest.raises(Refused):
        case.driver.ensure_running(machine.domain, case.order())
    assert case.power(machine.domain) == "off"
    _detach(case, holder, volume)
    case.boot(machine.domain)


def a_machine_does_not_boot_with_a_volume_of_another_region(case: DriverCase) -> None:
    machine, volume = case.machine(), case.volume(case.other_region)
    _with_volume(case, machine, volume)
    with pytest.raises(Refused):
        case.driver.ensure_running(machine.domain, case.order())
    with pytest.raises(Refused):
        case.driver.ensure_attached(machine.domain, VolumeRef(case.region, volume.id), case.order())


def a_machine_that_goes_off_lets_its_volumes_go(case: DriverCase) -> None:
    machine, other, volume = case.machine(on=True), case.machine(on=True), case.volume()
    case.attach(machine.domain, volume)
    case.harness.kill(machine.domain)
    assert case.driver.observe(machine.domain).volumes == ()
    case.attach(other.domain, volume)
    case.boot(machine.domain)
    assert case.driver.observe(machine.domain).volumes == (), "it was plugged in, and not defined"


def a_machine_that_is_off_has_nothing_plugged_in(case: DriverCase) -> None:
    machine, volume = case.machine(), case.volume()
    case.attach(machine.domain, volume)
    assert case.driver.observe(volume).user is None
    _detach(case, machine, volume)


def a_detached_volume_can_go_elsewhere(case: DriverCase) -> None:
    machine, other, volume = case.machine(on=True), case.machine(on=True), case.volume()
    case.attach(machine.domain, volume)
    _detach(case, machine, volume)
    assert case.driver.observe(machine.domain).volumes == ()
    case.attach(other.domain, volume)


def a_volume_in_use_is_not_deleted(case: DriverCase) -> None:
    machine, volume = case.machine(on=True), case.volume()
    case.attach(machine.domain, volume)
    with pytest.raises(Refused):
        case.driver.ensure_gone(volume, case.order())
    assert case.driver.observe(volume).presence == "ready"
    case.remove(machine.domain)
    case.remove(volume)
    assert case.driver.observe(volume).presence == "absent"
    with pytest.raises(Refused):
        case.driver.ensure_volume(volume, 20, Empty(), case.order())


def a_volume_grows_in_use_and_never_shrinks(case: DriverCase) -> None:
    machine, volume, order = case.machine(on=True), case.volume(), case.order(action="volume_resize")
    case.driver.ensure_grown(volume, 30, order)
    case.attach(machine.domain, volume)  # plugged in while it grows, and still so when it has grown
    case.done(lambda: case.driver.ensure_grown(volume, 30, order))
    seen = case.driver.observe(volume)
    assert (seen.size, seen.user) == (30, machine.domain.id)
    with pytest.raises(Refused):
        case.driver.ensure_grown(volume, 29, case.order())
    assert case.driver.observe(volume).size == 30


def a_copied_volume_is_as_large_as_the_first_at_least(case: DriverCase) -> None:
    machine, source = case.machine(on=True), case.volume()
    case.attach(machine.domain, source)
    with pytest.raises(Refused):
        case.driver.ensure_volume(VolumeRef(case.region, case.number()), 19, FromVolume(source), case.order())
    copy, order = VolumeRef(case.region, case.number()), case.order(action="volume_clone")
    case.done(lambda: case.driver.ensure_volume(copy, 20, FromVolume(source), order))
    assert case.driver.observe(copy).user is None
    assert case.harness.content(copy) == case.harness.content(source)
    missing = FromVolume(VolumeRef(case.region, case.number()))
    with pytest.raises(Refused):
        case.driver.ensure_volume(VolumeRef(case.region, case.number()), 20, missing, case.order())


def a_volume_outlives_a_host(case: DriverCase) -> None:
    machine, volume = case.machine(on=True), case.volume()
    case.attach(machine.domain, volume)
    case.harness.unplug(machine.domain.host)
    assert case.driver.observe(volume).presence == "ready"
    case.harness.plug(machine.domain.host)


def a_list_finds_volumes_that_no_machine_has(case: DriverCase) -> None:
    volumes = {case.volume(), case.volume(case.other_region)}
    assert set(case.driver.list().volumes) == volumes
    assert case.driver.list(case.host()).volumes == ()
