"""Crashes and failures at every step of every job of an instance, and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from httpx2 import Client, Response
from msgspec.structs import replace
from sqlalchemy import select

from crofter.db import query
from crofter.engine import Failed, Operation, Step
from crofter.resources.instances import jobs
from crofter.resources.instances.backups.store import backup
from crofter.resources.instances.disks.store import disk
from crofter.resources.instances.states import AT_REST, Job
from crofter.resources.instances.store import instance
from tests.cloud import Cloud

PASSWORD = "Vq7!mmpx-Tolp"
PLANTED = "planted failure"
_PLACED = query(select(instance.c.id).where(instance.c.host.is_not(None)).order_by(instance.c.id))
_STATUSES = query(select(instance.c.status))
_DISKS = query(select(disk.c.id).order_by(disk.c.id))
_DISK_STATUSES = query(select(disk.c.status))
_BACKUPS = query(select(backup.c.id).where(backup.c.status == "successful").order_by(backup.c.id))
_SAVED = query(select(backup.c.id).where(backup.c.host.is_not(None)).order_by(backup.c.id))


class Machine:
    """An instance that runs, with a backup, in an account of its own."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.owner: Client = cloud.person()
        body = {"type": "g6-standard-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": PASSWORD}
        self.id = int(self.call("POST", "/v4/compute/instances", **body, backups_enabled=True).json()["id"])
        self.path = f"/v4/compute/instances/{self.id}"
        cloud.settle()

    def call(self, method: str, path: str, **body: Any) -> Response:
        answer = self.owner.request(method, path, json=body)
        assert answer.status_code == 200, f"{method} {path}: {answer.text}"
        return answer

    def do(self, verb: str, **body: Any) -> Response:
        return self.call("POST", f"{self.path}/{verb}", **body)

    def rest(self, verb: str, **body: Any) -> None:
        self.do(verb, **body)
        self.cloud.settle()

    @property
    def root(self) -> int:
        return int(self.owner.get(f"{self.path}/disks").json()["data"][0]["id"])


def _create(machine: Machine) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": PASSWORD}
    machine.call("POST", "/v4/compute/instances", **body, booted=False)


def _restore(machine: Machine) -> None:
    machine.rest("backups", label="one")
    number = machine.owner.get(f"{machine.path}/backups").json()["snapshot"]["current"]["id"]
    machine.do(f"backups/{number}/restore", compute_id=machine.id, overwrite=True)


def _mutate(machine: Machine) -> None:
    machine.rest("resize", type="g5-standard-1", allow_auto_disk_resize=True)
    machine.do("mutate")


def _off(machine: Machine) -> None:
    machine.rest("shutdown")


def _fault(machine: Machine, kind: str, **more: Any) -> None:
    answer = machine.cloud.door.post("/_sandbox/faults", json={"kind": kind, "compute_id": machine.id, **more})
    assert answer.status_code == 200, answer.text


