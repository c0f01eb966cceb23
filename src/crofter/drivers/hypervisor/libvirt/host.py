"""Operations on a host: volumes and machines. Every call here may raise Unreachable and may block."""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from crofter.clock import machine_now
from crofter.drivers.hypervisor.contract import SerialPort
from crofter.drivers.hypervisor.errors import Absent, Refused, Unreachable
from crofter.drivers.hypervisor.libvirt import domain_xml, names
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, is_passing, virt
from crofter.drivers.hypervisor.libvirt.connections import connection_to
from crofter.drivers.hypervisor.libvirt.domain_xml import Platform
from crofter.drivers.hypervisor.libvirt.fleet import HostEntry
from crofter.drivers.hypervisor.libvirt.media import File
from crofter.drivers.hypervisor.libvirt.names import Names
from crofter.drivers.hypervisor.libvirt.serial_port import LibvirtSerialPort
from crofter.drivers.hypervisor.reports import Power, Reason

log = logging.getLogger("crofter")

AT_ONCE = 4
"""Jobs that a host has at a time: each copies disks or boots a machine. A daemon answers five calls of a connection."""
BLOCK = 1 << 18
UNDEFINE = virt.VIR_DOMAIN_UNDEFINE_NVRAM | virt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA


class Seen(NamedTuple):
    """State of a machine as libvirt reports it."""

    power: Power
    reason: Reason | None = None
    unfinished: bool = False
    """True if the machine was started paused and not resumed yet."""


_turns: dict[str, threading.Semaphore] = {}
_uploads: dict[str, threading.Lock] = {}
_platforms: dict[str, Platform] = {}
_shared = threading.Lock()


