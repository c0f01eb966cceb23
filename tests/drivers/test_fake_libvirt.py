"""The libvirt driver keeps the contract, on hosts in memory. What only real ones can show is in test_libvirt.py."""

from __future__ import annotations

import threading

import pytest

from crofter.drivers.hypervisor import DiskRef, DomainRef, Network, Order, Progress
from tests.drivers.bench import Yard
from tests.drivers.contract import CHECKS
from tests.drivers.fake_libvirt.bench import FakeBench

HELD_UP = "a_firewall_may_change_while_its_machine_moves"
"""A move is over at once here, so that this check would come too late. Below, the move is held up for it."""


@pytest.mark.parametrize("check", [check for check in CHECKS if check != HELD_UP])
def test_the_libvirt_driver_keeps_the_contract(fake_yard: Yard, check: str) -> None:
    CHECKS[check](fake_yard)


def test_a_firewall_may_change_while_its_machine_moves(fake_yard: Yard, fake_bench: FakeBench) -> None:
    """Every byte of the disks that the move would carry waits until the firewall was changed."""
    changed, move, yard = threading.Event(), fake_yard.driver.ensure_moved, fake_yard

    def begin(ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order) -> Progress:
        fake_bench.host(ref.host).hooks["recv"] = lambda _: _waited(changed)
        return move(ref, to, disks, order)

    def change(ref: DomainRef, network: Network, order: Order) -> Progress:
        progress = wire(ref, network, order)
        if progress.done and fake_bench.host(ref.host).hooks:
            changed.set()
        return progress

    wire = yard.driver.ensure_network
    yard.driver.ensure_moved = begin  # type: ignore[method-assign]
    yard.driver.ensure_network = change  # type: ignore[method-assign]
    CHECKS[HELD_UP](yard)


def _waited(event: threading.Event) -> None:
    assert event.wait(30)
