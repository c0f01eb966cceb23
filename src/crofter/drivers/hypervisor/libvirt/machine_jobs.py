"""Jobs of the verbs on machines."""

from __future__ import annotations

import time
from typing import Any

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.entries import Disk, Domain
from crofter.drivers.hypervisor.libvirt import domain_xml, names, network_helper, networks
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.domain_xml import Boot, Card, Drive, MachineXml
from crofter.drivers.hypervisor.libvirt.host import HostClient, is_unfinished
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext
from crofter.drivers.hypervisor.libvirt.performing import Work
from crofter.drivers.hypervisor.libvirt.sampling import Sampling
from crofter.drivers.hypervisor.libvirt.shutting_down import ShuttingDown
from crofter.drivers.hypervisor.libvirt.watching import watched
from crofter.drivers.hypervisor.specs import DomainRef, DomainSpec

STARTS = 600.0
"""Real seconds that QEMU has to start a machine, which may have much memory."""
RUN_LEVELS = {"default": "", "single": " single", "binbash": " init=/bin/sh"}


def define(ref: DomainRef) -> Work:
    def work(job: JobContext) -> None:
        put_definition(job, job.host(ref.host), ref.id, job.planned(Domain, ref.id).spec)

    return work


def put_definition(
    job: JobContext, host: HostClient, number: int, spec: DomainSpec, cards: tuple[Card, ...] | None = None
) -> Any:
    """The machine as libvirt is to start it next time, with the network that it has by now."""
    if cards is None:
        cards = networks.cards(job, host, number, spec, boots=False)
    platform = host.platform
    networks.prepare(job, host, number, tagged=any(card.vlan is not None for card in cards))
    wanted = MachineXml(
        host.names.domain(number),
        host.names.identity(number),
        number,
        platform,
        spec.memory,
        spec.vcpus,
        _drives(host, spec),
        _boot(job, host, spec),
        cards,
    )
    return host.work_connection.defineXML(domain_xml.machine(wanted))


def _drives(host: HostClient, spec: DomainSpec) -> tuple[Drive, ...]:
    drives = []
    for device in spec.devices:
        if device.disk is not None:
            drives.append(Drive(host.path(names.disk(device.disk)), device.slot))
        elif device.volume is not None:
            drives.append(Drive(host.volume_path(device.volume), device.slot, volume=device.volume))
    return tuple(drives)


def _boot(job: JobContext, host: HostClient, spec: DomainSpec) -> Boot | None:
    """A kernel of the operator, for a disk that is one file system; else what the disk has itself."""
    if spec.rescue:
        system = job.media.helper
        return _given(host, system.kernel, system.initrd, "crofter.rescue")
    if not spec.disks or spec.kernel == "compute/direct-disk":
        return None
    doc = job.entry(Disk, spec.disks[0]).doc
    image = None if doc is None or doc.image is None else job.media.image(doc.image)
    if image is not None and image.boot == "firmware":
        return None
    kernel = job.media.kernel(spec.kernel)
    if kernel is None:
        return None
    root = spec.root_device.replace("/dev/sd", "/dev/vd", 1)
    return _given(host, kernel.kernel, kernel.initrd, f"root={root} rw quiet panic=10{RUN_LEVELS[spec.run_level]}")


def _given(host: HostClient, kernel: Any, initrd: Any, arguments: str) -> Boot:
    return Boot(host.path(host.have(kernel)), host.path(host.have(initrd)), arguments)


def start(ref: DomainRef) -> Work:
    def work(job: JobContext) -> None:
        host = job.host(ref.host)
        domain = host.domain(ref.id)
        if domain is not None and domain.isActive():
            if not is_unfinished(*domain.state()):
                return
            domain.destroy()  # left by a process that died during this job; its definition may be older
        doc = job.entry(Domain, ref.id).doc
        if doc is None:
            raise Dropped
        cards = networks.cards(job, host, ref.id, doc.spec, boots=True)
        network_helper.write(job, host, ref.id, doc, cards)
        domain = put_definition(job, host, ref.id, doc.spec, cards)
        _must_be_open(job, ref)
        job.check()
        # The process may be suspended here, and the machine switched off meanwhile by another worker. So it is started
        # paused, and resumed only if the order still holds.
        _create(host, ref, domain)
        try:
            job.check()
            _must_be_open(job, ref)
        except (Dropped, Refused):
            _destroy(domain, only_unfinished=True)
            raise
        domain.resume()
        try:
            job.check()
        except Dropped:
            # Another process took over between the last check and this line. The next worker waits for this job, and
            # finds the machine as the ledger describes it.
            _destroy(domain)
            raise

    return work


def _create(host: HostClient, ref: DomainRef, domain: Any) -> None:
    def halted(connection: Any) -> Any:
        machine = host.domain(ref.id, connection)
        return machine if machine is not None and is_unfinished(*machine.state()) else None

    with watched(host, STARTS, halted) as was_ended:
        try:
            domain.createWithFlags(virt.VIR_DOMAIN_START_PAUSED)
        except LibvirtError:
            if was_ended.is_set():
                raise Refused("The host did not start the machine in time.") from None
            raise


def _must_be_open(job: JobContext, ref: DomainRef) -> None:
    """Refuse to start on a closed host: its maintenance does not wait for machines that start later."""
    if job.host(ref.host).entry.state not in ("up", "draining"):
        raise Refused("The host is in maintenance.")


def _destroy(domain: Any, *, only_unfinished: bool = False) -> None:
    try:
        if not only_unfinished or is_unfinished(*domain.state()):
            domain.destroy()
    except LibvirtError as error:
        if code(error) not in (virt.VIR_ERR_NO_DOMAIN, virt.VIR_ERR_OPERATION_INVALID):
            raise


def stop(ref: DomainRef, grace: float, sampling: Sampling) -> Work:
    def work(job: JobContext) -> None:
        host = job.host(ref.host)
        domain = host.domain(ref.id)
        if domain is None:
            return
        sampling.last(host, ref.id, domain)  # its counters go with it
        guest = ShuttingDown(domain, grace)
        while not guest.is_over():
            job.check()
            time.sleep(0.1)

    return work


def remove(ref: DomainRef) -> Work:
    def work(job: JobContext) -> None:
        host = job.host(job.entry(Domain, ref.id).host)
        host.undefine(ref.id)
        networks.drop_filter(host, ref.id)

    return work
