"""The sweeper: what hosts and the database disagree about is reported, and nothing is destroyed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from httpx2 import Client

from crofter.drivers.hypervisor import (
    BackupRef,
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    Empty,
    Inventory,
    Order,
    VolumeRef,
)
from crofter.resources.instances import hypervisor_client, sweeping
from crofter.resources.instances.store import instance
from tests.cloud import Cloud
from tests.resources.compute import act, create, deploy, status

URL = "/v4/compute/instances"
NOBODY = Order(operation=10**9, step="stray", fence=1, action="stray")


def host_of(cloud: Cloud, own: int) -> int:
    with cloud.runtime.database.read() as db:
        return int(db.raw(f"SELECT host FROM instance WHERE id = {own}").fetchone()[0])


def forge(cloud: Cloud, own: int, **values: object) -> None:
    """Write a row as a bug would."""
    with cloud.runtime.database.write() as db:
        db.update(instance, {"id": own}, **values)


def test_a_service_in_order_has_nothing_to_report(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    act(alice, own, "backups", label="x")
    create(alice)
    cloud.settle()
    assert sweeping.reconcile(cloud.runtime) == sweeping.Report()


@pytest.mark.both
def test_nothing_is_reported_of_what_is_under_way(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, backups_enabled=True)
    for path, body in (
        ("backups", {"label": "x"}),
        ("rebuild", {"image": "compute/debian11", "root_pass": "correct-horse-battery-9"}),
        ("migrate", {"region": "us-west"}),
        ("resize", {"type": "g6-standard-2"}),
        ("backups/cancel", {}),
    ):
        cloud.freeze()
        act(alice, own, path, **body)
        for _ in range(12):
            assert sweeping.reconcile(cloud.runtime) == sweeping.Report(), path
            cloud.advance(0.25)
        cloud.settle()
        assert sweeping.reconcile(cloud.runtime) == sweeping.Report(), path


def test_what_nobody_knows_is_reported_and_left_alone(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    host = host_of(cloud, own)
    driver = hypervisor_client.hypervisor(cloud.runtime)
    driver.ensure_domain(DomainRef(host, 4711), DomainSpec(1, 1024), NOBODY)
    driver.ensure_disk(DiskRef(host, 4712), DiskSpec(100), Empty(), NOBODY)
    driver.ensure_backup(BackupRef(host, 4713), (), NOBODY)
    cloud.advance(60)
    report = sweeping.reconcile(cloud.runtime)
    assert report.orphans == [f"i-4711 on host {host}", f"d4712 on host {host}", f"bk4713 on host {host}"]
    assert (report.missing, report.misplaced, report.stuck) == ([], [], [])
    cloud.advance(3 * 24 * 3600)
    assert sweeping.reconcile(cloud.runtime).orphans == report.orphans


def test_what_is_not_where_it_should_be_is_reported(cloud: Cloud, alice: Client) -> None:
    own, lost = deploy(cloud, alice), deploy(cloud, alice)
    host, driver = host_of(cloud, own), hypervisor_client.hypervisor(cloud.runtime)
    driver.ensure_gone(DomainRef(host_of(cloud, lost), lost), NOBODY)
    forge(cloud, own, host=host + 1)
    cloud.advance(60)
    report = sweeping.reconcile(cloud.runtime)
    assert report.misplaced[0] == f"i-{own} on host {host}, not {host + 1}"
    assert len(report.misplaced) == 3  # and its two disks
    assert report.missing == [f"i-{lost} on host {host_of(cloud, lost)}"]


def test_a_host_that_is_away_makes_nothing_missing(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("region_outage", region="us-east")
    report = sweeping.reconcile(cloud.runtime)
    assert (report.orphans, report.missing, report.misplaced) == ([], [], [])
    assert host_of(cloud, own) in report.unreachable


@pytest.mark.parametrize("shown", ["booting", "migrating", "provisioning", "restoring", "cloning", "deleting"])
def test_an_instance_on_its_way_to_nowhere_is_looked_at(cloud: Cloud, alice: Client, shown: str) -> None:
    running, off = deploy(cloud, alice), create(alice)["id"]
    for own in (running, off):
        forge(cloud, own, status=shown)
    cloud.freeze()
    cloud.advance(6 * 3600 + 1)
    assert (status(alice, running), status(alice, off)) == ("running", "offline")
    assert alice.delete(f"{URL}/{running}").status_code == 200
    cloud.settle()
    assert alice.get(f"{URL}/{running}").status_code == 404


def test_an_instance_that_somebody_is_at_work_on_is_let_be(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.freeze()
    act(alice, own, "reboot")
    assert sweeping.repair(cloud.runtime) == []
    assert status(alice, own) == "rebooting"


@pytest.mark.both
def test_volumes_that_only_one_side_knows_are_reported(cloud: Cloud, alice: Client) -> None:
    volumes = [alice.post("/v4/volumes", json={"label": label, "region": "us-east"}).json()["id"] for label in "abc"]
    assert sweeping.reconcile(cloud.runtime) == sweeping.Report()  # while they are being made
    cloud.settle()
    cloud.freeze()
    assert alice.delete(f"/v4/volumes/{volumes[2]}").status_code == 200
    assert sweeping.reconcile(cloud.runtime) == sweeping.Report()  # while one is being erased
    cloud.settle()
    driver = hypervisor_client.hypervisor(cloud.runtime)
    driver.ensure_volume(VolumeRef("us-east", 4711), 10, Empty(), NOBODY)
    driver.ensure_gone(VolumeRef("us-east", volumes[0]), NOBODY)
    cloud.advance(60)
    report = sweeping.reconcile(cloud.runtime)
    assert (report.orphans, report.missing) == (["v4711 in region us-east"], [f"v{volumes[0]} in region us-east"])


class Believing:
    """A driver that answers lookups from its ledger, and lists from the hosts."""

    def __init__(self, driver: Any, lost: DiskRef, stray: DiskRef, volume: VolumeRef) -> None:
        self._driver, self._lost, self._stray, self._volume = driver, lost, stray, volume

    def list(self) -> Inventory:
        listed: Inventory = self._driver.list()
        disks = (*(ref for ref in listed.disks if ref != self._lost), self._stray)
        return msgspec.structs.replace(listed, disks=disks, volumes=(*listed.volumes, self._volume))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def test_what_hosts_really_have_counts_and_not_what_a_driver_believes(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = deploy(cloud, alice)
    host = host_of(cloud, own)
    lost = next(ref for ref in hypervisor_client.hypervisor(cloud.runtime).list().disks if ref.host == host)
    driver = Believing(cloud.runtime.hypervisor, lost, DiskRef(host, 4711), VolumeRef("us-east", 4712))
    monkeypatch.setattr(cloud.runtime, "hypervisor", driver)
    report = sweeping.compare(cloud.runtime)
    assert report.missing == [f"{lost.name} on host {host}"]
    assert report.orphans == [f"d4711 on host {host}", "v4712 in region us-east"]
