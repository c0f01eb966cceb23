"""A host is declared dead and forgotten: its instances stop, cost nothing more, and their owners are not stuck."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from crofter.bootstrap import keep_region_drivers
from crofter.cli import host_losses, hosts
from crofter.db import meta, query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor import DriverError
from crofter.drivers.hypervisor.ledger import region_drivers
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.libvirt import tables
from crofter.engine import Failed, StepContext
from crofter.region_settings import RegionSettings
from crofter.resources.billing.meters import meter
from crofter.resources.instances import delete, sweeping
from crofter.resources.instances.store import instance
from tests.drivers.interruptions import interrupting
from tests.drivers.test_libvirt_operations import FakeHosts
from tests.sweep import Machine, instead

from tests.drivers.libvirt_cloud import LibvirtCloud  # isort: skip - once the binding is there

COSTS = query(
    select(meter.c.what).where(meter.c.object_id == bindparam("id"), meter.c.ended.is_(None)).order_by(meter.c.what)
)
HOST = query(select(instance.c.host).where(instance.c.id == bindparam("id")))


@pytest.fixture
def real_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LibvirtCloud]:
    fleet = FakeHosts(tmp_path / "media", monkeypatch)
    with LibvirtCloud(tmp_path / "data", fleet, interrupting(monkeypatch), monkeypatch) as cloud:
        yield cloud


@pytest.fixture
def machine(real_cloud: LibvirtCloud) -> Machine:
    """A running instance with a backup and an image, all on one host."""
    own = Machine(real_cloud, real_cloud.person(username="alice"))
    own.rest("backups", label="one")
    own.rest("shutdown")
    own.rest(f"disks/{own.root}/resize", size=20000)
    own.rest("disks", label="small", size=1000, filesystem="ext4")
    small = own.owner.get(f"{own.path}/disks").json()["data"][-1]["id"]
    answer = own.ask("POST", "/v4/images", disk_id=small, label="golden")
    assert answer.status_code == 200, answer.text
    real_cloud.settle()
    own.rest("boot")
    return own


def host_of(machine: Machine) -> int | None:
    with machine.cloud.runtime.database.read() as db:
        number: int | None = db.value(HOST, id=machine.id)
        return number


def costs(machine: Machine) -> list[str]:
    with machine.cloud.runtime.database.read() as db:
        return db.column(COSTS, id=machine.id)


def seen(machine: Machine) -> str:
    return str(machine.owner.get(machine.path).json()["status"])


def fence(machine: Machine) -> int:
    """The host of the machine burns down, and its operator says so."""
    number = host_of(machine)
    assert number is not None
    assert isinstance(machine.cloud, LibvirtCloud)
    assert isinstance(machine.cloud.hosts, FakeHosts)
    machine.cloud.hosts.fleet.host(number).plugged = False
    host_losses.fence(machine.cloud.runtime, {"id": number, "is_off": True})
    machine.cloud.settle()
    return number


def remove(machine: Machine, number: int, *, lost: bool = False) -> list[dict[str, Any]]:
    rows = host_losses.remove(machine.cloud.runtime, {"id": number, "lost": lost})
    machine.cloud.settle()
    return [dict(row) for row in rows]


def test_instances_of_a_fenced_host_are_off_and_cost_nothing(machine: Machine) -> None:
    assert costs(machine) == ["backup", "compute"]
    number = fence(machine)
    assert (seen(machine), costs(machine)) == ("offline", [])
    latest = machine.owner.get("/v4/account/events").json()["data"][0]
    assert (latest["action"], latest["status"], latest["entity"]["id"]) == (
        "compute_shutdown",
        "notification",
        machine.id,
    )
    assert latest["message"] == "The host of this instance has failed for good."
    host_losses.fence(machine.cloud.runtime, {"id": number, "is_off": True})
    assert machine.owner.get("/v4/account/events").json()["data"][0]["id"] == latest["id"], "it is written once"
    machine.post("ips", type="ipv4", public=True)
    machine.owner.post("/v4/account/settings/managed-enable")
    assert costs(machine) == [], "nothing that it is given costs anything"


def test_an_instance_of_a_fenced_host_can_be_deleted(machine: Machine) -> None:
    fence(machine)
    assert machine.ask("DELETE", machine.path).status_code == 200
    machine.cloud.settle()
    assert machine.owner.get(machine.path).status_code == 404


def test_a_failed_deletion_bills_no_machine_of_a_fenced_host(machine: Machine) -> None:
    def attempt(_: StepContext) -> NoReturn:
        raise Failed("planted failure")

    def fail_to_delete() -> None:
        with instead(machine.cloud, "compute_delete", delete.erase, attempt):
            assert machine.ask("DELETE", machine.path).status_code == 200
            machine.cloud.settle()
        latest = machine.owner.get("/v4/account/events").json()["data"][0]
        assert (latest["action"], latest["status"]) == ("compute_delete", "failed")

    fail_to_delete()
    assert costs(machine) == ["backup", "compute"], "the deletion had ended its costs"
    fence(machine)
    fail_to_delete()
    assert (seen(machine), costs(machine)) == ("offline", []), "the loss of the host had ended its costs"


def test_a_host_is_not_forgotten_while_the_ledger_names_anything_there(machine: Machine) -> None:
    number = fence(machine)
    with pytest.raises(ValueError, match=rf"bk\d+, d\d+, d\d+, d\d+, i-{machine.id}, im\d+; --lost"):
        remove(machine, number)
    assert number in {row["id"] for row in hosts.show(machine.cloud.runtime, {})}


def test_a_lost_host_is_forgotten_with_all_that_was_there(machine: Machine) -> None:
    number = fence(machine)
    assert number not in {row["id"] for row in remove(machine, number, lost=True)}
    assert (seen(machine), host_of(machine), costs(machine)) == ("offline", None, [])
    assert machine.owner.get(f"{machine.path}/disks").json()["data"] == []
    assert machine.owner.get(f"{machine.path}/backups").json()["snapshot"]["current"] is None
    images = machine.owner.get("/v4/images").json()["data"]
    assert [image["label"] for image in images if not image["is_public"]] == []
    actions = [event["action"] for event in machine.owner.get("/v4/account/events").json()["data"]]
    assert actions[:2] == ["image_delete", "compute_shutdown"]
    assert sweeping.compare(machine.cloud.runtime) == sweeping.Report()


def test_an_instance_that_lost_its_host_is_deployed_on_another_one(machine: Machine) -> None:
    number = fence(machine)
    remove(machine, number, lost=True)
    machine.rest("rebuild", image="compute/debian11", root_pass="another-Horse-8-battery")
    assert (seen(machine), costs(machine)) == ("running", ["backup", "compute"])
    assert host_of(machine) not in (None, number)


def test_an_instance_whose_host_is_gone_altogether_can_be_deleted(machine: Machine) -> None:
    with machine.cloud.runtime.database.write() as db:
        db.delete(tables.host, id=host_of(machine))
    assert machine.ask("DELETE", machine.path).status_code == 200
    machine.cloud.settle()
    assert machine.owner.get(machine.path).status_code == 404
    assert machine.owner.get("/v4/account/events").json()["data"][0]["status"] == "finished"


def test_what_a_host_left_that_is_gone_altogether_is_cleared_up(machine: Machine) -> None:
    number = host_of(machine)
    assert number is not None
    with machine.cloud.runtime.database.write() as db:
        db.delete(tables.host, id=number)
    remove(machine, number, lost=True)
    assert (seen(machine), host_of(machine), costs(machine)) == ("offline", None, [])


def test_only_a_host_that_was_declared_dead_is_given_up(machine: Machine) -> None:
    number = host_of(machine)
    assert number is not None
    with pytest.raises(ValueError, match="fence"):
        remove(machine, number, lost=True)
    with pytest.raises(ValueError, match="things are on the host"):
        remove(machine, number)
    with pytest.raises(ValueError, match="there is no host 7"):
        remove(machine, 7, lost=True)
    assert seen(machine) == "running"


def test_no_simulated_host_and_no_storage_is_given_up(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, number = machine.cloud.runtime, host_of(machine)
    assert number is not None
    with pytest.raises(ValueError, match="storage, which is no host"):
        remove(machine, code_of("us-east") * BLOCK, lost=True)
    with runtime.database.write() as db:
        db.delete(tables.host, id=number)
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "settings", replace(runtime.settings, regions={"us-east": RegionSettings("simulated")}))
        with pytest.raises(ValueError, match=f"host {number} is simulated"):
            host_losses.remove(runtime, {"id": number, "lost": True})
    assert (seen(machine), host_of(machine), costs(machine)) == ("running", number, ["backup", "compute"])


def test_a_region_starts_whose_last_host_an_earlier_release_removed(machine: Machine) -> None:
    runtime = machine.cloud.runtime
    numbers = [row["id"] for row in hosts.show(runtime, {})]
    with runtime.database.write() as db:  # it left the ledger as it was, and remembered no drivers
        for number in numbers:
            db.delete(tables.host, id=number)
        db.delete(meta.meta, name=region_drivers.KEY)
        assert region_drivers.things_in(db, "us-east")
    keep_region_drivers(runtime)
    with runtime.database.read() as db:
        assert meta.get(db, region_drivers.KEY)["us-east"] == "libvirt"


def test_a_region_keeps_its_driver_while_anything_is_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = machine.cloud.runtime
    monkeypatch.setattr(runtime, "settings", replace(runtime.settings, driver="simulated"))
    with pytest.raises(DriverError, match=r"region us-east has .* of the driver libvirt, .* the driver simulated"):
        keep_region_drivers(runtime)
    with runtime.database.write() as db:  # as a release left it that remembered no drivers
        db.delete(meta.meta, name=region_drivers.KEY)
    with pytest.raises(DriverError, match="region us-east"):
        keep_region_drivers(runtime)
    assert machine.ask("DELETE", machine.path).status_code == 200
    machine.cloud.settle()
    for image in machine.owner.get("/v4/images").json()["data"]:
        if not image["is_public"]:
            assert machine.ask("DELETE", f"/v4/images/{image['id']}").status_code == 200
    machine.cloud.settle()
    keep_region_drivers(runtime)
