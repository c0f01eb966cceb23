"""Texts for libvirt and the helper system: user input is never code in them."""

from __future__ import annotations

import base64
import stat
import struct
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cryptography import x509

from crofter import certificates
from crofter.cli import host_certificates
from crofter.db import Database
from crofter.drivers.hypervisor import (
    DiskRef,
    DiskSpec,
    DomainSpec,
    Empty,
    FromDisk,
    Network,
    Order,
    Refused,
    Rule,
    Seed,
)
from crofter.drivers.hypervisor.libvirt import domain_xml, filters, names, scripts
from crofter.drivers.hypervisor.libvirt.domain_xml import Card, Drive, MachineXml, Platform
from crofter.drivers.hypervisor.libvirt.password_hash import crypted
from crofter.drivers.hypervisor.libvirt.swap_header import swap_header
from crofter.drivers.hypervisor.regional import RegionalHypervisor
from crofter.region_settings import wire
from crofter.resources.instances.ips.store import on_wire
from tests.drivers.simulated_harness import SimulatedHarness

HOSTILE = '\'; reboot; echo "$(id)" </root> & `x`\n'
ARM = Platform("aarch64", kvm=False)


def described(*cards: Card) -> ElementTree.Element:
    identity, drives = names.Names("0badcafe").identity(1), (Drive("/pool/d1", "sda"),)
    wanted = MachineXml("i-1", identity, 1, ARM, 1024, 1, drives, cards=cards)
    return ElementTree.fromstring(domain_xml.machine(wanted))


def test_a_machine_has_its_drives_under_the_names_of_their_slots() -> None:
    disk = described().find("./devices/disk")
    assert disk is not None
    assert [disk.find(name).attrib for name in ("target", "source")] == [  # type: ignore[union-attr]
        {"dev": "vda", "bus": "virtio"},
        {"file": "/pool/d1"},
    ]
    assert disk.findtext("serial") == "sda"


def test_the_card_is_the_one_that_the_ipv6_address_follows_from() -> None:
    network = Network(("203.0.113.7", on_wire(wire(None, "us-east"), 0x123456)))
    assert domain_xml.public_card(network, 0x123456) == ("f2:3c:95:12:34:56", "203.0.113.7")


def test_on_a_user_network_the_guest_is_leased_its_own_address_and_reaches_nothing() -> None:
    machine = described(Card("f2:3c:95:00:00:01", address="203.0.113.1", forward=22001))
    arguments = [argument.get("value") for argument in machine.iter(f"{{{domain_xml.QEMU}}}arg")]
    options = "user,id=n0,restrict=on,net=203.0.113.0/24,dhcpstart=203.0.113.1,host=203.0.113.2,dns=203.0.113.3"
    assert arguments[:2] == ["-netdev", f"{options},hostfwd=tcp:127.0.0.1:22001-203.0.113.1:22"]


def test_a_filter_lets_only_own_addresses_out_and_closes_the_ports_of_mail() -> None:
    accepting = Rule("inbound", "ACCEPT", "TCP", "22, 80-90", ("198.51.100.0/24", "2001:db8:5::/48"))
    network = Network(("203.0.113.7", "2001:db8:1::/64"), (accepting, Rule("inbound", "DROP")))
    root = ElementTree.fromstring(filters.filter_xml("name", "identity", "f2:3c:95:00:00:01", network))
    rules = [
        (element.get("action"), element.get("direction"), element[0].tag, element[0].attrib)
        for element in root.findall("rule")
    ]
    assert ("drop", "out", "mac", {"match": "no", "srcmacaddr": "f2:3c:95:00:00:01"}) in rules
    assert ("return", "out", "ip", {"srcipaddr": "203.0.113.7", "srcipmask": "32"}) in rules
    assert ("return", "out", "ipv6", {"srcipaddr": "2001:db8:1::", "srcipmask": "64"}) in rules
    assert {rule[3].get("dstportstart") for rule in rules if rule[1:3] == ("out", "tcp")} == {"25", "465", "587"}
    let_in = [rule[2:] for rule in rules if rule[:2] == ("accept", "in") and rule[3].get("state") == "NEW"]
    assert let_in[0] == (
        "tcp",
        {"srcipaddr": "198.51.100.0", "srcipmask": "24", "dstportstart": "22", "dstportend": "22", "state": "NEW"},
    )
    assert [kind for kind, _ in let_in] == ["tcp", "tcp", "tcp-ipv6", "tcp-ipv6"]
    assert [rule[2] for rule in rules if rule[:2] == ("drop", "in")] == ["all", "all-ipv6"]
    priorities = [int(element.get("priority", "")) for element in root.findall("rule")]
    assert priorities == sorted(priorities), "the first that matches decides"
    above = [rule for rule in rules if rule[2] in ("tcp", "tcp-ipv6", "all", "all-ipv6")]
    assert all("state" in rule[3] for rule in above), "else it would be in force in the other direction, too"


