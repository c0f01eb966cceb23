"""A whole cloud on the libvirt driver, whose process may die at any step of an operation, and another one goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pytest

from crofter.db import Database, query
from crofter.db.sql import bindparam, update
from crofter.engine import Step, queue
from crofter.engine.queue import TOPIC, Fenced
from crofter.engine.step_context import StepContext
from crofter.engine.tables import operation
from crofter.operations import JOBS
from tests.cloud import Cloud
from tests.drivers.interruptions import MOST, Interrupter
from tests.sweep import Machine, Plant, instead

from crofter.drivers.hypervisor.libvirt import first_host, tables  # isort: skip - once the binding is there
from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor  # isort: skip

LOOK_AGAIN = 0.02
_TAKEN_BACK = query(
    update(operation)
    .where(operation.c.id == bindparam("op_id"), operation.c.epoch == bindparam("held_epoch"))
    .values(state="waiting", due=0, owner=None, epoch=operation.c.epoch + 1, crashes=operation.c.crashes + 1)
)
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


class HostsOfATest(Protocol):
    media: Path
    patience: float
    """Real seconds within which any operation ends."""

    def write_down(self, database: Database) -> None: ...
    def picture(self, driver: LibvirtHypervisor) -> Any:
        """Return all objects on the hosts, in a form that is equal after equal work."""


class LibvirtCloud(Cloud):
    """Its time is real: what is under way is waited for."""

    def __init__(self, folder: Path, hosts: HostsOfATest, interrupter: Interrupter, patch: pytest.MonkeyPatch) -> None:
        self.hosts, self.interrupter = hosts, interrupter
        patch.setattr(first_host, "add", lambda database, *_, **__: hosts.write_down(database))
        super().__init__(data=str(folder), driver="libvirt", media=str(hosts.media), disguised=None)

    @property
    def driver(self) -> LibvirtHypervisor:
        driver = self.runtime.hypervisor
        assert isinstance(driver, LibvirtHypervisor)
        return driver

    def __enter__(self) -> LibvirtCloud:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pause(self) -> None:
        time.sleep(LOOK_AGAIN)

    def settle(self) -> int:
        ends = time.monotonic() + self.hosts.patience
        while self._unsettled():
            assert time.monotonic() < ends, "something never ends"
            self.pause()
        return 0

    def _unsettled(self) -> bool:
        with self.runtime.database.read() as db:
            return queue.unsettled(db, self.runtime.clock.now())

    def die(self, work: StepContext) -> NoReturn:
        """Jobs of this process do nothing more; its operation is for the next one, which has a driver of its own."""
        performer = self.driver._performer
        performer._closing = True  # no sign of life is given any more
        with performer._lock:
            self.interrupter.kill(performer._threads.values())
        self.interrupter.disarm()
        self.runtime.hypervisor = LibvirtHypervisor(self.runtime.database, self.runtime.clock, self.hosts.media)
        with self.runtime.database.write() as db:
            db.update(tables.job, {"owner": performer.owner}, beat=0)
            db.run(_TAKEN_BACK, op_id=work.id, held_epoch=work.epoch)
            db.signal(TOPIC)
        raise Fenced


@contextmanager
def dying(cloud: LibvirtCloud, kind: str, step: Step, at: int) -> Iterator[Plant]:
    """The process dies once over the step: at this call of its jobs, or when all is done and not written down."""
    plant, armed = Plant(), False

    def attempt(work: StepContext) -> Any:
        nonlocal armed
        if plant.fired:
            return step.run(work)
        if not armed:
            cloud.interrupter.arm(at, "dies")
            armed = True
        result = None if cloud.interrupter.has_happened else step.run(work)
        if result is None or cloud.interrupter.has_happened:
            plant.fired += 1
            cloud.die(work)
        return result

    with instead(cloud, kind, step, attempt):
        yield plant


@contextmanager
def failing(cloud: LibvirtCloud, kind: str, step: Step, at: int) -> Iterator[None]:
    """This call of the jobs of a step fails, once."""
    armed = False

    def attempt(work: StepContext) -> Any:
        nonlocal armed
        if not armed:
            cloud.interrupter.arm(at, "fails")
            armed = True
        return step.run(work)

    with instead(cloud, kind, step, attempt):
        yield
        assert cloud.interrupter.has_happened, f"{step.name} makes no call {at}"
        cloud.interrupter.disarm()


@contextmanager
def counting(cloud: LibvirtCloud, kind: str, step: Step, counts: dict[str, int]) -> Iterator[None]:
    """How many calls the jobs of a step make."""

    def attempt(work: StepContext) -> Any:
        if step.name not in counts:
            cloud.interrupter.arm(MOST, "dies")
        result = step.run(work)
        counts[step.name] = len(cloud.interrupter.calls)
        return result

    with instead(cloud, kind, step, attempt):
        yield


def external_steps(kind: str) -> list[Step]:
    """Return the steps that act on hosts. Other steps only write rows, which a crash rolls back."""
    job = next(job for job in JOBS if job.operation.kind == kind)
    return [step for step in job.operation.steps if step.external]


def picture(machine: Machine, hosts: HostsOfATest, driver: LibvirtHypervisor) -> dict[str, Any]:
    """Return the state that the owner and the hosts show, without times."""
    seen: dict[str, Any] = {"hosts": hosts.picture(driver)}
    for path in ("compute/instances", "volumes", "images?page_size=500", "networking/ips", "account/events"):
        data = machine.owner.get(f"/v4/{path}").json()["data"]
        seen[path] = [_comparable(entry) for entry in data if not entry.get("is_public")]
        if path == "compute/instances":
            for own in data:
                for part in ("disks", "configs", "backups"):
                    answer = machine.owner.get(f"/v4/compute/instances/{own['id']}/{part}").json()
                    seen[f"{own['id']}/{part}"] = _comparable(answer)
    return seen


def _comparable(value: Any) -> Any:
    """Without moments, and without how long something took."""
    if isinstance(value, dict):
        return {name: _comparable(part) for name, part in value.items() if name not in ("duration", "rate")}
    if isinstance(value, list):
        return [_comparable(part) for part in value]
    return _TIMES.sub("then", value) if isinstance(value, str) else value


def differences(seen: Any, expected: Any, where: str = "") -> list[str]:
    """Return the differences by position."""
    if isinstance(seen, dict) and isinstance(expected, dict):
        names: list[Any] = sorted(seen.keys() | expected.keys())
        pairs = [(name, seen.get(name), expected.get(name)) for name in names]
    elif isinstance(seen, list | tuple) and isinstance(expected, list | tuple) and len(seen) == len(expected):
        pairs = list(zip(range(len(seen)), seen, expected, strict=True))
    else:
        return [] if seen == expected else [f"{where}: {seen!r}, not {expected!r}"]
    return [line for place, here, there in pairs for line in differences(here, there, f"{where}/{place}")]
