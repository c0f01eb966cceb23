"""Domains that are copied from other name servers: honest ones, and those that mean no good."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
from httpx2 import Client, Response

from crofter.drivers.dns import Zone, ZoneFiles, transfer
from crofter.drivers.probes.addresses import Refused
from tests.cloud import Cloud
from tests.drivers.dns_servers import BINARIES, Behaviour, RealServer, binary, framed, stranger
from tests.observed import actions, errors
from tests.resources.test_domains import DOMAINS, create

SOA = ("example.org.", 300, "IN", "SOA", "ns.example.net. first\\.last.example.org. 7 10 20 30 40")
RECORDS = (
    ("example.org.", 300, "IN", "NS", "ns.example.net."),
    ("www.example.org.", 60, "IN", "A", "192.0.2.1"),
    ("www.example.org.", 60, "IN", "AAAA", "2001:db8::1"),
    ("sub.example.org.", 300, "IN", "NS", "ns.example.com."),
    ("example.org.", 300, "IN", "MX", "10 mail.example.org."),
    ("example.org.", 300, "IN", "TXT", '"v=spf1 " "-all"'),
    ("_sip._tcp.dev.example.org.", 300, "IN", "SRV", "1 2 5060 sip.example.org."),
    ("example.org.", 300, "IN", "CAA", '0 issue "ca.example.net"'),
    ("ssh.example.org.", 300, "IN", "SSHFP", "1 1 aabbccddeeff00112233445566778899aabbccdd"),
)


def answer(query: dns.message.Message, *rows: tuple[Any, ...], rcode: int = 0, flags: int = 0) -> bytes:
    message = dns.message.make_response(query)
    message.set_rcode(dns.rcode.Rcode(rcode))
    message.flags |= flags
    for row in rows:
        message.answer.append(dns.rrset.from_text(*row))
    return framed(message.to_wire(max_size=65535))


def sends(*rows: tuple[Any, ...], **more: Any) -> Behaviour:
    return lambda connection, query: connection.sendall(answer(query, *rows, **more))


def ask(client: Client, server: str, domain: str = "example.org") -> Response:
    return client.post(f"{DOMAINS}/import", json={"domain": domain, "remote_nameserver": server})


@pytest.mark.both
def test_a_domain_is_copied_from_another_name_server(alice: Client) -> None:
    with stranger(sends(SOA, *RECORDS, SOA)) as server:
        made = ask(alice, server).json()
    assert (made["type"], made["soa_email"], made["refresh_sec"]) == ("master", "first.last@example.org", 300)
    rows = alice.get(f"{DOMAINS}/{made['id']}/records").json()["data"]
    assert [(row["type"], row["name"], row["target"]) for row in rows] == [
        ("A", "www", "192.0.2.1"),
        ("AAAA", "www", "2001:db8::1"),
        ("NS", "sub", "ns.example.com"),
        ("MX", "", "mail.example.org"),
        ("TXT", "", "v=spf1 -all"),
        ("SRV", "_sip._tcp.dev", "sip.example.org"),
        ("CAA", "", "ca.example.net"),
    ]
    changed = alice.put(f"{DOMAINS}/{made['id']}/records/{rows[5]['id']}", json={"service": "sips"}).json()
    assert changed["name"] == "_sips._tcp.dev"
    assert actions(alice)[-1] == "dns_zone_import"


def slow(connection: socket.socket, query: dns.message.Message) -> None:
    for byte in answer(query, SOA, *RECORDS, SOA):
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def endless(connection: socket.socket, query: dns.message.Message) -> None:
    connection.sendall(answer(query, SOA))
    while True:
        connection.sendall(answer(query, *RECORDS))


def loop(connection: socket.socket, query: dns.message.Message) -> None:
    wire = bytearray(answer(query, SOA, SOA))
    wire[2 + 12] = 0xC0  # the name in the question points at itself
    wire[2 + 13] = 12
    connection.sendall(bytes(wire))


def truncated(connection: socket.socket, query: dns.message.Message) -> None:
    connection.sendall(answer(query, SOA, *RECORDS)[:-5])


def silent(connection: socket.socket, _query: dns.message.Message) -> None:
    time.sleep(5)


HOSTILE: dict[str, tuple[Behaviour, str]] = {
    "slow": (slow, "did not answer in time"),
    "silent": (silent, "did not answer in time"),
    "endless": (endless, "more than"),
    "loop": (loop, "cannot be understood"),
    "truncated": (truncated, "broke off"),
    "junk": (lambda connection, _: connection.sendall(framed(b"\xff" * 40)), "cannot be understood"),
    "marked as cut": (sends(SOA, SOA, flags=dns.flags.TC), "cannot be understood"),
    "refused": (sends(rcode=5), "REFUSED"),
    "empty": (sends(), "does not have this domain"),
    "no beginning": (sends(RECORDS[1]), "does not have this domain"),
    "another zone": (sends(("example.com.", *SOA[1:]), SOA), "does not have this domain"),
    "records of others": (sends(SOA, ("www.example.com.", 60, "IN", "A", "192.0.2.1"), SOA), "another domain"),
    "not alone": (sends(SOA, ("www.example.org.", 60, "IN", "CNAME", "a.org."), RECORDS[1], SOA), "not stand alone"),
    "no name": (sends(SOA, ("a\\032b.example.org.", 60, "IN", "A", "192.0.2.1"), SOA), "host name"),
}


@pytest.mark.parametrize("sort", HOSTILE)
def test_a_stranger_that_means_no_good_is_refused(alice: Client, sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "SECONDS", 1.0 if sort in ("slow", "silent") else 60.0)
    monkeypatch.setattr(transfer, "MOST_RECORDS", 50)
    behaviour, reason = HOSTILE[sort]
    began = time.monotonic()
    with stranger(behaviour) as server:
        refused = ask(alice, server)
    assert time.monotonic() - began < 50
    assert refused.status_code == 400
    ((field, full_reason),) = errors(refused)
    assert field == "remote_nameserver"
    assert reason in full_reason
    assert alice.get(DOMAINS).json()["results"] == 0


def test_what_can_be_said_before_anybody_is_asked(alice: Client, mallory: Client) -> None:
    create(mallory)
    refused = ask(alice, "10.0.0.1", "EXAMPLE.org")
    assert [field for field, _ in errors(refused)] == ["domain", "remote_nameserver"]
    for server in (
        "169.254.169.254",
        "192.168.0.1:53",
        "localhost.local",
        "8.8.8.8:25",
        "[fe80::1]",
        "x y",
        "2130706433",
    ):
        refused = ask(alice, server, "free.org")
        assert [field for field, _ in errors(refused)] == ["remote_nameserver"], server
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert "could not be reached" in errors(ask(alice, f"localhost:{port}", "free.org"))[0][1]


@pytest.mark.parametrize("server", ["127.0.0.1", "127.0.0.1:5353", "localhost", "[::1]:53", "::1", "example.org:5353"])
def test_outside_of_sandboxes_this_machine_is_not_asked(server: str) -> None:
    with pytest.raises(Refused):
        transfer.server(server, local=False)


def test_only_a_few_copies_are_made_at_once(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer._places, "acquire", lambda blocking: False)
    assert ask(alice, "127.0.0.1:9").status_code == 503


@pytest.fixture(params=list(BINARIES))
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealServer]:
    if binary(request.param) is None:
        pytest.skip(f"there is no {BINARIES[request.param]} on this machine")
    server = RealServer(request.param, tmp_path)
    lines = [" ".join(map(str, row)) for row in (SOA, *RECORDS)]
    ZoneFiles(server.zones, request.param, "").publish(Zone("example.org", 7, tuple(lines), transfers=("127.0.0.1",)))
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("cloud", ["sqlite"], indirect=True)
def test_a_domain_is_copied_from_a_real_name_server(cloud: Cloud, alice: Client, real: RealServer) -> None:
    real.until(lambda: real.serial("example.org") == 7)
    made = ask(alice, f"127.0.0.1:{real.port}").json()
    assert alice.get(f"{DOMAINS}/{made['id']}/records").json()["results"] == 7
