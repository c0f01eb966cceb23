"""Private networks between real instances on a bridge: who is on one hears the others there, and nobody else does.

``make real`` runs it, as root, where libvirt and the kernel can do it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.drivers import real

WHY_NOT = real.why_not() or real.why_no_bridge() or real.why_no_vlans()
pytestmark = [pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or ""), pytest.mark.soak]

if WHY_NOT is None:
    from tests.drivers.bridges import BridgedWorld

    class TaggedWorld(BridgedWorld):
        def network(self, number: int) -> tuple[str, ...]:
            return *super().network(number), "--vlans", "100-199"


FIRST, SECOND, TAGGED, STRANGER, UNTAGGED = (f"10.0.0.{number}" for number in range(1, 6))


@pytest.fixture
def world() -> Iterator[TaggedWorld]:
    with TaggedWorld(real.short_folder(), ("us-southeast",), 1) as made:
        yield made


def test_who_is_on_a_vlan_hears_the_others_there_and_nobody_else(world: TaggedWorld) -> None:
    first, second = ordered(world, FIRST), ordered(world, SECOND)
    for number, address in ((first, FIRST), (second, SECOND)):
        world.settled(number)
        assert f" {address}/24 " in world.ssh(number, "ip -4 -o addr show eth1")
    assert hears(world, first, SECOND)
    assert hears(world, second, FIRST)
    world.say("two on a VLAN hear each other")
    world.outside.must("ip", "addr", "add", f"{UNTAGGED}/24", "dev", "card")
    assert not hears(world, first, UNTAGGED)
    world.outside.must("ip", "addr", "del", f"{UNTAGGED}/24", "dev", "card")
    world.say("they do not hear who is on the public network")
    outside_with(world, 100, TAGGED)
    assert not hears(world, first, TAGGED), "the port to the outside carries none of the tags yet"
    world.daemons.carry(100)
    assert hears(world, first, TAGGED)
    world.outside.must("ip", "link", "delete", "vlan100")
    outside_with(world, 101, STRANGER)
    world.daemons.carry(101)
    assert not hears(world, first, STRANGER)
    world.say("they hear who has their tag on another machine, and nobody with another one")


def outside_with(world: TaggedWorld, tag: int, address: str) -> None:
    name = f"vlan{tag}"
    world.outside.must("ip", "link", "add", "link", "card", "name", name, "type", "vlan", "id", str(tag))
    world.outside.must("ip", "addr", "add", f"{address}/24", "dev", name)
    world.outside.must("ip", "link", "set", name, "up")


def ordered(world: TaggedWorld, address: str) -> int:
    vlan = {"purpose": "vlan", "label": "lan", "ipam_address": f"{address}/24"}
    made: int = world.create(address.replace(".", "-"), interfaces=[{"purpose": "public"}, vlan])["id"]
    return made


def hears(world: TaggedWorld, number: int, address: str) -> bool:
    return world.ssh(number, f"ping -c 5 -W 2 {address} >/dev/null && echo heard || echo silent") == "heard"
