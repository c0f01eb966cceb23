"""Rows of the table of hosts, as an operator would add them."""

from __future__ import annotations

from crofter.db import Session
from crofter.drivers.hypervisor.libvirt import tables

PLENTY = 10_000_000
"""Megabytes, of memory and of disk."""


def add_host(
    db: Session, number: int, region: str, *, uri: str, pool: str, volumes: str, architecture: str, emulation: bool
) -> None:
    """Insert a host that is up, with more resources than any test needs."""
    db.insert(
        tables.host,
        id=number,
        region=region,
        uri=uri,
        pool=pool,
        volumes=volumes,
        network="user",
        forward=None,
        architecture=architecture,
        vcpus=64,
        memory=PLENTY,
        disk=PLENTY,
        state="up",
        emulation=emulation,
        resolvers=None,
        vlans=None,
    )
