"""A real instance on a bridge of its host: its own addresses, and a filter in front of it, tried with real packets.

``make real`` runs it, as root.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.drivers import real

WHY_NOT = real.why_not() or real.why_no_bridge()
pytestmark = [pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or ""), pytest.mark.soak]

if WHY_NOT is None:
    from tests.drivers.bridges import GATEWAY, RESOLVER, BridgedWorld

SPOOFED = "203.0.113.99"
MAIL, WEB = 25, 8080


@pytest.fixture
def world() -> Iterator[BridgedWorld]:
    with BridgedWorld(real.short_folder(), ("us-east",), 1) as made:
        yield made


def test_an_instance_on_a_bridge_has_its_addresses_and_nothing_else(world: BridgedWorld) -> None:
    created = world.create("bridged")
    number = created["id"]
    assert created["ipv4"] == ["203.0.113.2"]
    world.settled(number)
    world.say("running")
    assert " 203.0.113.2/24 " in world.ssh(number, "ip -4 -o addr show eth0")
    assert f"default via {GATEWAY} " in world.ssh(number, "ip route")
    assert world.ssh(number, "cat /etc/resolv.conf") == f"nameserver {RESOLVER}"
    world.say("signed in at its own address, from another machine on the bridge")
    own = world.call("GET", f"/{number}")["ipv4"][0]
    _uses_no_other_address(world, number, own, SPOOFED, GATEWAY)
    _has_its_ipv6_address(world, number)
    _sends_no_mail(world, number)
    _is_behind_its_firewall(world, number)
    _hears_of_new_addresses_with_the_next_boot(world, number)


def _uses_no_other_address(world: BridgedWorld, number: int, own: str, spoofed: str, other: str) -> None:
    world.ssh(number, f"ip addr add {spoofed} dev eth0")
    for source in (own, spoofed):
        world.outside.count(source)
        world.ssh(number, f"ping -c 3 -W 1 -I {source} {other} || true")
    assert world.outside.counted(own) >= 3
    assert world.outside.counted(spoofed) == 0
    world.ssh(number, f"ip addr del {spoofed} dev eth0")
    world.say(f"nothing came from {spoofed}, which is not its own")


def _has_its_ipv6_address(world: BridgedWorld, number: int) -> None:
    own = world.call("GET", f"/{number}")["ipv6"].partition("/")[0]
    network = f"{':'.join(own.split(':')[:4])}::"
    world.outside.advertise(network)
    world.until(lambda: f" {own}/64 " in world.ssh(number, "ip -6 -o addr show eth0"), 30)
    world.until(lambda: world.outside.reaches(own, 22), 30)
    world.say("it has the IPv6 address that the interface shows, and is reached there")
    _uses_no_other_address(world, number, own, f"{network}99", f"{network}1")


def _reaches(world: BridgedWorld, number: int, port: int) -> bool:
    return world.ssh(number, f"nc -w 3 {GATEWAY} {port} </dev/null || true") == "hello"


def _sends_no_mail(world: BridgedWorld, number: int) -> None:
    for port in (MAIL, WEB):
        world.outside.serve(port)
    assert _reaches(world, number, WEB)
    assert not _reaches(world, number, MAIL)
    world.say("it reaches others, but no port of mail")


def _is_behind_its_firewall(world: BridgedWorld, number: int) -> None:
    address = world.call("GET", f"/{number}")["ipv4"][0]
    world.ssh(number, f"(while true; do echo hello | nc -l -p {WEB}; done) >/dev/null 2>&1 </dev/null &")
    world.until(lambda: world.outside.reaches(address, WEB), 30)
    rules = {
        "inbound": [{"protocol": "TCP", "ports": "22", "addresses": {"ipv4": ["0.0.0.0/0"]}, "action": "ACCEPT"}],
        "inbound_policy": "DROP",
        "outbound": [],
        "outbound_policy": "ACCEPT",
    }
    body = {"label": "only-ssh", "rules": rules, "devices": {"computes": [number]}}
    answer = world.client.post("/v4/networking/firewalls", json=body)
    assert answer.status_code == 200, answer.text
    world.until(lambda: not world.outside.reaches(address, WEB), 60)
    assert world.outside.reaches(address, 22)
    assert _reaches(world, number, WEB), "answers to what it asked for come in"
    world.say("its firewall lets SSH in, and answers to what it asked for")
    assert world.client.delete(f"/v4/networking/firewalls/{answer.json()['id']}").status_code == 200
    world.until(lambda: world.outside.reaches(address, WEB), 60)
    world.say("without the firewall everything comes in again")


def _hears_of_new_addresses_with_the_next_boot(world: BridgedWorld, number: int) -> None:
    private = world.call("POST", f"/{number}/ips", type="ipv4", public=False)["address"]
    world.call("POST", f"/{number}/reboot")
    world.settled(number)
    assert f" {private}/17 " in world.ssh(number, "ip -4 -o addr show eth0")
    world.say("a private address is there after a reboot")
    world.ssh(number, "echo '# mine' >> /etc/network/interfaces; sync")
    world.call("POST", f"/{number}/reboot")
    world.settled(number)
    assert world.ssh(number, "tail -1 /etc/network/interfaces") == "# mine", "it is not written without a reason"
    world.say("what its owner wrote is there after another")
