"""Crashes and failures at every step of every job, and what must hold afterwards."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from httpx2 import Client, Response
from msgspec.structs import replace

from crofter.db import query
from crofter.db.sql import select
from crofter.engine import Failed, Operation, Step
from crofter.jobs import Job
from crofter.operations import JOBS
from crofter.resources.images.store import image
from crofter.resources.instances.backups.store import backup
from crofter.resources.instances.disks.store import disk
from crofter.resources.instances.states import AT_REST
from crofter.resources.instances.store import instance
from crofter.resources.volumes.store import volume
from tests.cloud import Cloud

PASSWORD = "Vq7!mmpx-Tolp"
PLANTED = "planted failure"
NEW = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": PASSWORD}
_PLACED = query(select(instance.c.id).where(instance.c.host.is_not(None)).order_by(instance.c.id))
_STATUSES = query(select(instance.c.status))
_DISKS = query(select(disk.c.id).order_by(disk.c.id))
_DISK_STATUSES = query(select(disk.c.status))
_BACKUPS = query(select(backup.c.id).where(backup.c.status == "successful").order_by(backup.c.id))
_VOLUMES = query(select(volume.c.id).order_by(volume.c.id))
_VOLUME_STATUSES = query(select(volume.c.status))
_ATTACHED = query(
    select(volume.c.id, volume.c.instance_id).where(volume.c.instance_id.is_not(None)), lambda *pair: pair
)
_IMAGES = query(select(image.c.id).where(image.c.account_id.is_not(None), image.c.host.is_not(None)))
_IMAGE_STATUSES = query(select(image.c.status))
_SAVED = query(select(backup.c.id).where(backup.c.host.is_not(None)).order_by(backup.c.id))

_OWN_INSTANCE = (
    "EXISTS (SELECT 1 FROM instance WHERE instance.id = {0}.instance_id"
    " AND instance.account_id = {0}.account_id AND instance.region = {0}.region)"
)
_OWN_ADDRESS = (
    "EXISTS (SELECT 1 FROM address WHERE address.address = {0} AND address.region = {1}.region"
    " AND address.account_id = {1}.account_id)"
)
_BELONGING = {
    "addresses without an instance of their account and region": (
        f"SELECT address FROM address WHERE NOT {_OWN_INSTANCE.format('address')}"
    ),
    "ranges without an instance of their account and region": (
        f"SELECT id FROM ipv6_range WHERE NOT {_OWN_INSTANCE.format('ipv6_range')}"
    ),
    "shared addresses that are nobody's of the account": (
        "SELECT shared_address.address FROM shared_address JOIN instance ON instance.id = shared_address.instance_id"
        f" WHERE shared_address.address LIKE '%.%' AND NOT {_OWN_ADDRESS.format('shared_address.address', 'instance')}"
    ),
    "nodes at addresses that are nobody's of the account": (
        "SELECT nodebalancer_node.host FROM nodebalancer_node"
        " JOIN nodebalancer_config ON nodebalancer_config.id = nodebalancer_node.config_id"
        " JOIN nodebalancer ON nodebalancer.id = nodebalancer_config.nodebalancer_id"
        f" WHERE NOT {_OWN_ADDRESS.format('nodebalancer_node.host', 'nodebalancer')}"
    ),
}
"""References that the database does not enforce."""


class Machine:
    """An instance that runs, with a backup, in an account of its own unless it has an owner."""

    image: str
    """An image of its owner, and an address that takes the file of another, where a scenario needs one."""
    upload_to: str

    def __init__(self, cloud: Cloud, owner: Client | None = None) -> None:
        self.cloud = cloud
        self.owner = owner or cloud.person()
        made = self.ask("POST", "/v4/compute/instances", **{**NEW, "type": "g6-standard-1"}, backups_enabled=True)
        self.id = int(made.json()["id"])
        self.path = f"/v4/compute/instances/{self.id}"
        cloud.settle()

    def ask(self, method: str, path: str, **body: Any) -> Response:
        return self.owner.request(method, path, json=body)

    def post(self, verb: str, **body: Any) -> Response:
        return self.ask("POST", f"{self.path}/{verb}", **body)

    def rest(self, verb: str, **body: Any) -> None:
        """Send a request that must succeed, and wait for its work."""
        answer = self.post(verb, **body)
        assert answer.status_code == 200, answer.text
        self.cloud.settle()

    @cached_property
    def root(self) -> int:
        """Return the first disk. Cached, so that a race contains only the tested requests."""
        return int(self.owner.get(f"{self.path}/disks").json()["data"][0]["id"])

    @cached_property
    def volume(self) -> int:
        """Return the machine's volume, attached or not. Cached for the same reason."""
        own = self.owner.get("/v4/volumes", headers={"X-Filter": f'{{"label": "data-{self.id}"}}'})
        return int(own.json()["data"][0]["id"])

    @cached_property
    def snapshot(self) -> int:
        """Return the snapshot. Cached for the same reason."""
        return int(self.owner.get(f"{self.path}/backups").json()["snapshot"]["current"]["id"])


