"""The process dies at the steps of operations on real machines, and in the end all is as if it had not."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response

from crofter.context import Context
from crofter.db import Database
from crofter.engine import Step
from crofter.operations import JOBS
from crofter.resources.instances import store as instances
from crofter.resources.instances import sweeping
from crofter.resources.maintenance import rules as maintenance
from tests.drivers.fake_libvirt.harness import filled, write_down
from tests.drivers.fake_libvirt.host import FakeFleet, FakeHost
from tests.drivers.fake_libvirt.machines import FakeDomain, work_on
from tests.drivers.fake_libvirt.module import virt
from tests.drivers.fake_libvirt.storage import File
from tests.drivers.interruptions import MOST, THE_OPERATORS, interrupting
from tests.drivers.real import MEDIA, short_folder, why_not
from tests.sweep import SCENARIOS, Machine, Plant, Scenario, outcome, violations

from crofter.drivers.hypervisor.libvirt import blank, performing, scripts  # isort: skip - once the binding is there
from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor  # isort: skip
from tests.drivers.libvirt_cloud import LibvirtCloud, counting, differences, dying, external_steps, failing, picture  # isort: skip
from tests.drivers.libvirt_fleet import Daemons, import_tiny  # isort: skip

IMAGES = ("alpine3.15", "debian11")
REGIONS = ("us-east", "us-west")
NEW_PASSWORD = "another-Horse-8-battery"
SEEDED = b"; seeded by "
_NETWORK = re.compile("<qemu:commandline>.*</qemu:commandline>")
_IDENTITY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class FakeHosts:
    patience = 60.0

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.fleet = FakeFleet()
        self.media = filled(folder, IMAGES)
        patch.setattr(virt, "open", self.fleet.open)
        patch.setattr(performing, "QUICK", 0.3)  # most jobs are over by then, and nobody has to ask again
        patch.setattr(maintenance, "LASTS", 0)  # it would count as under way for an hour
        patch.setattr(blank, "TOOLS", ("no-such-tool",))
        patch.setattr(scripts, "crypted", lambda password: f"not really crypted: {password}")

    def write_down(self, database: Database) -> None:
        write_down(self.fleet, database, REGIONS)
        for host in self.fleet.hosts.values():
            host.helper = _help

    def picture(self, driver: LibvirtHypervisor) -> Any:
        driver._periodic_work.tidy()
        installation = driver.hosts_client.names.installation

        def anonymous(text: str) -> str:
            return _IDENTITY.sub("identity", text.replace(installation, "installation"))

        files = {
            anonymous(f"{folder}/{name}"): (file.capacity, file.filesystem, file.cut, _content(file))
            for folder, listed in self.fleet.folders.items()
            for name, file in listed.items()
            if not name.startswith(THE_OPERATORS)
        }
        machines = {
            f"{uri.rpartition('/')[2]} {anonymous(domain.name)}": _state(domain, anonymous)
            for uri, host in self.fleet.hosts.items()
            for domain in host.domains.values()
        }
        return {"files": files, "machines": machines}

    def kill(self, machine: Machine) -> None:
        (domain,) = (domain for host in self.fleet.hosts.values() for domain in _of(host, machine.id))
        domain.go_off(virt.VIR_DOMAIN_SHUTOFF_CRASHED)


def _content(file: File) -> bytes:
    """Swap has an identity of its own, which is drawn."""
    return b"swap" if b"SWAPSPACE2" in file.content else file.content


def _of(host: FakeHost, number: int) -> list[FakeDomain]:
    return [domain for domain in host.domains.values() if domain.name.endswith(f"-i-{number}")]


def _state(domain: FakeDomain, anonymous: Callable[[str], str]) -> Any:
    """A machine that is off may have its network in its definition or not: it is defined anew to be started."""
    drives = None if domain.running is None else [(name, anonymous(file)) for name, file in domain.drives()]
    defined = _NETWORK.sub("", anonymous(domain.described)) if domain.running is None else anonymous(domain.described)
    return defined, drives, domain.now[0], domain.copying, domain.frozen


def _help(subject: File, script: str) -> str:
    """A disk is seeded with the same as often as its script is done; without what is drawn anew each time."""
    if "open_root" not in script:
        return work_on(subject, script)
    lasting = "\n".join(line for line in script.splitlines() if "meta-data" not in line)
    subject.content = subject.content.partition(SEEDED)[0] + SEEDED + lasting.encode()
    subject.filesystem = subject.capacity
    return "rc=0\n"


# orders


def _power_is_lost(machine: Machine) -> Response:
    """The watchdog has noticed as soon as there is an event."""
    cloud = machine.cloud
    assert isinstance(cloud, LibvirtCloud)
    assert isinstance(cloud.hosts, FakeHosts)
    cloud.hosts.kill(machine)
    return _begun_by_itself(machine, "lassie_reboot")


def _maintenance_is_due(machine: Machine) -> Response:
    """Schedule a maintenance that is due now: the clock of real machines cannot be advanced."""
    with machine.cloud.runtime.database.write() as db:
        ctx = Context(machine.cloud.runtime, db)
        maintenance.schedule(ctx, instances.get_unscoped(ctx, machine.id), "reboot", ctx.now, "New kernel")
    return _begun_by_itself(machine, "host_reboot")


def _begun_by_itself(machine: Machine, action: str) -> Response:
    cloud = machine.cloud
    assert isinstance(cloud, LibvirtCloud)
    ends = time.monotonic() + cloud.hosts.patience
    while True:
        answer = machine.owner.get("/v4/account/events")
        if any(event["action"] == action for event in answer.json()["data"]):
            return answer
        assert time.monotonic() < ends, f"there is no {action}"
        cloud.pause()


DONE: dict[str, Scenario] = {
    **SCENARIOS,
    "password_reset": Scenario(
        lambda machine: machine.post("password", root_pass="another-Horse-8-battery"),
        SCENARIOS["password_reset"].before,
    ),
    "lassie_reboot": Scenario(_power_is_lost),
    "host_reboot": Scenario(_maintenance_is_due),
}
SLICE = (
    ("compute_rebuild", "make_disks", 9),
    ("compute_migrate_datacenter", "move", 9),
    ("compute_clone", "define_if_new", 1),
)


class Trial:
    """A series of operations, each in a cloud of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch, self._numbers = folder, patch, count(1)

    def uninterrupted(self, kind: str) -> tuple[dict[str, Any], dict[str, int]]:
        """How it ends, and how many calls the jobs of each step make."""
        counts: dict[str, int] = {}
        with self._cloud() as cloud, ExitStack() as counted:
            machine = _ready(cloud, kind)
            for step in external_steps(kind):
                counted.enter_context(counting(cloud, kind, step, counts))
            return _done(machine, kind), counts

    def dying(self, kind: str, step: Step, at: int) -> dict[str, Any]:
        with self._cloud() as cloud:
            machine = _ready(cloud, kind)
            with dying(cloud, kind, step, at) as plant:
                ended = _done(machine, kind)
            assert plant.fired, "the step never ran"
            return ended

    def failing(self, kind: str, step: Step, at: int) -> None:
        """Done or failed, it leaves nothing that its owner cannot delete."""
        with self._cloud() as cloud:
            machine = _ready(cloud, kind)
            with failing(cloud, kind, step, at):
                _done(machine, kind)
            _remove_all(machine)
            assert cloud.hosts.picture(cloud.driver) == {"files": {}, "machines": {}}

    def _cloud(self) -> LibvirtCloud:
        folder = self._folder / str(next(self._numbers))
        hosts = FakeHosts(folder / "media", self._patch)
        return LibvirtCloud(folder / "data", hosts, interrupting(self._patch), self._patch)


