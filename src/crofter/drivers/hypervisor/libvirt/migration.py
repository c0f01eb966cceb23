"""libvirt's own migration: a machine and the disks that it uses go to another host while it runs.

The two QEMUs speak to each other directly, and libvirt sees to it that at any moment one of the two runs, or none if
the process that had ordered it dies in between. Which of the two has it is looked at, never assumed.
"""

from __future__ import annotations

import logging
import re
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetDone
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.libvirt import names, networks
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, is_broken_connection, virt
from crofter.drivers.hypervisor.libvirt.connections import in_daemon_thread
from crofter.drivers.hypervisor.libvirt.copying import abort, drives_of, has_job
from crofter.drivers.hypervisor.libvirt.domain_xml import NAMESPACE, QEMU
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext

log = logging.getLogger("crofter")

FLAGS = (
    virt.VIR_MIGRATE_LIVE
    | virt.VIR_MIGRATE_PERSIST_DEST
    | virt.VIR_MIGRATE_UNDEFINE_SOURCE
    | virt.VIR_MIGRATE_AUTO_CONVERGE
)
DESCRIBED = virt.VIR_DOMAIN_XML_MIGRATABLE | virt.VIR_DOMAIN_XML_SECURE
CHECK_EVERY = 0.5
_FORWARDED = re.compile(r",hostfwd=tcp:127\.0\.0\.1:\d+-")

ElementTree.register_namespace("qemu", QEMU)
ElementTree.register_namespace("crofter", NAMESPACE)


class MigrationFailed(Exception):
    """libvirt gave up, and the machine runs on where it was."""


class Route(NamedTuple):
    source: HostClient
    target: HostClient
    number: int


def has_arrived(route: Route) -> bool:
    """True if the machine runs on the target. An incoming machine is paused there."""
    domain = route.target.domain(route.number)
    if domain is None:
        return False
    state, why = domain.state()
    coming = state == virt.VIR_DOMAIN_PAUSED and why in (
        virt.VIR_DOMAIN_PAUSED_MIGRATION,
        virt.VIR_DOMAIN_PAUSED_STARTING_UP,
    )
    return bool(domain.isActive()) and not coming


def ready_to_go(job: JobContext, route: Route) -> Any:
    """The machine, running and with nothing else under way. What a process that died had begun is broken off."""
    domain = route.source.domain(route.number)
    try:
        while domain is not None and has_job(domain):
            job.check()
            abort(domain)
            time.sleep(0.1)
        if domain is None or not domain.isActive():
            raise Refused("The machine went off before it was moved.")
        _let_run(domain)
    except LibvirtError as error:
        if code(error) not in (virt.VIR_ERR_NO_DOMAIN, virt.VIR_ERR_OPERATION_INVALID):
            raise
        if has_arrived(route):
            raise Unreachable("It has arrived in this moment.") from None
        raise Refused("The machine went off before it was moved.") from None
    coming = route.target.domain(route.number)
    if coming is not None and coming.isActive():
        raise Unreachable("The other host still waits for it to come, and is about to give up.")
    return domain


def _let_run(domain: Any) -> None:
    """A process may have died between stopping it here and letting it run there, and it runs nowhere."""
    state, why = domain.state()
    stopped = (virt.VIR_DOMAIN_PAUSED_MIGRATION, virt.VIR_DOMAIN_PAUSED_POSTCOPY_FAILED)
    if state == virt.VIR_DOMAIN_PAUSED and why in stopped:
        domain.resume()


def attached(route: Route, domain: Any) -> dict[int, str]:
    """The disks that the machine has open, and what they are called inside."""
    drives = {file: target for target, file in drives_of(domain)}
    listed = {}
    for file, target in drives.items():
        match = re.fullmatch(re.escape(route.source.folder) + r"/d(\d+)\.qcow2", file)
        if match is not None:
            listed[int(match[1])] = target
    return listed


def migrate(job: JobContext, route: Route, domain: Any, disks: list[int]) -> None:
    names_inside = attached(route, domain)
    for disk in disks:
        _make_space(route, disk)
    described = _described_there(domain.XMLDesc(DESCRIBED), route)
    networks.prepare(job, route.target, route.number, tagged="<vlan>" in described)
    _have_files(job, route, domain)
    job.check()
    parameters = _parameters(route, described, [names_inside[disk] for disk in disks])
    _await_migration(job, route, domain, _begin(route, domain, parameters))


def bring_back(route: Route) -> None:
    """Move back a machine whose order was cancelled after its arrival. Its disks still exist on the source and are
    rewritten.
    """
    back = Route(route.target, route.source, route.number)
    domain = back.source.domain(back.number)
    inside = list(attached(back, domain).values())
    parameters = _parameters(back, _described_there(domain.XMLDesc(DESCRIBED), back), inside)
    _begin(back, domain, parameters).result()


