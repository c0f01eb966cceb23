"""Volumes of real machines, as their guests find them. On hosts in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drivers.interruptions import interrupting
from tests.drivers.test_libvirt_operations import FakeHosts
from tests.sweep import Machine

from tests.drivers.libvirt_cloud import LibvirtCloud  # isort: skip - once the binding is there


def serials(hosts: FakeHosts, machine: Machine) -> list[str]:
    """Serial numbers of the disks that the guest has, from which udev makes their paths."""
    domains = [domain for host in hosts.fleet.hosts.values() for domain in host.domains.values()]
    (domain,) = (domain for domain in domains if domain.name.endswith(f"-i-{machine.id}"))
    assert domain.running is not None
    disks = domain.running.findall("./devices/disk")
    return [str(disk.findtext("serial")) for disk in disks]


def test_the_path_of_a_volume_is_the_one_that_its_guest_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugged in while the machine runs, and after it was booted again; the label has no part in it."""
    hosts = FakeHosts(tmp_path / "media", monkeypatch)
    with LibvirtCloud(tmp_path / "data", hosts, interrupting(monkeypatch), monkeypatch) as cloud:
        machine = Machine(cloud, cloud.person(username="alice"))
        made = machine.ask("POST", "/v4/volumes", label="data", compute_id=machine.id).json()
        cloud.settle()
        shown = machine.owner.get(f"/v4/volumes/{made['id']}").json()
        path = f"/dev/disk/by-id/virtio-volume{made['id']}"
        assert (made["filesystem_path"], shown["filesystem_path"]) == (path, path)
        assert f"volume{made['id']}" in serials(hosts, machine)
        machine.rest("reboot")
        assert f"volume{made['id']}" in serials(hosts, machine)
        assert machine.ask("PUT", f"/v4/volumes/{made['id']}", label="photos").json()["filesystem_path"] == path
        assert machine.ask("POST", f"/v4/volumes/{made['id']}/detach").status_code == 200
        cloud.settle()
        assert f"volume{made['id']}" not in serials(hosts, machine)