def _ready(cloud: LibvirtCloud, kind: str) -> Machine:
    machine = Machine(cloud, cloud.person(username="alice"))
    DONE[kind].before(machine)
    return machine


def _done(machine: Machine, kind: str) -> dict[str, Any]:
    """The operation is done, nothing is left over, and this is how all looks then."""
    cloud = machine.cloud
    assert isinstance(cloud, LibvirtCloud)
    answer = DONE[kind].act(machine)
    assert answer.status_code == 200, answer.text
    cloud.settle()
    seen = picture(machine, cloud.hosts, cloud.driver)
    assert violations(cloud) == []
    assert sweeping.compare(cloud.runtime) == sweeping.Report()
    return seen


def _remove_all(machine: Machine) -> None:
    for kind in ("compute/instances", "volumes", "images"):
        for thing in machine.owner.get(f"/v4/{kind}?page_size=500").json()["data"]:
            if not thing.get("is_public"):
                answer = machine.ask("DELETE", f"/v4/{kind}/{thing['id']}")
                assert answer.status_code == 200, answer.text
        machine.cloud.settle()


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return Trial(tmp_path, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("kind", DONE)
def test_a_process_dies_at_every_step(trial: Trial, kind: str) -> None:
    expected, counts = trial.uninterrupted(kind)
    for step in external_steps(kind):
        if step.name in counts:  # some are passed over, such as the restart of what was off
            for at in sorted({1, counts[step.name] // 2 + 1, MOST}):
                seen = trial.dying(kind, step, at)
                assert differences(seen, expected) == [], f"after a death at call {at} of {step.name}"


@pytest.mark.soak
@pytest.mark.parametrize("kind", DONE)
def test_a_call_fails_at_every_step(trial: Trial, kind: str) -> None:
    _, counts = trial.uninterrupted(kind)
    for step in external_steps(kind):
        last = counts.get(step.name, 0)
        for at in sorted({min(1, last), (last + 1) // 2, last} - {0}):
            try:
                trial.failing(kind, step, at)
            except AssertionError as error:
                raise AssertionError(f"after a failure at call {at} of {step.name}") from error


@pytest.mark.parametrize(("kind", "name", "at"), SLICE)
def test_a_process_dies_at_a_step(trial: Trial, kind: str, name: str, at: int) -> None:
    expected, counts = trial.uninterrupted(kind)
    assert counts[name] >= at
    step = next(step for step in external_steps(kind) if step.name == name)
    assert differences(trial.dying(kind, step, at), expected) == []


def test_work_that_is_not_begun_again_is_seen_here(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that takes the work of the dead for done."""
    kind, step = "compute_shutdown", external_steps("compute_shutdown")[0]
    expected, _ = trial.uninterrupted(kind)
    performer: Any = performing.Performer
    monkeypatch.setattr(performer, "_taken_over", lambda self, ledger, task, begun: (None, False))
    try:
        seen = trial.dying(kind, step, 2)
    except AssertionError:
        return
    assert differences(seen, expected)


# ---- on real hosts ---------------------------------------------------------------------------------------------------

CHAIN = (
    ("compute_snapshot", "save"),
    ("compute_shutdown", "power_off"),
    ("compute_boot", "power_on"),
    ("volume_attach", "plug"),
    ("volume_detach", "unplug"),
    ("compute_resize", "grow"),
    ("compute_rebuild", "seed_root"),
    ("backups_restore", "make_disks"),
    ("compute_clone", "make_disks"),
    ("compute_migrate_datacenter", "move"),
    ("compute_delete", "erase"),
)
"""The life of an instance with a step of each operation, after its creation."""


class RealHosts:
    media, patience = MEDIA, 600.0

    def __init__(self, daemons: Daemons) -> None:
        self.daemons = daemons

    def write_down(self, database: Database) -> None:
        self.daemons.write_down(database)

    def picture(self, driver: LibvirtHypervisor) -> Any:
        driver._periodic_work.tidy()
        return sorted(self.daemons.left())


@pytest.mark.soak
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.parametrize("at", [1, 4, MOST])
def test_a_process_dies_over_real_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    for image in IMAGES:
        import_tiny(MEDIA, image)
    daemons = Daemons(short_folder(), REGIONS, 1)
    try:
        with LibvirtCloud(tmp_path, RealHosts(daemons), interrupting(monkeypatch), monkeypatch) as cloud:
            with _dying_at(cloud, "compute_create", "make_disks", at) as plant:
                machine = Machine(cloud)
            assert plant.fired
            for kind, name in CHAIN:
                _die_in_chain(machine, kind, name, at)
            _remove_all(machine)
            assert cloud.hosts.picture(cloud.driver) == []
    finally:
        daemons.stop()


def _dying_at(cloud: LibvirtCloud, kind: str, name: str, at: int) -> AbstractContextManager[Plant]:
    return dying(cloud, kind, next(step for step in external_steps(kind) if step.name == name), at)


def _die_in_chain(machine: Machine, kind: str, name: str, at: int) -> None:
    cloud = machine.cloud
    assert isinstance(cloud, LibvirtCloud)
    if kind == "volume_attach":
        DONE[kind].before(machine)
    with _dying_at(cloud, kind, name, at) as plant:
        _done(machine, kind)
    assert plant.fired, f"{name} of {kind} never ran"
    action = next(job.action for job in JOBS if job.operation.kind == kind)
    assert outcome(machine, action)[0] in ("finished", "notification"), f"{kind}: {outcome(machine, action)}"
    print(kind, "at call", at, "of", name, flush=True)