def _make_space(route: Route, disk: int) -> None:
    """A volume of exactly the same size for the copy to go to."""
    held = route.source.volume(names.disk(disk))
    if held is None:
        raise Refused("What was to be moved is not on its host any more.")
    route.target.create(names.disk(disk), held.info()[1])


def _have_files(job: JobContext, route: Route, domain: Any) -> None:
    """The kernel that it was started with has to be there before QEMU is, under the same name."""
    described = ElementTree.fromstring(domain.XMLDesc(0))
    known = {file.name: file for file in job.media.boot_files()}
    for part in ("os/kernel", "os/initrd"):
        path = described.findtext(part)
        if path is None:
            continue
        file = known.get(path.rpartition("/")[2])
        if file is None:
            raise Refused("The kernel that the machine was started with is not on this cloud any more.")
        route.target.have(file)


def _parameters(route: Route, described: str, disks: list[str]) -> dict[str, Any]:
    given: dict[str, Any] = {
        virt.VIR_MIGRATE_PARAM_URI: f"tcp://{_address(route.target.entry.uri)}",
        virt.VIR_MIGRATE_PARAM_DEST_XML: described,
    }
    if disks:
        given[virt.VIR_MIGRATE_PARAM_MIGRATE_DISKS] = disks
    return given


def _address(uri: str) -> str:
    """Where the QEMU of a host is reached by that of another: where its libvirt is."""
    name = urlsplit(uri).hostname
    if name is None:
        return "127.0.0.1"  # two daemons of one machine
    return f"[{name}]" if ":" in name else name


def is_encrypted(route: Route) -> bool:
    """True if the connection leaves this machine: guest memory must be encrypted in transit."""
    return urlsplit(route.target.entry.uri).hostname is not None


def _begin(route: Route, domain: Any, parameters: dict[str, Any]) -> Future[Any]:
    flags = FLAGS
    if virt.VIR_MIGRATE_PARAM_MIGRATE_DISKS in parameters:
        flags |= virt.VIR_MIGRATE_NON_SHARED_DISK
    if is_encrypted(route):
        flags |= virt.VIR_MIGRATE_TLS
    there = route.target.work_connection
    return in_daemon_thread(lambda: domain.migrate3(there, parameters, flags))


def _await_migration(job: JobContext, route: Route, domain: Any, going: Future[Any]) -> None:
    while True:
        try:
            going.result(CHECK_EVERY)
            return
        except NotYetDone:
            try:
                job.check()
            except Dropped:
                _break_off(domain, going)
                raise
        except LibvirtError as error:
            if is_broken_connection(error):
                raise
            job.check()  # another process may have broken it off, and be at it itself
            if has_arrived(route):
                return
            log.warning("machine %s was not moved: %s", route.number, error)
            if not domain.isActive():
                raise Refused("The machine went off while it was moved.") from None
            _let_run(domain)
            raise MigrationFailed(str(error)) from None


def _break_off(domain: Any, going: Future[Any]) -> None:
    while not going.done():
        try:
            abort(domain)
        except LibvirtError:
            pass  # the machine has just moved or stopped
        time.sleep(0.1)


def _described_there(text: str, route: Route) -> str:
    """The machine exactly as it runs, with the folders, the bridge and the forwarded port of the other host."""
    machine = ElementTree.fromstring(text)
    for path in (*machine.iterfind("os/kernel"), *machine.iterfind("os/initrd")):
        path.text = _there(path.text or "", route)
    for source in machine.iterfind("devices/disk/source"):
        source.set("file", _there(source.get("file", ""), route))
    for variables in machine.iterfind("os/nvram"):
        variables.text = None  # libvirt has a place of its own for it on each host
    tags = {int(tag.get("id", "")) for tag in machine.iterfind("devices/interface/vlan/tag")}
    if not tags <= set(route.target.entry.tags):
        raise Refused("The other host does not have the VLANs of this machine.")
    for source in machine.iterfind("devices/interface[@type='bridge']/source"):
        if route.target.entry.bridge is None:
            raise Refused("The two hosts have different networks.")
        source.set("bridge", route.target.entry.bridge)
    for argument in machine.iter(f"{{{QEMU}}}arg"):
        value = argument.get("value", "")
        if value.startswith("user,") and route.target.entry.bridge is not None:
            raise Refused("The two hosts have different networks.")
        argument.set("value", _forwarded_there(value, route))
    return ElementTree.tostring(machine, "unicode")


def _there(path: str, route: Route) -> str:
    folders = [(route.source.folder, route.target.folder)]
    if route.source.entry.volumes is not None:
        folders.append((route.source.volume_folder, route.target.volume_folder))
    for here, there in folders:
        if path.startswith(f"{here}/"):
            return there + path[len(here) :]
    return path


def _forwarded_there(value: str, route: Route) -> str:
    first = route.target.entry.forward
    if first is None:
        return re.sub(r",hostfwd=[^,]*", "", value)
    return _FORWARDED.sub(f",hostfwd=tcp:127.0.0.1:{first + route.number}-", value)