class HostClient:
    def __init__(self, entry: HostEntry, own_names: Names) -> None:
        self.entry = entry
        self.names = own_names

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold one of the few job slots that this process has on the host."""
        with _shared:
            turns = _turns.setdefault(self.entry.uri, threading.Semaphore(AT_ONCE))
        with turns:
            yield

    @property
    def read_connection(self) -> Any:
        return connection_to(self.entry.uri).get()

    @property
    def work_connection(self) -> Any:
        return connection_to(self.entry.uri, "work").get(60)

    @property
    def watch_connection(self) -> Any:
        """For looking at work that may have come to a halt, and be all that the connection for work has time for."""
        return connection_to(self.entry.uri, "watch").get()

    @property
    def platform(self) -> Platform:
        """Return the platform for machines of this host. Refused without KVM, unless the operator allowed that."""
        known = _platforms.get(self.entry.uri)
        if known is None:
            known = _platforms[self.entry.uri] = read_platform(self.work_connection)
        if not known.kvm and not self.entry.emulation:
            raise Refused("The host has no KVM, and does not allow emulation.")
        return known

    # ---- volumes ----------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> str:
        return f"{self.entry.pool}/{self.names.installation}"

    @property
    def volume_folder(self) -> str:
        if self.entry.volumes is None:
            raise Refused("The hosts of this region have no storage for volumes.")
        return f"{self.entry.volumes}/{self.names.installation}"

    def volume_path(self, number: int) -> str:
        return f"{self.volume_folder}/{names.volume(number)}"

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def pool(self, connection: Any, *, volumes: bool = False) -> Any:
        name = self.names.volume_pool if volumes else self.names.pool
        try:
            pool = connection.storagePoolLookupByName(name)
        except LibvirtError as error:
            if code(error) != virt.VIR_ERR_NO_STORAGE_POOL:
                raise
            pool = self._define_pool(connection, name, self.volume_folder if volumes else self.folder)
        if not pool.isActive():
            _activate(pool)
        return pool

    def _define_pool(self, connection: Any, name: str, folder: str) -> Any:
        try:
            return connection.storagePoolDefineXML(domain_xml.pool(name, folder))
        except LibvirtError:  # two jobs, or two processes, may need it for the first time
            return connection.storagePoolLookupByName(name)

    def volume(self, name: str, connection: Any = None, *, volumes: bool = False) -> Any:
        """The volume, or None."""
        pool = self.pool(connection or self.work_connection, volumes=volumes)
        for fresh in (False, True):
            if fresh:
                _refresh(pool)
            try:
                return pool.storageVolLookupByName(name)
            except LibvirtError as error:
                if code(error) != virt.VIR_ERR_NO_STORAGE_VOL:
                    raise
        return None

    def listed(self, *, volumes: bool = False) -> list[str]:
        _refresh(self.pool(self.read_connection, volumes=volumes))
        return self.stored(volumes=volumes)

    def stored(self, *, volumes: bool = False) -> list[str]:
        """The same as far as libvirt knows by itself, which costs the host less."""
        return [volume.name() for volume in self.pool(self.read_connection, volumes=volumes).listAllVolumes()]

    def drop(self, name: str, *, volumes: bool = False) -> None:
        volume = self.volume(name, volumes=volumes)
        if volume is None:
            return
        try:
            volume.delete()
        except LibvirtError as error:
            if code(error) != virt.VIR_ERR_OPERATION_INVALID:
                raise
            raise Unreachable("A volume is still being copied.") from None  # for a process that has died since

    def create(self, name: str, capacity: int, format: str = "qcow2", *, volumes: bool = False) -> Any:
        self.drop(name, volumes=volumes)
        return self.pool(self.work_connection, volumes=volumes).createXML(domain_xml.volume(name, capacity, format))

    def copy(self, source: str, name: str, capacity: int, *, volumes: bool = False) -> None:
        """A full copy, sparse where the source is, and perhaps larger."""
        self.drop(name, volumes=volumes)
        pool = self.pool(self.work_connection, volumes=volumes)
        original = self.volume(source, volumes=volumes)
        if original is None:
            raise Refused("What was to be copied is not on its host any more.")
        made = pool.createXMLFrom(domain_xml.volume(name, capacity), original, 0)
        if made.info()[1] < capacity:
            made.resize(capacity)

    def send(self, name: str, content: Callable[[int], bytes], length: int, format: str, capacity: int) -> None:
        """Write a volume from this process. ``content(n)`` returns up to n bytes, and nothing at the end."""
        made = self.create(name, capacity, format)
        stream = self.work_connection.newStream()
        made.upload(stream, 0, length)
        try:
            stream.sendAll(lambda _stream, count, _opaque: content(count), None)
            stream.finish()
        except BaseException:
            aborted(stream)
            raise
        _refresh(self.pool(self.work_connection))

    def send_bytes(self, name: str, content: bytes) -> None:
        left = memoryview(content)

        def take(count: int) -> bytes:
            nonlocal left
            part, left = left[:count], left[count:]
            return bytes(part)

        self.send(name, take, len(content), "raw", len(content))

    def receive(self, name: str, take: Callable[[bytes], None], connection: Any = None) -> None:
        connection = connection or self.work_connection
        volume = self.volume(name, connection)
        stream = connection.newStream()
        volume.download(stream, 0, 0)
        try:
            while chunk := stream.recv(BLOCK):
                take(chunk)
            stream.finish()
        except BaseException:
            aborted(stream)
            raise

    def have(self, file: File, format: str = "raw", capacity: int | None = None) -> str:
        """A file of the operator is on the host, whole, under the name that its content gives it."""
        with _shared:
            lock = _uploads.setdefault(self.entry.uri + file.name, threading.Lock())
        with lock:
            volume = self.volume(file.name)
            if volume is None:
                self._upload(file, format, capacity)
            else:
                self._must_be_whole(volume)
        return file.name

    def _must_be_whole(self, volume: Any) -> None:
        """Wait until the host has finished the volume. A dead process may have ordered it, and libvirt refuses reads
        until then.
        """
        stream = self.work_connection.newStream()
        try:
            volume.download(stream, 0, 1)
        except LibvirtError as error:
            if code(error) == virt.VIR_ERR_OPERATION_INVALID:
                raise Unreachable("A file is still being copied to the host.") from None
            raise
        aborted(stream)

    def _upload(self, file: File, format: str, capacity: int | None) -> None:
        # libvirt cannot rename a volume, and one that is there in part would be taken for the whole. Another process
        # may be at the same, so the part has a name of its own; what a dead one has left is cleared away by its age.
        part = names.upload_part(machine_now(), uuid.uuid4().hex[:12], file.name)
        size = Path(file.path).stat().st_size
        made = domain_xml.volume(file.name, capacity or size, format)
        try:
            with Path(file.path).open("rb") as content:
                self.send(part, content.read, size, format, capacity or size)
            self.pool(self.work_connection).createXMLFrom(made, self.volume(part), 0)
        except LibvirtError as error:
            if code(error) != virt.VIR_ERR_STORAGE_VOL_EXIST:
                raise
            self._must_be_whole(self.volume(file.name))  # created by another process meanwhile
        finally:
            self.drop(part)

    # ---- machines ---------------------------------------------------------------------------------------------------

    def domain(self, number: int, connection: Any = None) -> Any:
        """The machine, or None."""
        return self.named(self.names.domain(number), connection)

    def named(self, name: str, connection: Any = None) -> Any:
        try:
            return (connection or self.work_connection).lookupByName(name)
        except LibvirtError as error:
            if code(error) == virt.VIR_ERR_NO_DOMAIN:
                return None
            raise

    def seen(self, number: int) -> Seen:
        domain = self.domain(number, self.read_connection)
        return Seen("absent") if domain is None else _seen(*domain.state())

    def seen_all(self) -> dict[int, Seen]:
        """Return every machine of this installation, with one call."""
        own = re.compile(re.escape(self.names.domain(0))[:-1] + r"(\d+)")
        all_stats = self.read_connection.getAllDomainStats(virt.VIR_DOMAIN_STATS_STATE, 0)
        states = [(own.fullmatch(domain.name()), stats) for domain, stats in all_stats]
        return {int(name[1]): _seen(stats["state.state"], stats["state.reason"]) for name, stats in states if name}

    def open_serial_port(self, number: int, notify: Callable[[], None]) -> SerialPort:
        """On a connection of its own: what a machine prints must not delay reads or work."""
        connection = connection_to(self.entry.uri, "serial").get()
        domain = self.domain(number, connection)
        if domain is None:
            raise Absent(f"There is no domain {number}.")
        stream = connection.newStream(virt.VIR_STREAM_NONBLOCK)
        try:
            # Forced: a lost connection would otherwise keep the console until a daemon notices.
            domain.openConsole(None, stream, virt.VIR_DOMAIN_CONSOLE_FORCE)
        except LibvirtError as error:
            if code(error) == virt.VIR_ERR_OPERATION_INVALID:
                raise Refused("The machine is off.") from None
            log.info("host %s gives out no serial console: %s", self.entry.id, error)
            raise Unreachable("The host does not give out the serial console of the machine.") from error
        return LibvirtSerialPort(virt, stream, notify)

    def undefine(self, number: int) -> None:
        domain = self.domain(number)
        if domain is None:
            return
        if domain.isActive():
            domain.destroy()
        domain.undefineFlags(UNDEFINE)


def _seen(state: int, why: int) -> Seen:
    if state in (virt.VIR_DOMAIN_SHUTOFF, virt.VIR_DOMAIN_CRASHED):
        itself = state == virt.VIR_DOMAIN_SHUTOFF and why == virt.VIR_DOMAIN_SHUTOFF_SHUTDOWN
        return Seen("off", "guest" if itself else "crashed")
    if is_unfinished(state, why):
        return Seen("off", "ours", unfinished=True)
    return Seen("on")


def is_unfinished(state: int, why: int) -> bool:
    """True if the machine was started but not resumed: its starter still checks the order. No other code pauses
    machines.
    """
    return state == virt.VIR_DOMAIN_PAUSED and why in (virt.VIR_DOMAIN_PAUSED_USER, virt.VIR_DOMAIN_PAUSED_STARTING_UP)


class Capacity(NamedTuple):
    """Capacity that a host reports for machines."""

    platform: Platform
    vcpus: int
    memory: int
    """MB. A tenth of what it has is left to its own system, and to what QEMU needs besides a guest's memory."""


def read_capacity(connection: Any) -> Capacity:
    _, memory, processors, *_ = connection.getInfo()
    return Capacity(read_platform(connection), processors, memory * 9 // 10)


def read_platform(connection: Any) -> Platform:
    capabilities = connection.getCapabilities()
    architecture: str = connection.getInfo()[0]
    return Platform(architecture, "<domain type='kvm'" in capabilities)


def _activate(pool: Any) -> None:
    """Activate a pool. A concurrent activation is harmless: the second call is refused and finds the pool active."""
    try:
        pool.build()
        pool.setAutostart(1)
        pool.create()
    except LibvirtError:
        if not pool.isActive():
            raise


def _refresh(pool: Any) -> None:
    for _ in range(20):
        try:
            pool.refresh()
            return
        except LibvirtError as error:
            if not is_passing(error):
                raise
            time.sleep(0.05)  # a volume is being processed


def aborted(stream: Any) -> None:
    try:
        stream.abort()
    except LibvirtError:
        pass