def _new(machine: Machine) -> Response:
    return machine.ask("POST", "/v4/compute/instances", **NEW, booted=False)


def _off(machine: Machine) -> None:
    machine.rest("shutdown")


def _small_disk(machine: Machine) -> None:
    """Space for another disk."""
    _off(machine)
    machine.rest(f"disks/{machine.root}/resize", size=20000)


def _old_plan(machine: Machine) -> None:
    machine.rest("resize", type="g5-standard-1", allow_auto_disk_resize=True)


def _saved(machine: Machine) -> None:
    machine.rest("backups", label="one")
    assert machine.snapshot


def _restore(machine: Machine) -> Response:
    return machine.post(f"backups/{machine.snapshot}/restore", compute_id=machine.id, overwrite=True)


def _volume(machine: Machine, **body: Any) -> Response:
    return machine.ask("POST", "/v4/volumes", label=f"data-{machine.id}", **body)


def _free_volume(machine: Machine) -> None:
    assert _volume(machine, region="us-east").status_code == 200
    machine.cloud.settle()
    assert machine.volume


def _held_volume(machine: Machine) -> None:
    assert _volume(machine, compute_id=machine.id).status_code == 200
    machine.cloud.settle()
    assert machine.volume


def _clone_volume(machine: Machine) -> Response:
    return machine.ask("POST", f"/v4/volumes/{machine.volume}/clone", label=f"copy-{machine.id}")


def _on_volume(verb: str, **body: Any) -> Callable[[Machine], Response]:
    return lambda machine: machine.ask("POST", f"/v4/volumes/{machine.volume}/{verb}", **body)


def _tiny_disk(machine: Machine) -> None:
    """A disk that an image can hold."""
    _off(machine)
    machine.rest(f"disks/{machine.root}/resize", size=6000)


def _image(machine: Machine) -> Response:
    return machine.ask("POST", "/v4/images", disk_id=machine.root)


def _image_is_made(machine: Machine) -> None:
    _tiny_disk(machine)
    machine.image = _image(machine).json()["id"]
    machine.cloud.settle()


def _address_is_given(machine: Machine) -> None:
    asked = machine.ask("POST", "/v4/images/upload", label="sent", region="us-east")
    machine.upload_to = asked.json()["upload_to"]


def fault(machine: Machine, kind: str) -> Response:
    return machine.cloud.sandbox.post("/_sandbox/faults", json={"kind": kind, "compute_id": machine.id})


def _maintenance_is_planned(machine: Machine) -> None:
    assert fault(machine, "maintenance").status_code == 200


def _maintenance_begins(machine: Machine) -> Response:
    return machine.cloud.sandbox.post("/_sandbox/clock/advance", json={"seconds": 86400})


class Scenario(NamedTuple):
    """How a job comes about: what makes it begin, and what must be so before."""

    act: Callable[[Machine], Response]
    before: Callable[[Machine], Any] = lambda machine: None
    works_on: tuple[str, ...] = ("machine",)
    """Whom the job is about: the machine, or what its answer shows as made."""
    named: bool = False
    """True if the body names the object or a part: a missing object is then forbidden instead of absent."""


