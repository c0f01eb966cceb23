"""Jobs of the verbs on volumes, in the storage of a region and in running machines."""

from __future__ import annotations

import time
from typing import Any

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.entries import Domain, Entry, Volume
from crofter.drivers.hypervisor.ledger.ledger import VolumeAt
from crofter.drivers.hypervisor.libvirt import domain_xml, names
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt
from crofter.drivers.hypervisor.libvirt.copying import drives_of, push
from crofter.drivers.hypervisor.libvirt.domain_xml import Drive
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext
from crofter.drivers.hypervisor.libvirt.performing import Work
from crofter.drivers.hypervisor.specs import DomainRef

GB = 1 << 30
ASK_AGAIN = 3.0
"""Seconds between requests to release a drive: a booting guest ignores the first one."""
SLOTS = "abcdefgh"


def make(ref: VolumeAt, size: int, source: VolumeAt | None) -> Work:
    def work(job: JobContext) -> None:
        host, name = job.hosts.storage(ref.host), names.volume(ref.id)
        try:
            if source is None:
                host.create(name, size * GB, volumes=True)
            else:
                _copy(job, host, source, ref.id, size)
            job.check()
        except Dropped:
            host.drop(name, volumes=True)
            raise

    return work


def _copy(job: JobContext, host: HostClient, source: VolumeAt, number: int, size: int) -> None:
    name, user = names.volume(number), _user(job, source.id)
    if user is None:
        host.copy(names.volume(source.id), name, size * GB, volumes=True)
        return
    at = job.host(user.host)
    push(job, at, user.id, {source.id: at.volume_path(number)}, volumes=True)
    made = host.volume(name, volumes=True)
    if made.info()[1] < size * GB:
        made.resize(size * GB)


def _user(job: JobContext, volume: int) -> Entry[Domain] | None:
    with job.hosts.store.reading() as ledger:
        entry = ledger.find(Volume, volume)
        user = None if entry is None else ledger.volume_user(entry)
    if user is None:
        return None
    domain = job.host(user.host).domain(user.id)
    return user if domain is not None and domain.isActive() else None


def grow(ref: VolumeAt, size: int) -> Work:
    def work(job: JobContext) -> None:
        user = _user(job, ref.id)
        if user is None:
            volume = job.hosts.storage(ref.host).volume(names.volume(ref.id), volumes=True)
            if volume.info()[1] < size * GB:
                volume.resize(size * GB)
            return
        host = job.host(user.host)
        domain = host.domain(user.id)
        target = _plugged(domain, host, ref.id)
        if target is None:
            raise Unreachable("The volume is being plugged in or out.")  # looked at again
        domain.blockResize(target, size * GB, virt.VIR_DOMAIN_BLOCK_RESIZE_BYTES)

    return work


def attach(ref: DomainRef, volume: VolumeAt) -> Work:
    def work(job: JobContext) -> None:
        host = job.host(ref.host)
        domain = host.domain(ref.id)
        if domain is None or not domain.isActive() or _plugged(domain, host, volume.id) is not None:
            return
        taken = {target for target, _ in drives_of(domain)}
        free = [letter for letter in SLOTS if f"vd{letter}" not in taken]
        if not free:
            raise Refused("The machine has no free slot.")
        job.check()
        drive = Drive(host.volume_path(volume.id), f"sd{free[-1]}", volume=volume.id)
        domain.attachDeviceFlags(domain_xml.drive(drive), virt.VIR_DOMAIN_AFFECT_LIVE)

    return work


def detach(ref: DomainRef, volume: VolumeAt) -> Work:
    def work(job: JobContext) -> None:
        host = job.host(ref.host)
        domain = host.domain(ref.id)
        again = 0.0
        while domain is not None and domain.isActive():
            target = _plugged(domain, host, volume.id)
            if target is None:
                return
            job.check()
            if time.monotonic() >= again:
                again = time.monotonic() + ASK_AGAIN
                _ask_for(domain, host, volume.id, target)
            time.sleep(0.1)

    return work


def _ask_for(domain: Any, host: HostClient, volume: int, target: str) -> None:
    drive = Drive(host.volume_path(volume), f"sd{target[2:]}", volume=volume)
    try:
        domain.detachDeviceFlags(domain_xml.drive(drive), virt.VIR_DOMAIN_AFFECT_LIVE)
    except LibvirtError as error:
        if "already in the process of unplug" not in str(error):
            raise


def _plugged(domain: Any, host: HostClient, volume: int) -> str | None:
    """Return the drive name of the volume in the machine, or None."""
    file = host.volume_path(volume)
    return next((target for target, source in drives_of(domain) if source == file), None)


def remove(ref: VolumeAt) -> Work:
    def work(job: JobContext) -> None:
        job.hosts.storage(ref.host).drop(names.volume(ref.id), volumes=True)

    return work