def _after(*first: Callable[[Machine], None], then: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    def scenario(machine: Machine) -> None:
        for one in first:
            one(machine)
        then(machine)

    return scenario


def _small_disk(machine: Machine) -> None:
    """Room for another disk."""
    _off(machine)
    machine.rest(f"disks/{machine.root}/resize", size=20000)


def _maintained(machine: Machine) -> None:
    _fault(machine, "maintenance")
    machine.cloud.advance(86400)


SCENARIOS: dict[str, Callable[[Machine], Any]] = {
    "compute_create": _create,
    "compute_boot": _after(_off, then=lambda machine: machine.do("boot")),
    "lassie_reboot": lambda machine: _fault(machine, "power_off"),
    "host_reboot": _maintained,
    "compute_reboot": lambda machine: machine.do("reboot"),
    "compute_shutdown": lambda machine: machine.do("shutdown"),
    "rescue_reboot": lambda machine: machine.do("rescue"),
    "rescue_boot": _after(_off, then=lambda machine: machine.do("rescue")),
    "disk_create": _after(_small_disk, then=lambda machine: machine.do("disks", label="data", size=1000)),
    "disk_duplicate": _after(_small_disk, then=lambda machine: machine.do(f"disks/{machine.root}/clone")),
    "disk_resize": _after(_off, then=lambda machine: machine.do(f"disks/{machine.root}/resize", size=20000)),
    "disk_delete": _after(_off, then=lambda machine: machine.call("DELETE", f"{machine.path}/disks/{machine.root}")),
    "password_reset": _after(_off, then=lambda machine: machine.do("password", root_pass=PASSWORD)),
    "compute_rebuild": lambda machine: machine.do("rebuild", image="compute/debian11", root_pass=PASSWORD),
    "compute_snapshot": lambda machine: machine.do("backups", label="now"),
    "backups_restore": _restore,
    "compute_resize": lambda machine: machine.do("resize", type="g6-standard-2"),
    "compute_mutate": _mutate,
    "compute_migrate": _after(
        lambda machine: _fault(machine, "migration_pending"), then=lambda machine: machine.do("migrate")
    ),
    "compute_migrate_datacenter": lambda machine: machine.do("migrate", region="us-west"),
    "compute_clone": lambda machine: machine.do("clone", type="g6-standard-1", region="us-west"),
    "compute_delete": lambda machine: machine.call("DELETE", machine.path),
}


def points() -> list[tuple[Job, Step]]:
    """Every step of every job."""
    return [(job, step) for job in jobs.JOBS for step in job.operation.steps]


class Plant:
    """Whether what was planted has gone off."""

    def __init__(self) -> None:
        self.fired = 0


@contextmanager
def planted(cloud: Cloud, kind: str, step: Step, how: str) -> Iterator[Plant]:
    """``crash``: once, after the step did its work and before anybody wrote that down. ``fail``: it cannot work."""
    versions: dict[int, Operation] = cloud.house.worker.book._versions[kind]
    (version, before), *_ = versions.items()
    plant = Plant()

    def run(*arguments: Any) -> Any:
        if how == "fail" and not plant.fired:
            plant.fired += 1
            raise Failed(PLANTED)
        result = step.run(*arguments)
        if how == "crash" and result is None and not plant.fired:
            plant.fired += 1
            raise RuntimeError("the worker died here")
        return result

    steps = tuple(replace(one, run=run) if one.name == step.name else one for one in before.steps)
    versions[version] = replace(before, steps=steps)
    try:
        yield plant
    finally:
        versions[version] = before


def violations(cloud: Cloud) -> list[str]:
    """What must hold whenever nothing is under way, and does not."""
    world = cloud.world
    found: list[str] = []
    with world.database.read() as db:
        statuses = set(db.column(_STATUSES))
        disk_statuses = set(db.column(_DISK_STATUSES))
        placed, disks, saved = db.column(_PLACED), db.column(_DISKS), db.column(_SAVED)
    if statuses - set(AT_REST):
        found.append(f"an instance rests in {sorted(statuses - set(AT_REST))}")
    if disk_statuses - {"ready"}:
        found.append(f"a disk rests as {sorted(disk_statuses - {'ready'})}")
    inventory = world.services["hypervisor"].list()
    if sorted(ref.id for ref in inventory.disks) != disks:
        found.append(f"disks: {sorted(ref.id for ref in inventory.disks)} on hosts, {disks} in the books")
    if not {ref.id for ref in inventory.domains} <= set(placed):
        found.append(f"machines: {sorted(ref.id for ref in inventory.domains)} on hosts, {placed} in the books")
    if not {ref.id for ref in inventory.backups} <= set(saved):
        found.append(f"backups: {sorted(ref.id for ref in inventory.backups)} on hosts, {saved} in the books")
    return found


def outcome(machine: Machine, action: str) -> tuple[str, str]:
    """Status and message of the latest event of an action."""
    events = machine.owner.get("/v4/account/events", headers={"X-Filter": f'{{"action": "{action}"}}'}).json()["data"]
    return events[0]["status"], events[0]["message"]
