"""Commands for the operator of hosts: add, drain, remove, and compare with the database.

They run next to a server, which reads the table of hosts again at its next poll.
"""

from __future__ import annotations

import ipaddress
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crofter.bootstrap import hypervisor
from crofter.cli.operators import Arguments, Rows, plain
from crofter.context import Runtime
from crofter.drivers.hypervisor import DriverError
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.libvirt import fleet, tables
from crofter.drivers.hypervisor.libvirt.fleet import HostEntry
from crofter.resources.regions import store as regions

if TYPE_CHECKING:
    from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor

MEANINGS = {
    "orphans": "on a host, and not in the database",
    "missing": "in the database, and on no host",
    "misplaced": "on another host than the database says",
    "stuck": "an instance that nobody is at work on; the server will look at it",
    "unreachable": "a host that does not answer",
}
NETWORKS = ("user", "bridge:NAME")
TAGGING = 11_000_000
"""The version of libvirt that can tag the port of a plain bridge."""
POLL = 0.5
"""Seconds between two looks at how far machines are on their way."""


def reconcile(runtime: Runtime, arguments: Arguments) -> Rows:
    """Only reported. What to do about an orphan is for people to decide."""
    import crofter.instance_neighbours  # noqa: F401, PLC0415 - volumes are on hosts too
    from crofter.resources.instances import sweeping  # noqa: PLC0415 - it brings all of instances along

    runtime.hypervisor = hypervisor(runtime)
    report = msgspec.structs.asdict(sweeping.compare(runtime))
    return [{"what": name, "which": which, "meaning": MEANINGS[name]} for name in MEANINGS for which in report[name]]


def add(runtime: Runtime, arguments: Arguments) -> Rows:
    """Add a host. Values that the command line leaves out are read from the host."""
    region, network = arguments["region"], arguments["network"]
    with runtime.database.read() as db:
        if region not in regions.slugs(db):
            raise ValueError(f"there is no region {region}")
        entries = fleet.load(db).entries.values()
    if network != "user" and not network.startswith("bridge:"):
        raise ValueError(f"a network is one of {', '.join(NETWORKS)}")
    for resolver in arguments["resolvers"].split(",") if arguments["resolvers"] else ():
        ipaddress.ip_address(resolver)  # or it raises ValueError, which names it
    if arguments["vlans"] is not None:
        _check_vlans(arguments["vlans"], network, {entry.vlans for entry in entries if entry.region == region})
    for folder in (arguments["pool"], arguments["volumes"]):
        if folder is not None and not Path(folder).is_absolute():
            raise ValueError(f"{folder} is a folder of the host, and so begins with a slash")
    taken = {entry.id for entry in entries}
    entry = _read(runtime, arguments, next(n for n in range(code_of(region) * BLOCK + 1, 2**62) if n not in taken))
    with runtime.database.write() as db:
        db.insert(tables.host, **msgspec.structs.asdict(entry))
    return [_row(entry, "up")]


def _read(runtime: Runtime, arguments: Arguments, number: int) -> HostEntry:
    from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt  # noqa: PLC0415 - may not be installed
    from crofter.drivers.hypervisor.libvirt.host import read_capacity  # noqa: PLC0415

    try:
        connection = virt.open(arguments["uri"])
    except LibvirtError as error:
        raise ValueError(f"the host does not answer: {error}") from None
    platform, processors, memory = read_capacity(connection)
    if not platform.kvm and not arguments["allow_emulation"]:
        raise ValueError(
            "the host has no KVM. Without it nothing keeps tenants apart; --allow-emulation takes it all the same"
        )
    if arguments["vlans"] is not None and connection.getLibVersion() < TAGGING:
        raise ValueError("VLANs on a bridge need libvirt 11 or newer on the host")
    connection.close()
    return HostEntry(
        id=number,
        region=arguments["region"],
        uri=arguments["uri"],
        pool=arguments["pool"],
        volumes=arguments["volumes"],
        network=arguments["network"],
        forward=arguments["forward"],
        architecture=platform.architecture,
        vcpus=processors,
        memory=arguments["memory"] or memory,
        disk=arguments["disk"],
        state="up",
        emulation=arguments["allow_emulation"],
        resolvers=arguments["resolvers"],
        vlans=arguments["vlans"],
    )


