"""All that is really on hosts, for the sweeper that looks for what nobody remembers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from crofter.drivers.hypervisor.errors import DriverError
from crofter.drivers.hypervisor.ledger.things import Backup, Disk, Domain, Image, Volume
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.reports import Inventory
from crofter.drivers.hypervisor.specs import BackupRef, DiskRef, DomainRef, ImageRef, Ref, VolumeRef

KINDS: tuple[tuple[Any, type[Ref], str], ...] = (
    (Disk, DiskRef, r"d(\d+)\.qcow2"),
    (Backup, BackupRef, r"bk(\d+)-d\d+\.qcow2"),
    (Image, ImageRef, r"im(\d+)\.qcow2"),
)
R = TypeVar("R", bound=Ref)
Places = set[tuple[int, int]]


def inventory(hosts: Hosts, only: int | None) -> Inventory:
    fleet = hosts.fleet()
    asked = [number for number, entry in fleet.entries.items() if only in (None, number) and entry.state != "lost"]
    away = set(hosts.away(asked))
    found: dict[str, Places] = {kind: set() for kind in ("domain", "disk", "backup", "image")}
    for number in asked:
        if number not in away and not _list_host(hosts.client(number), found):
            away.add(number)
    with hosts.store.reading(frozenset(away)) as scene:
        for document, kind in ((Domain, "domain"), (Disk, "disk"), (Backup, "backup"), (Image, "image")):
            things = scene.all(document)  # type: ignore[type-var]
            places = {thing.id: thing.host for thing in things}
            # On its way a thing is on two hosts for a while; the books say which one counts.
            found[kind] = {(place, number) for place, number in found[kind] if places.get(number, place) == place}
            found[kind] |= {(place, number) for number, place in places.items() if place in asked and place not in away}
        volumes = [] if only is not None else _volumes(scene)
    return Inventory(
        _refs(DomainRef, found["domain"]),
        _refs(DiskRef, found["disk"]),
        _refs(BackupRef, found["backup"]),
        tuple(sorted(away)),
        tuple(volumes),
        _refs(ImageRef, found["image"]),
    )


def _list_host(host: HostClient, found: dict[str, Places]) -> bool:
    """Whether it answered to the end."""
    pattern = re.compile(re.escape(host.names.domain(0))[:-1] + r"(\d+)")
    number = host.entry.id
    try:
        files = host.listed()
        domains = [domain.name() for domain in host.look.listAllDomains()]
    except (DriverError, LibvirtError):
        return False
    found["domain"] |= {(number, int(match[1])) for name in domains if (match := pattern.fullmatch(name))}
    for document, _, file in KINDS:
        found[document.kind] |= {(number, int(match[1])) for name in files if (match := re.fullmatch(file, name))}
    return True


def _volumes(scene: Any) -> list[VolumeRef]:
    return [
        VolumeRef(region, thing.id)
        for thing in scene.all(Volume)
        if (region := scene.fleet.region(thing.host)) is not None
    ]


def _refs(kind: type[R], places: Iterable[tuple[int, int]]) -> tuple[R, ...]:
    return tuple(kind(host, number) for host, number in sorted(places, key=lambda place: place[1]))
