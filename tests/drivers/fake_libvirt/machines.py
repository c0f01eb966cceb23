"""Machines of the fake libvirt, with guests that obey immediately."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.fake_libvirt.storage import File

if TYPE_CHECKING:
    from tests.drivers.fake_libvirt.host import Connection, FakeHost

MB = 1 << 20
SECOND = 10**9


class FakeDomain:
    """A machine by name. Connections return references to it."""

    def __init__(self, host: FakeHost, described: str) -> None:
        self.host = host
        self.described = described
        self.name = ElementTree.fromstring(described).findtext("name") or ""
        self.running: ElementTree.Element | None = None
        """Definition of the running machine."""
        self.now = (virt.VIR_DOMAIN_SHUTOFF, virt.VIR_DOMAIN_SHUTOFF_UNKNOWN)
        self.frozen = False
        self.deaf = False
        """True if the guest ignores the power button."""
        self.copying = virt.VIR_DOMAIN_JOB_NONE
        self.stays = False
        """True if a copy runs until it is aborted."""
        self.forgets = False
        """True if the result of the last copy is unknown because another has begun."""
        self.processor = 0
        self.stats: dict[str, int] = {}
        """Additional counters of the host."""

    def start(self, *, paused: bool = False) -> None:
        if self.running is not None:
            raise Fault("OPERATION_INVALID", "domain is already running")
        self.must_have_its_networks()
        self.running = ElementTree.fromstring(self.described)
        self.processor = 0
        self.now = (virt.VIR_DOMAIN_PAUSED, virt.VIR_DOMAIN_PAUSED_STARTING_UP)
        self.host.reached("starting", self.name)
        if self.running is None:
            raise Fault("INTERNAL_ERROR", "qemu unexpectedly closed the monitor")
        running, why = virt.VIR_DOMAIN_RUNNING, virt.VIR_DOMAIN_RUNNING_BOOTED
        self.now = (virt.VIR_DOMAIN_PAUSED, virt.VIR_DOMAIN_PAUSED_USER) if paused else (running, why)

    def must_have_its_networks(self) -> None:
        for source in ElementTree.fromstring(self.described).iterfind("devices/interface[@type='network']/source"):
            network = self.host.networks.get(source.get("network", ""))
            if network is None or not network.on:
                raise Fault("OPERATION_INVALID", "its network is not active")

    def tags(self) -> list[str]:
        """Return the tags of the cards of a running machine."""
        assert self.running is not None
        return [tag.get("id", "") for tag in self.running.iterfind("devices/interface/vlan/tag")]

    def go_off(self, why: int) -> None:
        self.running, self.frozen, self.copying = None, False, virt.VIR_DOMAIN_JOB_NONE
        self.now = (virt.VIR_DOMAIN_SHUTOFF, why)

    def drives(self) -> list[tuple[str, str]]:
        assert self.running is not None
        return [(_target(disk), _file(disk)) for disk in self.running.findall("./devices/disk")]


def _target(disk: ElementTree.Element) -> str:
    element = disk.find("target")
    return "" if element is None else element.get("dev", "")


def _file(disk: ElementTree.Element) -> str:
    element = disk.find("source")
    return "" if element is None else element.get("file", "")


class DomainRef:
    def __init__(self, connection: Connection, domain: FakeDomain) -> None:
        self._connection, self._domain, self._host = connection, domain, domain.host

    def _call(self, call: str) -> FakeDomain:
        self._host.reached(call, self._domain.name)
        if self._host.domains.get(self._domain.name) is not self._domain:
            raise Fault("NO_DOMAIN", self._domain.name)
        return self._domain

    def _on(self, call: str) -> FakeDomain:
        domain = self._call(call)
        if domain.running is None:
            raise Fault("OPERATION_INVALID", "domain is not running")
        return domain

    def connect(self) -> Connection:
        return self._connection

    def name(self) -> str:
        return self._domain.name

    def isActive(self) -> bool:  # noqa: N802 - libvirt's names, here and below
        return self._call("isActive").running is not None

    def state(self) -> tuple[int, int]:
        return self._call("state").now

    def create(self) -> None:
        self._call("create").start()

    def createWithFlags(self, flags: int) -> None:  # noqa: N802
        self._call("createWithFlags").start(paused=bool(flags & virt.VIR_DOMAIN_START_PAUSED))

    def resume(self) -> None:
        self._on("resume").now = (virt.VIR_DOMAIN_RUNNING, virt.VIR_DOMAIN_RUNNING_UNPAUSED)

    def shutdown(self) -> None:
        domain = self._on("shutdown")
        if not domain.deaf:
            domain.go_off(virt.VIR_DOMAIN_SHUTOFF_SHUTDOWN)
        self._host.reached("after shutdown", domain.name)

    def destroy(self) -> None:
        self._on("destroy").go_off(virt.VIR_DOMAIN_SHUTOFF_DESTROYED)

    def undefineFlags(self, _flags: int) -> None:  # noqa: N802
        del self._host.domains[self._call("undefineFlags").name]

    def XMLDesc(self, _flags: int) -> str:  # noqa: N802
        domain = self._call("XMLDesc")
        return domain.described if domain.running is None else ElementTree.tostring(domain.running, "unicode")

    # ---- drives -----------------------------------------------------------------------------------------------------

    def attachDeviceFlags(self, described: str, _flags: int) -> None:  # noqa: N802
        domain = self._on("attachDeviceFlags")
        assert domain.running is not None
        devices = domain.running.find("devices")
        assert devices is not None
        devices.append(ElementTree.fromstring(described))

    def detachDeviceFlags(self, described: str, _flags: int) -> None:  # noqa: N802
        domain, leaving = self._on("detachDeviceFlags"), _file(ElementTree.fromstring(described))
        assert domain.running is not None
        devices = domain.running.find("devices")
        assert devices is not None
        for disk in devices.findall("disk"):
            if _file(disk) == leaving:
                devices.remove(disk)

    def blockResize(self, target: str, size: int, _flags: int) -> None:  # noqa: N802
        path = dict(self._on("blockResize").drives())[target]
        self._host.fleet.file(path).capacity = size

    # ---- copies of a running machine --------------------------------------------------------------------------------

    def fsFreeze(self) -> None:  # noqa: N802
        domain = self._on("fsFreeze")
        if domain.frozen:
            raise Fault("AGENT_COMMAND_FAILED", "the guest is frozen already")
        domain.frozen = True
        self._host.reached("after fsFreeze", domain.name)

    def fsThaw(self) -> None:  # noqa: N802
        self._on("fsThaw").frozen = False

    def backupBegin(self, described: str, _checkpoint: Any) -> None:  # noqa: N802
        domain = self._on("backupBegin")
        if domain.copying != virt.VIR_DOMAIN_JOB_NONE:
            raise Fault("OPERATION_INVALID", "another backup job is active")
        files = dict(domain.drives())
        for disk in ElementTree.fromstring(described).findall("./disks/disk"):
            element = disk.find("target")
            if element is not None:
                folder, _, name = element.get("file", "").rpartition("/")
                kept = self._host.fleet.folders.setdefault(folder, {})
                if name in kept:
                    raise Fault("OPERATION_FAILED", f"{name} is there already")
                kept[name] = self._host.fleet.file(files[disk.get("name", "")]).copy()
        domain.copying = virt.VIR_DOMAIN_JOB_UNBOUNDED

    def jobInfo(self) -> list[int]:  # noqa: N802
        domain = self._on("jobInfo")
        now = domain.copying
        if not domain.stays:
            domain.copying = virt.VIR_DOMAIN_JOB_NONE
        return [now]

    def jobStats(self, _flags: int = 0) -> dict[str, Any]:  # noqa: N802
        if self._call("jobStats").forgets:
            return {"type": virt.VIR_DOMAIN_JOB_NONE}
        return {"type": virt.VIR_DOMAIN_JOB_COMPLETED, "operation": virt.VIR_DOMAIN_JOB_OPERATION_BACKUP}

    def abortJob(self) -> None:  # noqa: N802
        domain = self._on("abortJob")
        if domain.copying == virt.VIR_DOMAIN_JOB_NONE:
            raise Fault("OPERATION_INVALID", "no job is active")
        domain.copying, domain.stays = virt.VIR_DOMAIN_JOB_NONE, False

    # ---- to another host --------------------------------------------------------------------------------------------

    def migrate3(self, there: Connection, parameters: dict[str, Any], flags: int) -> DomainRef:
        """Migrate in a single call. The machine waits on the target until the end, and lookups are refused."""
        domain, target = self._on("migrate3"), there.host
        if domain.copying != virt.VIR_DOMAIN_JOB_NONE:
            raise Fault("OPERATION_INVALID", "another job is active")
        target.reached("incoming", domain.name)
        coming = FakeDomain(target, parameters[virt.VIR_MIGRATE_PARAM_DEST_XML])
        if target.domains.get(coming.name, coming).running is not None:
            raise Fault("OPERATION_INVALID", "domain is already active")
        coming.must_have_its_networks()
        coming.running = ElementTree.fromstring(coming.described)
        coming.now = (virt.VIR_DOMAIN_PAUSED, virt.VIR_DOMAIN_PAUSED_MIGRATION)
        pairs = self._copied(domain, coming, parameters)
        before, target.domains[coming.name] = target.domains.get(coming.name), coming
        domain.copying, domain.stays = virt.VIR_DOMAIN_JOB_UNBOUNDED, True
        try:
            self._host.reached("migrating", domain.name)
            if domain.running is None or domain.copying == virt.VIR_DOMAIN_JOB_NONE:
                raise Fault("OPERATION_ABORTED", "migration was canceled")
            for here, copy in pairs:
                copy.content, copy.filesystem = here.content, here.filesystem
        except BaseException:
            target.domains.pop(coming.name)
            if before is not None:
                target.domains[coming.name] = before
            raise
        finally:
            domain.copying, domain.stays = virt.VIR_DOMAIN_JOB_NONE, False
        coming.described = domain.described
        if domain.now[0] == virt.VIR_DOMAIN_RUNNING:
            coming.now = (virt.VIR_DOMAIN_RUNNING, virt.VIR_DOMAIN_RUNNING_MIGRATED)
        else:
            coming.now = (virt.VIR_DOMAIN_PAUSED, virt.VIR_DOMAIN_PAUSED_USER)
        del self._host.domains[domain.name]
        self._host.reached("after migrate3", domain.name)
        return DomainRef(there, coming)

    def _copied(self, domain: FakeDomain, coming: FakeDomain, parameters: dict[str, Any]) -> list[tuple[File, File]]:
        """Return the copied files. The files that the target's QEMU opens must exist before its start."""
        fleet, there = self._host.fleet, dict(coming.drives())
        chosen = parameters.get(virt.VIR_MIGRATE_PARAM_MIGRATE_DISKS, ())
        opened = [*there.values(), *(_text(coming, part) for part in ("os/kernel", "os/initrd"))]
        for path in filter(None, opened):
            if not fleet.has(path):
                raise Fault("INTERNAL_ERROR", f"Could not open '{path}'")
        pairs = [(fleet.file(path), fleet.file(there[name])) for name, path in domain.drives() if name in chosen]
        if any(here.capacity != copy.capacity for here, copy in pairs):
            raise Fault("INTERNAL_ERROR", "Source and target image have different sizes")
        if any(there[name] != path for name, path in domain.drives() if name not in chosen):
            raise Fault("MIGRATE_UNSAFE", "a disk that is not copied must be shared")
        return pairs