SCENARIOS: dict[str, Scenario] = {
    "compute_create": Scenario(_new, works_on=("made",)),
    "compute_boot": Scenario(lambda machine: machine.post("boot"), _off),
    "lassie_reboot": Scenario(lambda machine: fault(machine, "power_off")),
    "host_reboot": Scenario(_maintenance_begins, _maintenance_is_planned),
    "compute_reboot": Scenario(lambda machine: machine.post("reboot")),
    "compute_shutdown": Scenario(lambda machine: machine.post("shutdown")),
    "rescue_reboot": Scenario(lambda machine: machine.post("rescue")),
    "rescue_boot": Scenario(lambda machine: machine.post("rescue"), _off),
    "disk_create": Scenario(lambda machine: machine.post("disks", label="data", size=1000), _small_disk),
    "disk_duplicate": Scenario(lambda machine: machine.post(f"disks/{machine.root}/clone"), _small_disk),
    "disk_resize": Scenario(lambda machine: machine.post(f"disks/{machine.root}/resize", size=20000), _off),
    "disk_delete": Scenario(lambda machine: machine.ask("DELETE", f"{machine.path}/disks/{machine.root}"), _off),
    "password_reset": Scenario(lambda machine: machine.post("password", root_pass=PASSWORD), _off),
    "compute_rebuild": Scenario(lambda machine: machine.post("rebuild", image="compute/debian11", root_pass=PASSWORD)),
    "compute_snapshot": Scenario(lambda machine: machine.post("backups", label="now")),
    "backups_restore": Scenario(_restore, _saved),
    "compute_resize": Scenario(lambda machine: machine.post("resize", type="g6-standard-2")),
    "compute_mutate": Scenario(lambda machine: machine.post("mutate"), _old_plan),
    "compute_migrate": Scenario(
        lambda machine: machine.post("migrate"), lambda machine: fault(machine, "migration_pending")
    ),
    "compute_migrate_datacenter": Scenario(lambda machine: machine.post("migrate", region="us-west")),
    "compute_clone": Scenario(
        lambda machine: machine.post("clone", type="g6-standard-1", region="us-west"), works_on=("made", "machine")
    ),
    "volume_create": Scenario(lambda machine: _volume(machine, compute_id=machine.id), works_on=()),
    "volume_clone": Scenario(_clone_volume, _free_volume, works_on=()),
    "volume_resize": Scenario(_on_volume("resize", size=30), _held_volume, works_on=()),
    "volume_delete": Scenario(
        lambda machine: machine.ask("DELETE", f"/v4/volumes/{machine.volume}"), _free_volume, works_on=()
    ),
    "volume_attach": Scenario(
        lambda machine: machine.ask("POST", f"/v4/volumes/{machine.volume}/attach", compute_id=machine.id), _free_volume
    ),
    "volume_detach": Scenario(_on_volume("detach"), _held_volume),
    "disk_imagize": Scenario(_image, _tiny_disk, named=True),
    "image_upload": Scenario(
        lambda machine: machine.owner.put(machine.upload_to, content=gzip.compress(b"system")),
        _address_is_given,
        works_on=(),
    ),
    "image_delete": Scenario(
        lambda machine: machine.ask("DELETE", f"/v4/images/{machine.image}"), _image_is_made, works_on=()
    ),
    "compute_delete": Scenario(lambda machine: machine.ask("DELETE", machine.path)),
}


def run(machine: Machine, kind: str) -> None:
    """Let a job begin."""
    scenario = SCENARIOS[kind]
    scenario.before(machine)
    answer = scenario.act(machine)
    assert answer.status_code == 200, answer.text


def points() -> list[tuple[Job, Step]]:
    """Every step of every job."""
    return [(job, step) for job in JOBS for step in job.operation.steps]


CRASHES = {"crash": 1, "crashes": 2}


class Plant:
    """How often what was planted has gone off."""

    def __init__(self) -> None:
        self.fired = 0


