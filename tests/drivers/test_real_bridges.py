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
    from tests.drivers.bridges import GATEWAY, RESOLVER, BridgedCloud

SPOOFED = "203.0.113.99"
MAIL, WEB = 25, 8080


@pytest.fixture
def real_cloud() -> Iterator[BridgedCloud]:
    with BridgedCloud(real.short_folder(), ("us-east",), 1) as made:
        yield made


def test_an_instance_on_a_bridge_has_its_addresses_and_nothing_else(real_cloud: BridgedCloud) -> None:
    created = real_cloud.create("bridged")
    number = created["id"]
    assert created["ipv4"] == ["203.0.113.2"]
    real_cloud.settled(number)
    real_cloud.say("running")
    assert " 203.0.113.2/24 " in real_cloud.ssh(number, "ip -4 -o addr show eth0")
    assert f"default via {GATEWAY} " in real_cloud.ssh(number, "ip route")
    assert real_cloud.ssh(number, "cat /etc/resolv.conf") == f"nameserver {RESOLVER}"
    real_cloud.say("signed in at its own address, from another machine on the bridge")
    own = real_cloud.call("GET", f"/{number}")["ipv4"][0]
    _uses_no_other_address(real_cloud, number, own, SPOOFED, GATEWAY)
    _has_its_ipv6_address(real_cloud, number)
    _sends_no_mail(real_cloud, number)
    _is_behind_its_firewall(real_cloud, number)
    _hears_of_new_addresses_with_the_next_boot(real_cloud, number)


def _uses_no_other_address(real_cloud: BridgedCloud, number: int, own: str, spoofed: str, other: str) -> None:
    real_cloud.ssh(number, f"ip addr add {spoofed} dev eth0")
    for source in (own, spoofed):
        real_cloud.outside.count(source)
        real_cloud.ssh(number, f"ping -c 3 -W 1 -I {source} {other} || true")
    assert real_cloud.outside.counted(own) >= 3
    assert real_cloud.outside.counted(spoofed) == 0
    real_cloud.ssh(number, f"ip addr del {spoofed} dev eth0")
    real_cloud.say(f"nothing came from {spoofed}, which is not its own")


def _has_its_ipv6_address(real_cloud: BridgedCloud, number: int) -> None:
    own = real_cloud.call("GET", f"/{number}")["ipv6"].partition("/")[0]
    network = f"{':'.join(own.split(':')[:4])}::"
    real_cloud.outside.advertise(network)
    real_cloud.until(lambda: f" {own}/64 " in real_cloud.ssh(number, "ip -6 -o addr show eth0"), 30)
    real_cloud.until(lambda: real_cloud.outside.reaches(own, 22), 30)
    real_cloud.say("it has the IPv6 address that the interface shows, and is reached there")
    _uses_no_other_address(real_cloud, number, own, f"{network}99", f"{network}1")


def _reaches(real_cloud: BridgedCloud, number: int, port: int) -> bool:
    return real_cloud.ssh(number, f"nc -w 3 {GATEWAY} {port} </dev/null || true") == "hello"


def _sends_no_mail(real_cloud: BridgedCloud, number: int) -> None:
    for port in (MAIL, WEB):
        real_cloud.outside.serve(port)
    assert _reaches(real_cloud, number, WEB)
    assert not _reaches(real_cloud, number, MAIL)
    real_cloud.say("it reaches others, but no port of mail")


def _is_behind_its_firewall(real_cloud: BridgedCloud, number: int) -> None:
    address = real_cloud.call("GET", f"/{number}")["ipv4"][0]
    real_cloud.ssh(number, f"(while true; do echo hello | nc -l -p {WEB}; done) >/dev/null 2>&1 </dev/null &")
    real_cloud.until(lambda: real_cloud.outside.reaches(address, WEB), 30)
    rules = {
        "inbound": [{"protocol": "TCP", "ports": "22", "addresses": {"ipv4": ["0.0.0.0/0"]}, "action": "ACCEPT"}],
        "inbound_policy": "DROP",
        "outbound": [],
        "outbound_policy": "ACCEPT",
    }
    body = {"label": "only-ssh", "rules": rules, "devices": {"computes": [number]}}
    answer = real_cloud.client.post("/v4/networking/firewalls", json=body)
    assert answer.status_code == 200, answer.text
    real_cloud.until(lambda: not real_cloud.outside.reaches(address, WEB), 60)
    assert real_cloud.outside.reaches(address, 22)
    assert _reaches(real_cloud, number, WEB), "answers to what it asked for come in"
    real_cloud.say("its firewall lets SSH in, and answers to what it asked for")
    assert real_cloud.client.delete(f"/v4/networking/firewalls/{answer.json()['id']}").status_code == 200
    real_cloud.until(lambda: real_cloud.outside.reaches(address, WEB), 60)
    real_cloud.say("without the firewall everything comes in again")


def _hears_of_new_addresses_with_the_next_boot(real_cloud: BridgedCloud, number: int) -> None:
    private = real_cloud.call("POST", f"/{number}/ips", type="ipv4", public=False)["address"]
    real_cloud.call("POST", f"/{number}/reboot")
    real_cloud.settled(number)
    assert f" {private}/17 " in real_cloud.ssh(number, "ip -4 -o addr show eth0")
    real_cloud.say("a private address is there after a reboot")
    real_cloud.ssh(number, "echo '# mine' >> /etc/network/interfaces; sync")
    real_cloud.call("POST", f"/{number}/reboot")
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "tail -1 /etc/network/interfaces") == "# mine", "it is not written without a reason"
    real_cloud.say("what its owner wrote is there after another")
