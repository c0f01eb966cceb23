"""Hosts and connections of the fake libvirt."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Literal
from xml.etree import ElementTree

from crofter.drivers.hypervisor.libvirt.helper import BEGUN
from tests.drivers.fake_libvirt.machines import SECOND, DomainRef, FakeDomain, answer_file, run_helper
from tests.drivers.fake_libvirt.module import Fault
from tests.drivers.fake_libvirt.storage import File, Folder, Pool, Stream
from tests.resources.followers import eventually

ARCHITECTURE = "x86_64"
_fleets = count(1)


class FakeFleet:
    """All hosts of a test. Addresses are never reused: the driver keeps connections for its lifetime."""

    def __init__(self) -> None:
        self.number = next(_fleets)
        self.hosts: dict[str, FakeHost] = {}
        self.folders: dict[str, Folder] = {}
        """Folders by path. Hosts of a region share one."""

    def add(self, host: int) -> FakeHost:
        made = self.hosts[f"fake://{self.number}/{host}"] = FakeHost(self)
        return made

    def uri(self, host: int) -> str:
        return f"fake://{self.number}/{host}"

    def host(self, host: int) -> FakeHost:
        return self.hosts[self.uri(host)]

    def file(self, path: str) -> File:
        folder, _, name = path.rpartition("/")
        return self.folders[folder][name]

    def has(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self.folders.get(folder, {})

    def open(self, uri: str) -> Connection:
        host = self.hosts.get(uri)
        if host is None or not host.plugged:
            raise Fault("NO_CONNECT", "there is nobody at this address", "RPC")
        host.reached("open")
        return Connection(host)


class Network:
    """A libvirt network over a bridge of the host."""

    def __init__(self, described: str) -> None:
        element = ElementTree.fromstring(described)
        self.name = element.findtext("name") or ""
        self.bridge = next(element.iter("bridge")).attrib
        self.on = self.comes_on_with_its_host = False

    def bridgeName(self) -> str:  # noqa: N802 - libvirt's names, here and below
        return self.bridge["name"]

    def isActive(self) -> bool:  # noqa: N802
        return self.on

    def setAutostart(self, on: int) -> None:  # noqa: N802
        self.comes_on_with_its_host = bool(on)

    def create(self) -> None:
        if self.on:
            raise Fault("OPERATION_INVALID", "network is already active")
        self.on = True


class FakeHost:
    def __init__(self, fleet: FakeFleet) -> None:
        self.fleet = fleet
        self.plugged = True
        self.pools: dict[str, Pool] = {}
        self.domains: dict[str, FakeDomain] = {}
        self.filters: set[str] = set()
        self.networks: dict[str, Network] = {}
        self.calls: list[tuple[str, str]] = []
        """Calls so far: libvirt's name, and the object."""
        self.hooks: dict[str, Callable[[str], None]] = {}
        """Functions that run before a call: they may wait or raise."""
        self.helper: Callable[[File, str], str] | None = None
        """Replacement for the script of the helper system."""
        self.halting_helpers: list[Literal["starting", "booting", "working"]] = []
        """When the next helper systems come to a halt: QEMU itself, what it runs, or when that has begun its script."""

    def reached(self, call: str, name: str = "") -> None:
        self._must_be_there()
        self.calls.append((call, name))
        if hook := self.hooks.get(call):
            hook(name)
            self._must_be_there()

    def _must_be_there(self) -> None:
        if not self.plugged:
            raise Fault("RPC", "end of file while reading data", "RPC")

    def called(self, call: str) -> list[str]:
        return [name for asked, name in self.calls if asked == call]

    def until_called(self, call: str) -> None:
        """A job has a thread of its own, which comes so far when it can."""
        eventually(lambda: bool(self.called(call)))