@contextmanager
def planted(cloud: Cloud, kind: str, step: Step, how: str) -> Iterator[Plant]:
    """Plant a fault in a step. ``crash``: once, after its work and before its checkpoint. ``fail``: always.

    ``crashes``: once before its work, and once as above.
    """
    plant = Plant()

    def crash() -> None:
        plant.fired += 1
        raise RuntimeError("the worker died here")

    def attempt(*arguments: Any) -> Any:
        if how == "fail" and not plant.fired:
            plant.fired += 1
            raise Failed(PLANTED)
        if how == "crashes" and not plant.fired:
            crash()
        result = step.run(*arguments)
        if how != "fail" and result is None and plant.fired < CRASHES[how]:
            crash()
        return result

    with instead(cloud, kind, step, attempt):
        yield plant


@contextmanager
def instead(cloud: Cloud, kind: str, step: Step, attempt: Callable[..., Any]) -> Iterator[None]:
    """Replace a step of a job."""
    versions: dict[int, Operation] = cloud.application.worker.operations._versions[kind]
    (version, before), *_ = versions.items()
    steps = tuple(replace(other, run=attempt) if other.name == step.name else other for other in before.steps)
    versions[version] = replace(before, steps=steps)
    try:
        yield
    finally:
        versions[version] = before


def violations(cloud: Cloud) -> list[str]:
    """Return violated invariants of an idle server."""
    runtime = cloud.runtime
    complaints: list[str] = []
    with runtime.database.read() as db:
        statuses = set(db.column(_STATUSES))
        disk_statuses = set(db.column(_DISK_STATUSES))
        volume_statuses, volumes = set(db.column(_VOLUME_STATUSES)), db.column(_VOLUMES)
        attached: set[tuple[int, int]] = set(db.all(_ATTACHED))
        image_statuses, images = set(db.column(_IMAGE_STATUSES)), sorted(db.column(_IMAGES))
        placed, disks, saved = db.column(_PLACED), db.column(_DISKS), db.column(_SAVED)
        for what, wrong in _BELONGING.items():
            if rows := db.raw(wrong).fetchall():
                complaints.append(f"{what}: {rows}")
    if statuses - set(AT_REST):
        complaints.append(f"an instance rests in {sorted(statuses - set(AT_REST))}")
    if disk_statuses - {"ready"}:
        complaints.append(f"a disk rests as {sorted(disk_statuses - {'ready'})}")
    if volume_statuses - {"active"}:
        complaints.append(f"a volume rests as {sorted(volume_statuses - {'active'})}")
    inventory = runtime.hypervisor.list()
    if sorted(ref.id for ref in inventory.volumes) != volumes:
        complaints.append(
            f"volumes: {sorted(ref.id for ref in inventory.volumes)} in storage, {volumes} in the database"
        )
    for ref in inventory.domains:
        seen = runtime.hypervisor.observe(ref)
        named = set(seen.volumes) | set(() if seen.spec is None else seen.spec.volumes)
        if {(number, ref.id) for number in named} - attached:
            complaints.append(
                f"machine {ref.id} has volumes {sorted(named)}, and {sorted(attached)} are in the database"
            )
    if sorted(ref.id for ref in inventory.disks) != disks:
        complaints.append(f"disks: {sorted(ref.id for ref in inventory.disks)} on hosts, {disks} in the database")
    if not {ref.id for ref in inventory.domains} <= set(placed):
        complaints.append(f"machines: {sorted(ref.id for ref in inventory.domains)} on hosts, {placed} in the database")
    if not {ref.id for ref in inventory.backups} <= set(saved):
        complaints.append(f"backups: {sorted(ref.id for ref in inventory.backups)} on hosts, {saved} in the database")
    if "creating" in image_statuses:
        complaints.append("an image is being made for ever")
    if sorted(ref.id for ref in inventory.images) != images:
        complaints.append(f"images: {sorted(ref.id for ref in inventory.images)} on hosts, {images} in the database")
    files = sorted(path.name for path in runtime.uploads.path.iterdir())
    if files:
        complaints.append(f"files: {files} are left of uploads")
    return complaints


def outcome(machine: Machine, action: str) -> tuple[str, str]:
    """Status and message of the latest event of an action."""
    events = machine.owner.get("/v4/account/events", headers={"X-Filter": f'{{"action": "{action}"}}'}).json()["data"]
    return events[0]["status"], events[0]["message"]