def test_what_lets_tunnels_through_lets_nothing_else_through() -> None:
    rules = (Rule("inbound", "ACCEPT", "IPENCAP"), Rule("inbound", "DROP"))
    xml = filters.filter_xml("name", "identity", "f2:3c:95:00:00:01", Network(("203.0.113.7",), rules))
    root = ElementTree.fromstring(xml)
    new = [element[0].tag for element in root.findall("rule[@action='accept']") if element[0].get("state") == "NEW"]
    assert new == []
    assert {element.get("protocol") for element in root.iter("ip")} == {None, "udp"}
    dropped = Network(("203.0.113.7",), (Rule("inbound", "DROP", "IPENCAP", "", ("198.51.100.0/24",)),))
    root = ElementTree.fromstring(filters.filter_xml("name", "identity", "f2:3c:95:00:00:01", dropped))
    tunnels = [rule for rule in root.findall("rule") if rule[0].get("protocol") == "4"]
    assert [(rule.get("action"), rule.get("direction"), rule[0].get("srcipaddr")) for rule in tunnels] == [
        ("drop", "in", "198.51.100.0")
    ]


def test_nothing_that_a_tenant_wrote_is_a_word_of_the_script() -> None:
    seed = Seed(HOSTILE, (HOSTILE,), HOSTILE, HOSTILE)
    script = scripts.seed_script(seed)
    assert "reboot" not in script
    assert script.count(base64.b64encode(HOSTILE.encode()).decode()) >= 1


def test_a_password_is_hashed_as_other_systems_do_it() -> None:
    expected = "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
    assert crypted("Hello world!", "saltstring") == expected
    assert crypted("x") != crypted("x"), "each with a salt of its own"