def _check_vlans(tags: str, network: str, others: set[str | None]) -> None:
    match = re.fullmatch(r"([1-9]\d{0,3})-([1-9]\d{0,3})", tags)
    if network == "user" or match is None or not 2 <= int(match[1]) <= int(match[2]) <= 4094:
        raise ValueError("VLANs are given as 100-199, within 2-4094, and only on a bridge")
    if others - {None, tags}:
        raise ValueError("other hosts of the region have other VLANs: those of a region have the same")


def show(runtime: Runtime, arguments: Arguments) -> Rows:
    """Return all hosts, with their reachability."""
    with runtime.database.read() as db:
        entries = fleet.load(db).entries
    if not entries:
        return []
    seen: dict[int, str] = {host.id: host.state for host in driver_of(runtime).hosts()}
    seen |= {entry.id: "draining" for entry in entries.values() if entry.state == "draining" and seen[entry.id] == "up"}
    return [_row(entry, seen[entry.id] if entry.state != "lost" else "lost") for entry in entries.values()]


def _row(entry: HostEntry, state: str) -> dict[str, object]:
    return {
        "id": entry.id,
        "region": entry.region,
        "state": state,
        "architecture": entry.architecture,
        "vcpus": entry.vcpus,
        "memory": entry.memory,
        "disk": entry.disk,
        "network": entry.network,
        "vlans": entry.vlans or "",
        "uri": entry.uri,
    }


def drain(runtime: Runtime, arguments: Arguments) -> Rows:
    """Move running instances to other hosts. Shut down the others; they start here again after the maintenance."""
    number, driver = arguments["id"], driver_of(runtime)
    try:
        if not arguments["over"] and not arguments["shut_down"]:
            driver.begin_draining(number)
            _move_away(runtime, number)
        driver.maintenance(number, begins=not arguments["over"])
    except DriverError as error:
        raise ValueError(error.reason) from None
    return show(runtime, arguments)


def _move_away(runtime: Runtime, host: int) -> None:
    """Wait until every running instance has left or failed to leave, and print each result. A server does the work."""
    from crofter.resources.instances import leaving  # noqa: PLC0415 - it brings much of instances along

    tried: set[int] = set()
    ordered: dict[int, int] = {}
    while True:
        with runtime.database.read() as db:
            staying = [instance for instance in leaving.on_host(db, host) if instance not in tried]
            works = leaving.somebody_works(db)
        if not staying and not ordered:
            return
        if not works:
            raise ValueError(
                "no server works, so nobody moves machines. With one the same command goes on; or --shut-down"
            )
        ordered |= leaving.order(runtime, host, staying)
        tried |= {*staying}
        for left in list(leaving.left(runtime, ordered)):
            del ordered[left.instance_id]
            tell(f"instance {left.instance_id}: {_whereabouts(left.host, host, left.reason)}")
        pause()


def pause() -> None:
    time.sleep(POLL)


def _whereabouts(host: int | None, before: int, reason: str | None) -> str:
    if host == before:
        return "stays" if reason is None else f"stays, and is shut down: {plain(reason)}"
    return "gone" if host is None else f"on host {host}"


def tell(text: str) -> None:
    """Print progress on standard error; standard output carries the result."""
    print(text, file=sys.stderr)


def driver_of(runtime: Runtime) -> LibvirtHypervisor:
    try:
        from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor  # noqa: PLC0415
    except DriverError as error:
        raise ValueError(error.reason) from None
    return LibvirtHypervisor(runtime.database, runtime.clock, runtime.settings.media_folder)


def certificate(runtime: Runtime, arguments: Arguments) -> Rows:
    from crofter.cli import host_certificates  # noqa: PLC0415

    folder = runtime.settings.folder
    if folder is None:
        raise ValueError("certificates are kept in the data folder")
    return host_certificates.make(folder / "hosts", arguments["name"], Path(arguments["to"]))


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "hosts add": add,
    "hosts certificate": certificate,
    "hosts drain": drain,
    "hosts list": show,
    "hosts reconcile": reconcile,
}