class Connection:
    def __init__(self, host: FakeHost) -> None:
        self.host = host

    def close(self) -> None:
        pass

    def setKeepAlive(self, *_: int) -> None:  # noqa: N802 - libvirt's names, here and below
        pass

    def getLibVersion(self) -> int:  # noqa: N802
        self.host.reached("getLibVersion")
        return 9_000_000

    def getInfo(self) -> list[Any]:  # noqa: N802
        return [ARCHITECTURE, 65536, 8]

    def getCapabilities(self) -> str:  # noqa: N802
        return "<capabilities><guest><arch><domain type='kvm'/></arch></guest></capabilities>"

    def newStream(self) -> Stream:  # noqa: N802
        return Stream(self.host)

    def storagePoolLookupByName(self, name: str) -> Pool:  # noqa: N802
        self.host.reached("storagePoolLookupByName", name)
        if name not in self.host.pools:
            raise Fault("NO_STORAGE_POOL", name)
        return self.host.pools[name]

    def storagePoolDefineXML(self, described: str) -> Pool:  # noqa: N802
        element = ElementTree.fromstring(described)
        name, path = element.findtext("name") or "", element.findtext("target/path") or ""
        self.host.reached("storagePoolDefineXML", name)
        if name in self.host.pools:
            raise Fault("OPERATION_FAILED", f"pool '{name}' is already defined with another uuid")
        made = self.host.pools[name] = Pool(self.host, name, path)
        return made

    def lookupByName(self, name: str) -> DomainRef:  # noqa: N802
        self.host.reached("lookupByName", name)
        if name not in self.host.domains:
            raise Fault("NO_DOMAIN", name)
        return DomainRef(self, self.host.domains[name])

    def lookupByUUIDString(self, identity: str) -> DomainRef:  # noqa: N802
        self.host.reached("lookupByUUIDString", identity)
        for domain in list(self.host.domains.values()):
            if f"<uuid>{identity}</uuid>" in domain.described:
                return DomainRef(self, domain)
        raise Fault("NO_DOMAIN", identity)

    def listAllDomains(self) -> list[DomainRef]:  # noqa: N802
        self.host.reached("listAllDomains")
        return [DomainRef(self, domain) for domain in list(self.host.domains.values())]

    def defineXML(self, described: str) -> DomainRef:  # noqa: N802
        made = FakeDomain(self.host, described)
        self.host.reached("defineXML", made.name)
        known = self.host.domains.setdefault(made.name, made)
        known.described = described
        return DomainRef(self, known)

    def createXML(self, described: str, _flags: int) -> DomainRef:  # noqa: N802
        """Only the helper system is started so; it has done its work and gone when this returns, unless it halts."""
        made = FakeDomain(self.host, described)
        self.host.reached("createXML helper", made.name)
        if self.host.halting_helpers:
            when = self.host.halting_helpers.pop(0)
            if when == "working":
                answer_file(self.host, described).content = BEGUN.encode()
            self.host.domains[made.name] = made
            made.start()
            if when == "starting":
                eventually(lambda: made.running is None)
                raise Fault("INTERNAL_ERROR", "qemu unexpectedly closed the monitor")
        else:
            run_helper(self.host, described)
        return DomainRef(self, made)

    def domainListGetStats(self, domains: list[DomainRef], *_: int) -> list[tuple[DomainRef, dict[str, Any]]]:  # noqa: N802
        """Return the statistics: each call adds a second of CPU time."""
        stats = []
        for ref in domains:
            domain = self.host.domains[ref.name()]
            domain.processor += SECOND
            stats.append((ref, {"cpu.time": domain.processor, **domain.stats}))
        return stats

    def getAllDomainStats(self, _stats: int, _flags: int) -> list[tuple[DomainRef, dict[str, Any]]]:  # noqa: N802
        self.host.reached("getAllDomainStats")
        states = [(domain, *domain.now) for domain in list(self.host.domains.values())]
        return [(DomainRef(self, name), {"state.state": state, "state.reason": why}) for name, state, why in states]

    def networkLookupByName(self, name: str) -> Network:  # noqa: N802
        self.host.reached("networkLookupByName", name)
        if name not in self.host.networks:
            raise Fault("NO_NETWORK", name)
        return self.host.networks[name]

    def networkDefineXML(self, described: str) -> Network:  # noqa: N802
        made = Network(described)
        self.host.reached("networkDefineXML", made.name)
        if made.name in self.host.networks:
            raise Fault("OPERATION_FAILED", f"network '{made.name}' already exists with another uuid")
        self.host.networks[made.name] = made
        return made

    def nwfilterDefineXML(self, described: str) -> None:  # noqa: N802
        self.host.filters.add(ElementTree.fromstring(described).get("name", ""))
