"""Objects on a host under the number of a new object but not in the ledger, after the restore of an old backup.

Numbers assigned after the backup are assigned again, while their machines and disks may still exist. Reusing them would
give a tenant's machine to another tenant.
"""

from __future__ import annotations

import re
from typing import Any

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Domain, Image, Volume
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.specs import Ref

CREATING = {"domain", "disk", "backup", "image", "volume"}
"""The verbs that make a thing which was not there before."""
FILES: dict[Any, str] = {Disk: r"d{}\.qcow2", Backup: r"bk{}-d\d+\.qcow2", Image: r"im{}\.qcow2", Volume: r"v{}\.qcow2"}
TOLD = "Its host holds something else under this number. The operator of this cloud has to look at it."


def must_be_unused(hosts: Hosts, document: Any, ref: Ref) -> None:
    try:
        there = _is_there(hosts, document, ref)
    except LibvirtError:
        raise Unreachable("The host does not answer.") from None
    if not there:
        return
    with hosts.store.reading() as ledger:
        if ledger.find(document, ref.id) is None:  # otherwise another worker has begun the same order meanwhile
            raise Refused(TOLD)


def _is_there(hosts: Hosts, document: Any, ref: Ref) -> bool:
    host = hosts.near(ref.host)
    if document is Domain:
        return host.domain(ref.id, host.read_connection) is not None
    file = re.compile(FILES[document].format(ref.id))
    return any(file.fullmatch(name) for name in host.stored(volumes=document is Volume))