@pytest.mark.usefixtures("short_keys")
def test_certificates_are_good_for_one_side_each_and_their_keys_for_nobody_else(tmp_path: Path) -> None:
    rows = host_certificates.make(tmp_path / "own", "node1.example", tmp_path / "node1")
    host_certificates.make(tmp_path / "own", "192.0.2.7", tmp_path / "node2")
    assert any("qemu+tls://node1.example/system" in str(row["belongs"]) for row in rows)
    for folder, file, purpose in (("own", "clientcert.pem", "client"), ("node1", "servercert.pem", "server")):
        certificate = x509.load_pem_x509_certificate((tmp_path / folder / file).read_bytes())
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert [purpose_id._name for purpose_id in usage] == [f"{purpose}Auth"]
    for name in ("own/cakey.pem", "own/clientkey.pem", "node1/serverkey.pem"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    for name in ("own/clientcert.pem", "node1/servercert.pem", "node2/servercert.pem"):
        authority = str(tmp_path / "own" / "cacert.pem")
        subprocess.run(["openssl", "verify", "-CAfile", authority, str(tmp_path / name)], check=True)


@pytest.mark.usefixtures("short_keys")
def test_machines_on_the_move_have_certificates_that_open_nothing_else(tmp_path: Path) -> None:
    for name in ("node1.example", "node2.example"):
        host_certificates.make(tmp_path / "own", name, tmp_path / name)
    there = tmp_path / "node1.example" / "qemu"
    own = str(there / "ca-cert.pem")
    for purpose, file in (("sslserver", "server-cert.pem"), ("sslclient", "client-cert.pem")):
        for host in ("node1.example", "node2.example"):
            checked = ["-purpose", purpose, str(tmp_path / host / "qemu" / file)]
            assert subprocess.run(["openssl", "verify", "-CAfile", own, *checked]).returncode == 0
        lines = str(tmp_path / "own" / "cacert.pem")
        assert subprocess.run(["openssl", "verify", "-CAfile", lines, str(there / file)]).returncode != 0
    assert {stat.S_IMODE(key.stat().st_mode) for key in there.glob("*-key.pem")} == {0o600}


def _ends(file: Path) -> datetime:
    return x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc


@pytest.mark.usefixtures("short_keys")
def test_the_servers_certificate_is_made_anew_before_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, life = tmp_path / "own", host_certificates.LIFE
    monkeypatch.setattr(host_certificates, "LIFE", timedelta(seconds=1))
    host_certificates.make(own, "node1.example", tmp_path / "node1")
    authority, first = _ends(own / "cacert.pem"), _ends(own / "clientcert.pem")
    ends_soon = {certificate.whose: certificate.ends_soon for certificate in certificates.known(own)}
    lasting = {"the authority": False, "the authority for machines": False}
    assert ends_soon == {**lasting, "the server": True, "host node1.example": True}
    monkeypatch.setattr(host_certificates, "LIFE", life)
    host_certificates.make(own, "node2.example", tmp_path / "node2")
    assert _ends(own / "cacert.pem") == authority
    renewed = _ends(own / "clientcert.pem")
    assert renewed > first + life / 2
    host_certificates.make(own, "node1.example", tmp_path / "node1")
    assert _ends(own / "clientcert.pem") == renewed, "it is used for as long as it is good"
    assert not any(certificate.ends_soon for certificate in certificates.known(own))
    assert not list((own / certificates.ISSUED).glob("*key*"))


def test_each_region_has_its_own_driver_and_nothing_is_copied_between_them(sqlite_store: Database) -> None:
    simulated, real = SimulatedHarness(sqlite_store).start(), SimulatedHarness(sqlite_store).start()
    driver = RegionalHypervisor(simulated, real, frozenset(("eu-west",)))
    here, there = (driver.place(region, 1, DomainSpec(1, 1024)) for region in ("us-east", "eu-west"))
    order = Order(1, "disk", 1, "disk_create")
    driver.ensure_disk(DiskRef(here, 1), DiskSpec(100), Empty(), order)
    driver.ensure_disk(DiskRef(there, 2), DiskSpec(100), Empty(), order)
    assert [ref.id for ref in driver.list().disks] == [1, 2], "each thing once, whoever has it"
    with pytest.raises(Refused):
        driver.ensure_disk(DiskRef(there, 3), DiskSpec(100), FromDisk(DiskRef(here, 1)), order)


def test_a_swap_area_begins_as_mkswap_begins_it() -> None:
    header = swap_header(512 << 20)
    assert len(header) == 4096
    assert header[-10:] == b"SWAPSPACE2"
    assert struct.unpack_from("<III", header, 1024) == (1, (512 << 20) // 4096 - 1, 0)


def test_a_disk_with_partitions_grows_as_a_disk_and_is_never_made_smaller() -> None:
    grown, shrunk = scripts.resize_script(200, grows=True), scripts.resize_script(100, grows=False)
    assert grown.startswith('if is_flat "$D_sda"; then\n')
    assert 'resize2fs "$D_sda" 100M' in shrunk
    assert "is_flat" not in shrunk, "without a file system on the whole disk this fails, and nothing was touched"
