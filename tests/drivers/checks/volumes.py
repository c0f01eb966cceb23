"""Volumes: one machine at a time, whatever else is done to the volume meanwhile."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace

from crofter.drivers.hypervisor import Device, DomainSpec, Empty, FromVolume, Progress, Refused, VolumeRef
from tests.at_once import at_once
from tests.drivers.bench import Machine, Yard


def _with_volume(yard: Yard, machine: Machine, volume: VolumeRef) -> DomainSpec:
    """Define a machine so that it boots with a volume."""
    spec = replace(machine.spec, devices=(*machine.spec.devices, Device("sdc", volume=volume.id)))
    order = yard.order("define")
    yard.done(lambda: yard.driver.ensure_domain(machine.domain, spec, order))
    return spec


def _detach(yard: Yard, machine: Machine, volume: VolumeRef) -> None:
    order = yard.order("detach", action="volume_detach")
    yard.done(lambda: yard.driver.ensure_detached(machine.domain, volume, order))


def a_volume_is_being_made_until_it_is_ready(yard: Yard) -> None:
    machine = yard.machine(on=True)
    ref, order = VolumeRef(yard.region, yard.number()), yard.order(action="volume_create")
    assert yard.driver.observe(ref).presence == "absent"
    begun = yard.driver.ensure_volume(ref, 20, Empty(), order)
    if not begun.done and not yard.driver.real_time:  # a real host makes an empty one before anybody can look
        assert yard.driver.observe(ref).presence == "making"
        with pytest.raises(Refused):
            yard.driver.ensure_attached(machine.domain, ref, yard.order())
    yard.done(lambda: yard.driver.ensure_volume(ref, 20, Empty(), order))
    seen = yard.driver.observe(ref)
    assert (seen.presence, seen.size, seen.user) == ("ready", 20, None)
    with pytest.raises(Refused):
        yard.driver.ensure_volume(ref, 30, Empty(), yard.order())


def a_volume_is_plugged_into_one_machine_only(yard: Yard) -> None:
    first, second, volume = yard.machine(on=True), yard.machine(on=True), yard.volume()
    yard.attach(first.domain, volume)
    assert yard.driver.observe(first.domain).volumes == (volume.id,)
    with pytest.raises(Refused):
        yard.driver.ensure_attached(second.domain, volume, yard.order())
    assert yard.driver.observe(volume).user == first.domain.id
    assert yard.driver.observe(second.domain).volumes == ()


def a_volume_is_taken_from_the_moment_its_plugging_begins(yard: Yard) -> None:
    first, second, volume = yard.machine(on=True), yard.machine(on=True), yard.volume()
    if not yard.driver.ensure_attached(first.domain, volume, yard.order()).done:
        with pytest.raises(Refused):
            yard.driver.ensure_attached(second.domain, volume, yard.order())
        with pytest.raises(Refused):
            yard.driver.ensure_gone(volume, yard.order())


def of_two_machines_that_want_a_volume_at_once_one_has_it(yard: Yard) -> None:
    machines, volume = (yard.machine(on=True), yard.machine(on=True)), yard.volume()
    orders = [yard.order(), yard.order()]

    def ask(number: int) -> Progress | None:
        try:
            return yard.bench.start().ensure_attached(machines[number].domain, volume, orders[number])
        except Refused:
            return None

    answers = at_once(partial(ask, 0), partial(ask, 1))
    assert len([answer for answer in answers if answer is not None]) == 1
    yard.bench.wait(30)
    assert [yard.driver.observe(machine.domain).volumes for machine in machines].count((volume.id,)) == 1


def a_machine_boots_with_the_volumes_of_its_definition(yard: Yard) -> None:
    machine, volume = yard.machine(), yard.volume()
    spec = _with_volume(yard, machine, volume)
    assert yard.driver.observe(volume).user is None
    yard.boot(machine.domain)
    seen = yard.driver.observe(machine.domain)
    assert (seen.active, seen.volumes, yard.driver.observe(volume).user) == (spec, (volume.id,), machine.domain.id)


def a_machine_does_not_boot_with_a_volume_that_another_one_has(yard: Yard) -> None:
    holder, machine, volume = yard.machine(on=True), yard.machine(), yard.volume()
    yard.attach(holder.domain, volume)
    _with_volume(yard, machine, volume)
    with pytest.raises(Refused):
        yard.driver.ensure_running(machine.domain, yard.order())
    assert yard.power(machine.domain) == "off"
    _detach(yard, holder, volume)
    yard.boot(machine.domain)


def a_machine_does_not_boot_with_a_volume_of_another_region(yard: Yard) -> None:
    machine, volume = yard.machine(), yard.volume(yard.other_region)
    _with_volume(yard, machine, volume)
    with pytest.raises(Refused):
        yard.driver.ensure_running(machine.domain, yard.order())
    with pytest.raises(Refused):
        yard.driver.ensure_attached(machine.domain, VolumeRef(yard.region, volume.id), yard.order())


def a_machine_that_goes_off_lets_its_volumes_go(yard: Yard) -> None:
    machine, other, volume = yard.machine(on=True), yard.machine(on=True), yard.volume()
    yard.attach(machine.domain, volume)
    yard.bench.kill(machine.domain)
    assert yard.driver.observe(machine.domain).volumes == ()
    yard.attach(other.domain, volume)
    yard.boot(machine.domain)
    assert yard.driver.observe(machine.domain).volumes == (), "it was plugged in, and not defined"


def a_machine_that_is_off_has_nothing_plugged_in(yard: Yard) -> None:
    machine, volume = yard.machine(), yard.volume()
    yard.attach(machine.domain, volume)
    assert yard.driver.observe(volume).user is None
    _detach(yard, machine, volume)


def a_detached_volume_can_go_elsewhere(yard: Yard) -> None:
    machine, other, volume = yard.machine(on=True), yard.machine(on=True), yard.volume()
    yard.attach(machine.domain, volume)
    _detach(yard, machine, volume)
    assert yard.driver.observe(machine.domain).volumes == ()
    yard.attach(other.domain, volume)


def a_volume_in_use_is_not_deleted(yard: Yard) -> None:
    machine, volume = yard.machine(on=True), yard.volume()
    yard.attach(machine.domain, volume)
    with pytest.raises(Refused):
        yard.driver.ensure_gone(volume, yard.order())
    assert yard.driver.observe(volume).presence == "ready"
    yard.remove(machine.domain)
    yard.remove(volume)
    assert yard.driver.observe(volume).presence == "absent"
    with pytest.raises(Refused):
        yard.driver.ensure_volume(volume, 20, Empty(), yard.order())


def a_volume_grows_in_use_and_never_shrinks(yard: Yard) -> None:
    machine, volume, order = yard.machine(on=True), yard.volume(), yard.order(action="volume_resize")
    yard.driver.ensure_grown(volume, 30, order)
    yard.attach(machine.domain, volume)  # plugged in while it grows, and still so when it has grown
    yard.done(lambda: yard.driver.ensure_grown(volume, 30, order))
    seen = yard.driver.observe(volume)
    assert (seen.size, seen.user) == (30, machine.domain.id)
    with pytest.raises(Refused):
        yard.driver.ensure_grown(volume, 29, yard.order())
    assert yard.driver.observe(volume).size == 30


def a_copied_volume_is_as_large_as_the_first_at_least(yard: Yard) -> None:
    machine, source = yard.machine(on=True), yard.volume()
    yard.attach(machine.domain, source)
    with pytest.raises(Refused):
        yard.driver.ensure_volume(VolumeRef(yard.region, yard.number()), 19, FromVolume(source), yard.order())
    copy, order = VolumeRef(yard.region, yard.number()), yard.order(action="volume_clone")
    yard.done(lambda: yard.driver.ensure_volume(copy, 20, FromVolume(source), order))
    assert yard.driver.observe(copy).user is None
    assert yard.bench.content(copy) == yard.bench.content(source)
    missing = FromVolume(VolumeRef(yard.region, yard.number()))
    with pytest.raises(Refused):
        yard.driver.ensure_volume(VolumeRef(yard.region, yard.number()), 20, missing, yard.order())


def a_volume_outlives_a_host(yard: Yard) -> None:
    machine, volume = yard.machine(on=True), yard.volume()
    yard.attach(machine.domain, volume)
    yard.bench.unplug(machine.domain.host)
    assert yard.driver.observe(volume).presence == "ready"
    yard.bench.plug(machine.domain.host)


def a_list_finds_volumes_that_no_machine_has(yard: Yard) -> None:
    volumes = {yard.volume(), yard.volume(yard.other_region)}
    assert set(yard.driver.list().volumes) == volumes
    assert yard.driver.list(yard.host()).volumes == ()
