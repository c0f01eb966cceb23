"""The first try: the machine that the server runs on is a host too, through libvirt's session of the same user."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from crofter.db import Database
from crofter.drivers.hypervisor.errors import DriverError
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.libvirt import fleet, tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt
from crofter.drivers.hypervisor.libvirt.host import read_capacity
from crofter.drivers.hypervisor.libvirt.media import MB

log = logging.getLogger("crofter")

SESSION = "qemu:///session"
FORWARD = 22000
"""The SSH port of instance 7 is port 22007 of the loopback address."""


def add(database: Database, region: str, folder: Path, *, emulation: bool) -> None:
    """Nothing, once there is any host."""
    with database.read() as db:
        if fleet.load(db).entries:
            return
    try:
        connection = virt.open(SESSION)
    except LibvirtError as error:
        raise DriverError(f"{SESSION} does not answer: {error}; see docs/hosts.md") from None
    platform, processors, memory = read_capacity(connection)
    if not platform.kvm and not emulation:
        raise DriverError("this machine has no KVM, and emulation keeps no tenants apart; see allow_emulation")
    folder = folder.resolve()
    (folder / "machines").mkdir(parents=True, exist_ok=True)
    (folder / "volumes").mkdir(exist_ok=True)
    with database.write() as db:
        if fleet.load(db).entries:
            return
        db.insert(
            tables.host,
            id=code_of(region) * BLOCK + 1,
            region=region,
            uri=SESSION,
            pool=str(folder / "machines"),
            volumes=str(folder / "volumes"),
            network="user",
            forward=FORWARD,
            architecture=platform.architecture,
            vcpus=processors,
            memory=memory,
            disk=shutil.disk_usage(folder).free // MB,
            state="up",
            emulation=not platform.kvm,
            resolvers=None,
            vlans=None,
        )
    log.info("this machine is host 1 of region %s, through %s", region, SESSION)
    connection.close()
