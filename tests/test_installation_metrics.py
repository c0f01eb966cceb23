"""What the metrics say about hosts, capacity, certificates, mails, backups, and a disk that takes no writes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from crofter.db.sqlite import SqliteDatabase
from crofter.drivers.hypervisor.libvirt import tables
from tests.cloud import Cloud
from tests.db.test_transactions import limit_pages
from tests.resources.followers import eventually
from tests.test_staff import AdminCommands

DAY = 86_400
HOST = {"region": "us-east", "uri": "test:///default", "pool": "/pool", "network": "user", "architecture": "x86_64"}
MEBIBYTE = 1 << 20


def gauges(cloud: Cloud, name: str) -> dict[str, float]:
    """The values of a metric by its labels."""
    lines = [line.rpartition(" ") for line in cloud.sandbox.get("/metrics").text.splitlines()]
    named = {text.removeprefix(name): float(value) for text, _, value in lines if text.startswith((f"{name}{{", name))}
    return {labels: value for labels, value in named.items() if labels == "" or labels.startswith("{")}


@pytest.fixture
def cloud(cloud_in_folder: Cloud) -> Cloud:
    cloud_in_folder.freeze()
    return cloud_in_folder


@pytest.fixture
def admin(cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AdminCommands:
    return AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)


@pytest.mark.both
def test_the_age_of_the_last_backup_is_known(cloud: Cloud, admin: AdminCommands, tmp_path: Path) -> None:
    assert gauges(cloud, "crofter_backup_age_seconds") == {}
    admin("backup", str(tmp_path / "backup"))
    assert gauges(cloud, "crofter_backup_age_seconds")[""] < DAY
    cloud.advance(3 * DAY)
    assert gauges(cloud, "crofter_backup_age_seconds")[""] >= 3 * DAY
    (row,) = [row for row in admin("doctor", code=1) if row["check"] == "backup"]
    assert (row["ok"], row["found"]) == (False, "the last one is 3.0 days old")


@pytest.mark.usefixtures("short_keys")
def test_certificates_and_hosts_have_metrics(cloud: Cloud, admin: AdminCommands, tmp_path: Path) -> None:
    admin("hosts", "certificate", "node1.example", "--to", str(tmp_path / "node1"))
    ends = gauges(cloud, "crofter_certificate_expiry_timestamp_seconds")
    assert '{whose="host node1.example"}' in ends
    assert len(ends) == 4
    assert gauges(cloud, "crofter_hosts")['{region="us-east",state="up"}'] > 0
    assert gauges(cloud, "crofter_hosts")['{region="us-east",state="unreachable"}'] == 0
    cloud.fault("region_outage", region="us-east")
    assert gauges(cloud, "crofter_hosts")['{region="us-east",state="up"}'] == 0


@pytest.mark.usefixtures("short_keys")
def test_an_unreadable_certificate_hides_no_other(cloud: Cloud, admin: AdminCommands, tmp_path: Path) -> None:
    for name in ("node1.example", "node2.example"):
        admin("hosts", "certificate", name, "--to", str(tmp_path / name))
    issued = tmp_path / "data" / "hosts" / "issued"
    torn = issued / "node1.example.pem"
    torn.write_bytes(torn.read_bytes()[:200])
    (issued / "node3.example.pem").mkdir()
    (issued / "node4.example.pem").symlink_to("node4.example.pem")
    ends = gauges(cloud, "crofter_certificate_expiry_timestamp_seconds")
    assert '{whose="host node2.example"}' in ends
    assert len(ends) == 4
    rows = [row for row in admin("doctor", code=1) if row["check"] == "certificate"]
    unreadable = [row["found"] for row in rows if not row["ok"]]
    assert unreadable[0] == f"of host node1.example: {torn} cannot be read: no certificate"
    assert [text.split(":")[0] for text in unreadable[1:]] == ["of host node3.example", "of host node4.example"]
    assert sum(row["ok"] for row in rows) == 4


def test_the_capacity_of_real_hosts_has_metrics(cloud: Cloud) -> None:
    with cloud.runtime.database.write() as db:
        db.insert(tables.host, id=7001, vcpus=4, memory=1000, disk=5000, state="up", emulation=True, **HOST)
    memory = gauges(cloud, "crofter_host_memory_bytes")
    assert memory['{host="1",region="us-east",what="total"}'] == 1000 * MEBIBYTE
    assert memory['{host="1",region="us-east",what="used"}'] == 0
    assert gauges(cloud, "crofter_host_disk_bytes")['{host="1",region="us-east",what="total"}'] == 5000 * MEBIBYTE


def test_a_mail_that_waits_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cloud = Cloud(data=str(tmp_path / "data"), mail="smtp://127.0.0.1:1")
    try:
        cloud.freeze()
        assert gauges(cloud, "crofter_mails_waiting") == {"": 0}
        invited = {"username": "bob", "email": "bob@example.com"}
        assert cloud.admin.post("/v4/account/users", json=invited).status_code == 200
        assert gauges(cloud, "crofter_mails_waiting") == {"": 1}
        cloud.advance(7200)
        assert gauges(cloud, "crofter_mail_age_seconds")[""] >= 7200
        rows = AdminCommands(capsys, tmp_path / "data")("doctor", code=1)
        (row,) = [row for row in rows if row["check"] == "mails"]
        assert (row["ok"], row["found"]) == (False, "1 wait to be sent, the oldest for 2.0 hours")
    finally:
        cloud.close()


def test_a_full_disk_is_named_to_callers_and_seen_in_the_metrics() -> None:
    cloud = Cloud()
    try:
        assert gauges(cloud, "crofter_ready")['{part="writes"}'] == 1
        limit_pages(cast("SqliteDatabase", cloud.runtime.database), 0)
        large = {"summary": "Large", "description": "x" * 60_000}
        refused = cloud.admin.post("/v4/support/tickets", json=large)
        assert refused.status_code == 503
        assert refused.json()["errors"][0]["reason"].startswith("The disk of the service is full")
        eventually(lambda: gauges(cloud, "crofter_ready")['{part="writes"}'] == 0)
    finally:
        cloud.close()