def _text(domain: FakeDomain, part: str) -> str | None:
    return ElementTree.fromstring(domain.described).findtext(part)


# ---- the helper system ----------------------------------------------------------------------------------------------


def run_helper(host: FakeHost, described: str) -> None:
    """Apply the visible effects of the helper's script."""
    subject, script, answer = _disks_of_helper(host, described)
    text = script.content.rstrip(b"\0").decode()
    answer.content = (host.helper or work_on)(subject, text).encode()


def answer_file(host: FakeHost, described: str) -> File:
    return _disks_of_helper(host, described)[2]


def _disks_of_helper(host: FakeHost, described: str) -> list[File]:
    disks = {disk.findtext("serial"): _file(disk) for disk in ElementTree.fromstring(described).iter("disk")}
    return [host.fleet.file(disks[slot]) for slot in ("sda", "sdb", "sdc")]


def work_on(subject: File, script: str) -> str:
    if "mke2fs" in script:
        subject.content, subject.filesystem = b"an empty file system", subject.capacity
    if shrunk := re.search(r'resize2fs "\$D_sda" (\d+)M', script):
        subject.filesystem = int(shrunk[1]) * MB
    if "grow_flat" in script:
        subject.filesystem = subject.capacity
    if "open_root" in script:
        subject.content += script.encode()
    return "rc=0\n"
