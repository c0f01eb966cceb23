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


FIRST, SECOND, STRANGER, ROUTER, UNTAGGED = (f"10.0.0.{number}" for number in range(1, 6))


@pytest.fixture
def world() -> Iterator[TaggedWorld]:
    with TaggedWorld(real.short_folder(), ("us-southeast",), 1) as made:
        yield made


def test_who_is_on_a_vlan_hears_the_others_there_and_nobody_else(world: TaggedWorld) -> None:
    first, second = on_vlan(world, "lan", FIRST), on_vlan(world, "lan", SECOND)
    stranger = on_vlan(world, "another", STRANGER)
    for number, address in ((first, FIRST), (second, SECOND), (stranger, STRANGER)):
        assert f" {address}/24 " in world.ssh(number, "ip -4 -o addr show eth1")
    assert hears(world, first, SECOND)
    assert hears(world, second, FIRST)
    assert not hears(world, first, STRANGER)
    world.say("two on a VLAN hear each other, and not the one on another")
    outside = world.outside
    outside.must("ip", "addr", "add", f"{UNTAGGED}/24", "dev", "card")
    assert not hears(world, first, UNTAGGED)
    world.say("nor does the public network hear it")
    outside.must("ip", "link", "add", "link", "card", "name", "tagged", "type", "vlan", "id", "100")
    outside.must("ip", "addr", "del", f"{UNTAGGED}/24", "dev", "card")
    outside.must("ip", "addr", "add", f"{ROUTER}/24", "dev", "tagged")
    outside.must("ip", "link", "set", "tagged", "up")
    assert not hears(world, first, ROUTER), "the port to the outside has none of the tags yet"
    world.daemons.carry(100)
    assert hears(world, first, ROUTER)
    world.say("its frames leave the host with its tag, where the operator lets them")


def on_vlan(world: TaggedWorld, label: str, address: str) -> int:
    vlan = {"purpose": "vlan", "label": label, "ipam_address": f"{address}/24"}
    number: int = world.create(address.replace(".", "-"), interfaces=[{"purpose": "public"}, vlan])["id"]
    world.settled(number)
    return number


def hears(world: TaggedWorld, number: int, address: str) -> bool:
    return world.ssh(number, f"ping -c 5 -W 2 {address} >/dev/null && echo heard || echo silent") == "heard"
