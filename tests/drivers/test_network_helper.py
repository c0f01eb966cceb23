"""Files that the network helper writes into guests, for each system."""

from __future__ import annotations

import configparser

import pytest
import yaml

from crofter.drivers.hypervisor import DomainSpec, Interface, Network
from tests.drivers.real import why_not

if why_not() is not None:
    pytest.skip(why_not() or "", allow_module_level=True)

from crofter.drivers.hypervisor.libvirt import scripts  # isort: skip - once the binding is there
from crofter.drivers.hypervisor.libvirt.domain_xml import Card
from crofter.drivers.hypervisor.libvirt.network_helper import files, nics

SPEC = DomainSpec(1, 1024, interfaces=(Interface("public"), Interface("vlan", 7, "10.0.0.5/24"), Interface("vlan", 8)))
CARDS = tuple(Card(f"f2:3c:95:00:00:0{place}", "br0") for place in range(3))
NETWORK = Network(guest=("203.0.113.2/24", "192.168.130.9/17"), gateway="203.0.113.1")
RESOLVERS = ("203.0.113.53", "2001:db8::53")


def written() -> dict[str, str]:
    return {file.path: file.text for file in files(nics(CARDS, SPEC, NETWORK), RESOLVERS)}


def test_ifupdown_is_told_addresses_one_way_out_and_cards_without_any() -> None:
    lines = [line.strip() for line in written()["/etc/network/interfaces"].splitlines() if line and line[0] != "#"]
    assert lines == [
        *("auto lo", "iface lo inet loopback"),
        *("auto eth0", "iface eth0 inet static", "address 203.0.113.2/24", "gateway 203.0.113.1"),
        "dns-nameservers 203.0.113.53 2001:db8::53",
        *("iface eth0 inet static", "address 192.168.130.9/17", "iface eth0 inet6 auto", "privext 0"),
        *("auto eth1", "iface eth1 inet static", "address 10.0.0.5/24"),
        *("auto eth2", "iface eth2 inet manual"),
    ]


def test_networkd_and_network_manager_find_their_card_by_its_address() -> None:
    texts = written()
    public = texts["/etc/systemd/network/05-eth0.network"].splitlines()
    assert public[1:3] == ["[Match]", "MACAddress=f2:3c:95:00:00:00"]
    for line in ("Address=203.0.113.2/24", "Address=192.168.130.9/17", "Gateway=203.0.113.1", "DNS=2001:db8::53"):
        assert line in public
    assert "IPv6AcceptRA=no" in texts["/etc/systemd/network/05-eth1.network"].splitlines()
    assert "Name=eth1" in texts["/etc/systemd/network/05-eth1.link"].splitlines()
    manager = configparser.ConfigParser()
    manager.read_string(texts["/etc/NetworkManager/system-connections/eth0.nmconnection"])
    assert manager["ethernet"]["mac-address"] == "F2:3C:95:00:00:00"
    assert dict(manager["ipv4"]) == {
        "method": "manual",
        "address1": "203.0.113.2/24,203.0.113.1",
        "address2": "192.168.130.9/17",
        "dns": "203.0.113.53;",
    }
    own = {"addr-gen-mode": "eui64", "ip6-privacy": "0"}
    assert dict(manager["ipv6"]) == {"method": "auto", "dns": "2001:db8::53;", **own}


def test_cloud_init_reads_the_same() -> None:
    network_config = yaml.safe_load(written()["/var/lib/cloud/seed/nocloud/network-config"])
    assert network_config["version"] == 2
    assert network_config["ethernets"]["eth0"] == {
        "match": {"macaddress": "f2:3c:95:00:00:00"},
        "set-name": "eth0",
        "dhcp4": False,
        "accept-ra": True,
        "addresses": ["203.0.113.2/24", "192.168.130.9/17"],
        "routes": [{"to": "0.0.0.0/0", "via": "203.0.113.1"}],
        "nameservers": {"addresses": list(RESOLVERS)},
    }
    assert "addresses" not in network_config["ethernets"]["eth2"]


def test_files_are_written_only_where_their_software_is() -> None:
    made = files(nics(CARDS, SPEC, NETWORK), ())
    script = scripts.network_script(made, ())
    assert script.splitlines()[0] == "open_root"
    for file in made:
        assert f'[ ! -d "$R{file.folder}" ] || put {file.path} {file.mode} ' in script
    assert "resolv.conf" not in script
    script_with_resolvers = scripts.network_script(made, RESOLVERS)
    assert '[ -L "$R/etc/resolv.conf" ] || put /etc/resolv.conf 644 ' in script_with_resolvers
