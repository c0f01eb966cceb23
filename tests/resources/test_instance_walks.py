"""Random walks: any requests on instances in any order, with faults."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.resources.instances import sweeping
from tests.cloud import Cloud
from tests.resources.compute import IMAGE, INSTANCES, PASSWORD, disks, events, listed, transitions
from tests.sweep import violations

SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 60))]
TYPES = ("g6-nanode-1", "g6-standard-1", "g6-standard-2", "g5-standard-1", "g5-nanode-1")
REGIONS = ("us-east", "us-west", "us-southeast")
MOST = 5
"""Instances at a time: few, so that they meet often."""


class Walk:
    """A user who sends random requests and stores every response."""

    def __init__(self, cloud: Cloud, seed: int) -> None:
        self.cloud = cloud
        self.rng = random.Random(seed)
        self.owner: Client = cloud.person(public_ips=3)
        self.log: list[str] = []

    def ask(self, method: str, path: str, **body: Any) -> Response:
        answer = self.owner.request(method, path, json=body)
        self.log.append(f"{method} {path} {body} -> {answer.status_code} {answer.text[:200]}")
        assert answer.status_code in (200, 400, 403, 404), "\n".join(self.log[-30:])
        return answer

    def fault(self, kind: str, **more: Any) -> None:
        answer = self.cloud.sandbox.post("/_sandbox/faults", json={"kind": kind, **more})
        self.log.append(f"fault {kind} {more} -> {answer.status_code}")
        assert answer.status_code in (200, 400), answer.text

    def one_of(self, path: str) -> int:
        """The number of something in a list, or of nothing."""
        ids = [item["id"] for item in self.owner.get(path).json().get("data", [])]
        return int(self.rng.choice([*ids, *ids, 999999]))

    @property
    def instance(self) -> str:
        return f"{INSTANCES}/{self.one_of(INSTANCES)}"

    def step(self) -> None:
        self.rng.choice(STEPS)(self)
        if self.rng.random() < 0.7:
            self.cloud.advance(self.rng.choice((0.05, 0.3, 1, 4)))


def _create(walk: Walk) -> None:
    if len(listed(walk.owner, INSTANCES)) >= MOST:
        walk.ask("DELETE", walk.instance)
        return
    rng = walk.rng
    body: dict[str, Any] = {"type": rng.choice(TYPES), "region": rng.choice(REGIONS), "booted": rng.random() < 0.7}
    if rng.random() < 0.8:
        body |= {"image": rng.choice((IMAGE, "compute/alpine3.15")), "root_pass": PASSWORD}
    walk.ask("POST", INSTANCES, **body, backups_enabled=rng.random() < 0.7, private_ip=rng.random() < 0.5)


def _power(walk: Walk) -> None:
    walk.ask("POST", f"{walk.instance}/{walk.rng.choice(('boot', 'reboot', 'shutdown', 'rescue'))}")


def _change(walk: Walk) -> None:
    rng, path = walk.rng, walk.instance
    accidents: tuple[tuple[str, dict[str, Any]], ...] = (
        ("rebuild", {"image": IMAGE, "root_pass": PASSWORD, "booted": rng.random() < 0.5}),
        ("resize", {"type": rng.choice(TYPES), "allow_auto_disk_resize": rng.random() < 0.7}),
        ("mutate", {}),
        ("migrate", {"region": rng.choice(REGIONS)}),
        ("migrate", {"upgrade": rng.random() < 0.2}),
        ("password", {"root_pass": PASSWORD}),
    )
    verb, body = rng.choice(accidents)
    walk.ask("POST", f"{path}/{verb}", **body)


def _clone(walk: Walk) -> None:
    path = walk.instance
    body: dict[str, Any] = {"type": walk.rng.choice(TYPES), "region": walk.rng.choice(REGIONS)}
    if walk.rng.random() < 0.4 or len(listed(walk.owner, INSTANCES)) >= MOST:
        body = {"compute_id": walk.one_of(INSTANCES)}
    walk.ask("POST", f"{path}/clone", **body)


def _disk(walk: Walk) -> None:
    rng, path = walk.rng, f"{walk.instance}/disks"
    disk = f"{path}/{walk.one_of(path)}"
    size = rng.choice((100, 5000, 20000, 25000, 50000))
    accidents: tuple[Callable[[], Response], ...] = (
        lambda: walk.ask("POST", path, label="data", size=size, filesystem=rng.choice(("ext4", "raw", "swap"))),
        lambda: walk.ask("POST", path, size=size, image=IMAGE, root_pass=PASSWORD),
        lambda: walk.ask("POST", f"{disk}/resize", size=size),
        lambda: walk.ask("POST", f"{disk}/clone"),
        lambda: walk.ask("POST", f"{disk}/password", password=PASSWORD),
        lambda: walk.ask("DELETE", disk),
    )
    rng.choice(accidents)()


def _config(walk: Walk) -> None:
    path = walk.instance
    device = {"sda": {"disk_id": walk.one_of(f"{path}/disks")}}
    if walk.rng.random() < 0.6:
        walk.ask("POST", f"{path}/configs", label="more", devices=device)
    else:
        walk.ask("DELETE", f"{path}/configs/{walk.one_of(f'{path}/configs')}")


def _backup(walk: Walk) -> None:
    path = walk.instance
    verb = walk.rng.choice(("", "", "restore", "restore", "/cancel", "/enable"))
    if verb != "restore":
        walk.ask("POST", f"{path}/backups{verb}", **({} if verb else {"label": "now"}))
        return
    kept = walk.owner.get(f"{path}/backups").json()
    backups = [*kept.get("automatic", []), *([kept["snapshot"]["current"]] if "snapshot" in kept else [])]
    number = next((backup["id"] for backup in backups if backup), 999999)
    target = walk.one_of(INSTANCES)
    walk.ask("POST", f"{path}/backups/{number}/restore", compute_id=target, overwrite=walk.rng.random() < 0.6)


def _address(walk: Walk) -> None:
    path = walk.instance
    if walk.rng.random() < 0.5:
        walk.ask("POST", f"{path}/ips", type="ipv4", public=walk.rng.random() < 0.7)
    else:
        shown = walk.owner.get(path).json().get("ipv4") or ["192.0.2.1"]
        walk.ask("DELETE", f"{path}/ips/{walk.rng.choice(shown)}")


def _accident(walk: Walk) -> None:
    rng, own = walk.rng, walk.one_of(INSTANCES)
    accidents: tuple[Callable[[], Any], ...] = (
        lambda: walk.fault("power_off", compute_id=own),
        lambda: walk.fault("host_maintenance", compute_id=own),
        lambda: walk.fault("host_back", compute_id=own),
        lambda: walk.fault("region_outage", region=rng.choice(REGIONS)),
        lambda: walk.fault("region_back", region=rng.choice(REGIONS)),
        lambda: walk.fault("migration_pending", compute_id=own),
        lambda: transitions(walk.cloud, **{rng.choice(FRAGILE): {"fail": "It broke."}}),
        lambda: transitions(walk.cloud),
        lambda: walk.cloud.advance(86400),
    )
    rng.choice(accidents)()


FRAGILE = ("*", "compute_create", "compute_boot", "compute_migrate_datacenter", "compute_resize", "compute_delete")
MOVES = (_power, _change, _clone, _disk, _config, _backup, _address, _accident)
STEPS = (_create, _create, _power, _change, _disk, *MOVES)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.both
def test_a_walk_leaves_nothing_over(cloud: Cloud, seed: int) -> None:
    walk = Walk(cloud, seed)
    cloud.freeze()
    for _ in range(60):
        walk.step()
    assert cloud.sandbox.delete("/_sandbox/faults").status_code == 200
    transitions(cloud)
    cloud.advance(86400)  # failed removals are retried within a day
    cloud.settle()
    log = "\n".join(walk.log)
    assert violations(cloud) == [], log
    assert sweeping.reconcile(cloud.runtime) == sweeping.Report(), log
    assert {event["status"] for event in events(walk.owner)} <= {"finished", "failed", "notification"}, log
    for instance in listed(walk.owner, INSTANCES):
        assert instance["status"] in ("running", "offline"), log
        assert sum(disk["size"] for disk in disks(walk.owner, instance["id"])) <= instance["specs"]["disk"], log
        assert any(not address.startswith("192.168.") for address in instance["ipv4"]), log
        walk.ask("DELETE", f"{INSTANCES}/{instance['id']}")
    cloud.settle()
    inventory = cloud.runtime.hypervisor.list()
    assert (inventory.domains, inventory.disks, inventory.backups) == ((), (), ()), log
