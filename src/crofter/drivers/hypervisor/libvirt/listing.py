"""Listing of all objects on hosts, for the sweeper that finds orphans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from crofter.drivers.hypervisor.errors import DriverError
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Domain, Entry, Image, Volume
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.fleet import RealFleet
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.reports import Inventory
from crofter.drivers.hypervisor.specs import BackupRef, DiskRef, DomainRef, ImageRef, Ref, VolumeRef

KINDS: tuple[tuple[Any, type[Ref], str], ...] = (
    (Disk, DiskRef, r"d(\d+)\.qcow2"),
    (Backup, BackupRef, r"bk(\d+)-d\d+\.qcow2"),
    (Image, ImageRef, r"im(\d+)\.qcow2"),
)
VOLUME = r"v(\d+)\.qcow2"
R = TypeVar("R", bound=Ref)
Places = set[tuple[int, int]]


def inventory(hosts: Hosts, only: int | None) -> Inventory:
    fleet = hosts.fleet()
    asked = [number for number, entry in fleet.entries.items() if only in (None, number) and entry.state != "lost"]
    unreachable = set(hosts.unreachable(asked))
    listed: dict[str, Places] = {kind: set() for kind in ("domain", "disk", "backup", "image", "volume")}
    for number in asked:
        if number not in unreachable and not _list_host(hosts.client(number), listed):
            unreachable.add(number)
    storages = set() if only is not None else _list_storages(hosts, fleet, listed)
    with hosts.store.reading(frozenset(unreachable)) as ledger:
        for document in (Domain, Disk, Backup, Image, Volume):
            seen = storages if document is Volume else set(asked) - unreachable
            _complete(ledger.all(document), listed[document.kind], seen)
        regions = {storage: ledger.fleet.region(storage) for storage, _ in listed["volume"]}
    volumes = sorted((number, regions[storage]) for storage, number in listed["volume"])
    return Inventory(
        _refs(DomainRef, listed["domain"]),
        _refs(DiskRef, listed["disk"]),
        _refs(BackupRef, listed["backup"]),
        tuple(sorted(unreachable)),
        tuple(VolumeRef(region, number) for number, region in volumes if region is not None),
        _refs(ImageRef, listed["image"]),
    )


def _complete(entries: Iterable[Entry[Any]], listed: Places, seen: set[int]) -> None:
    """Add objects that no file shows: idle objects on a host that was not listed."""
    places = {entry.id: entry.host for entry in entries}
    # On its way a thing is on two hosts for a while; the ledger says which one counts.
    listed -= {(place, number) for place, number in listed if places.get(number, place) != place}
    for entry in entries:
        under_way = entry.due is not None
        if entry.host in seen and (under_way or _has_no_file(entry.doc)):
            listed.add((entry.host, entry.id))


def _has_no_file(doc: Any) -> bool:
    return isinstance(doc, Backup) and all(disk.filesystem == "swap" for disk in doc.disks)


def _list_storages(hosts: Hosts, fleet: RealFleet, listed: dict[str, Places]) -> set[int]:
    """Files of volumes, by any host of their region that answers; which storages were seen."""
    seen = set()
    for storage in {fleet.storage(region) for region in fleet.regions}:
        try:
            files = hosts.storage(storage).listed(volumes=True)
        except (DriverError, LibvirtError):
            continue
        seen.add(storage)
        listed["volume"] |= {(storage, int(match[1])) for name in files if (match := re.fullmatch(VOLUME, name))}
    return seen


def _list_host(host: HostClient, listed: dict[str, Places]) -> bool:
    """List a host. Return False if it stopped answering."""
    pattern = re.compile(re.escape(host.names.domain(0))[:-1] + r"(\d+)")
    number = host.entry.id
    try:
        files = host.listed()
        domains = [domain.name() for domain in host.read_connection.listAllDomains()]
    except (DriverError, LibvirtError):
        return False
    listed["domain"] |= {(number, int(match[1])) for name in domains if (match := pattern.fullmatch(name))}
    for document, _, file in KINDS:
        listed[document.kind] |= {(number, int(match[1])) for name in files if (match := re.fullmatch(file, name))}
    return True


def _refs(kind: type[R], places: Iterable[tuple[int, int]]) -> tuple[R, ...]:
    return tuple(kind(host, number) for host, number in sorted(places, key=lambda place: place[1]))
