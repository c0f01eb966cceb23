"""The helper system: a machine that lives for seconds, beside a disk, and works on what is inside.

What a tenant has written is read in there and never on the host. It is given a script on one small disk and answers
on another. Texts travel as data, encoded: nothing of a tenant is ever a word of the script.
"""

from __future__ import annotations

import logging
import time
import uuid
from typing import Any

from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt
from crofter.drivers.hypervisor.libvirt.domain_xml import Boot, Drive, MachineXml, machine
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import JobContext
from crofter.drivers.hypervisor.libvirt.watching import watched

log = logging.getLogger("crofter")

LIMIT = 600.0
"""Real seconds after which the helper counts as hung."""
STARTS = 120.0
"""Real seconds after which it is started again if it has not begun with its script. That takes a few; but an emulated
machine may come to a halt while it boots."""
BEGUN = "begun\n"
"""Marker that the helper machine writes first, in place of its result."""
FIRST = f'echo {BEGUN.strip()} | dd of="$D_sdc" conv=notrunc,fsync 2>/dev/null || :\n'
"""Part of each script, so that helper systems of any age do it."""
SMALLEST = 1 << 16
"""Bytes of the disks for script and answer."""
MEMORY = 256
TRIES = 3


class HelperFailed(Exception):
    """The script did not come to its end; its last words."""

    def __init__(self, words: str, answer: str = "") -> None:
        super().__init__(words)
        self.answer = answer
        """Output of the helper so far."""


def run(job: JobContext, host: HostClient, volume: str, script: str) -> str:
    """Run the script on an idle disk and return its output.

    A machine that ends without output was killed and is started again: every script may run twice. A machine that does
    not reach its script is started again too, except at the last attempt, because a host may be very slow.
    """
    for attempt in range(1, TRIES + 1):
        answer = _answer(job, host, volume, script, starts=STARTS if attempt < TRIES else LIMIT)
        if answer:
            break
        log.warning("job %s: the helper system went without a word, at try %s of %s", job.number, attempt, TRIES)
    if not answer.startswith("rc=0\n"):
        raise HelperFailed(answer[-400:] or "no answer", answer)
    return answer


def _answer(job: JobContext, host: HostClient, volume: str, script: str, *, starts: float) -> str:
    files = {name: job.scratch(name) for name in ("script", "answer")}
    content = (FIRST + script).encode()
    host.send_bytes(files["script"], content.ljust(-(-len(content) // SMALLEST) * SMALLEST, b"\0"))
    host.send_bytes(files["answer"], bytes(SMALLEST))
    try:
        _boot(job, host, volume, files, starts)
        answer = _written(host, files["answer"])
    finally:
        for name in files.values():
            host.drop(name)
    return "" if answer == BEGUN else answer


def _written(host: HostClient, file: str, connection: Any = None) -> str:
    parts: list[bytes] = []
    host.receive(file, parts.append, connection)
    return b"".join(parts).rstrip(b"\0").decode(errors="replace")


def _boot(job: JobContext, host: HostClient, volume: str, files: dict[str, str], starts: float) -> None:
    system = job.media.helper
    boot = Boot(host.path(host.have(system.kernel)), host.path(host.have(system.initrd)), "quiet panic=-1")
    drives = (
        Drive(host.path(volume), "sda"),
        Drive(host.path(files["script"]), "sdb", "raw", readonly=True),
        Drive(host.path(files["answer"]), "sdc", "raw"),
    )
    name, identity = host.names.helper(job.number), str(uuid.uuid4())
    job.check()
    _destroy(host.named(name))  # left by a process that died during this job
    wanted = MachineXml(name, identity, 0, host.platform, MEMORY, 1, drives, boot, helper=True)

    def halted(connection: Any) -> Any:
        helper = connection.lookupByUUIDString(identity)
        return None if _written(host, files["answer"], connection) else helper

    domain = None
    with watched(host, starts, halted) as was_ended:
        try:
            domain = host.work_connection.createXML(machine(wanted), virt.VIR_DOMAIN_START_AUTODESTROY)
            _await_end(job, domain)
        except LibvirtError:
            if not was_ended.is_set():
                raise
        finally:
            _destroy(domain)  # only this machine, not that of a process that took over the job


def _await_end(job: JobContext, domain: Any) -> None:
    ends = time.monotonic() + LIMIT
    while _is_there(domain):
        job.check()
        if time.monotonic() > ends:
            raise HelperFailed("the helper system hangs")
        time.sleep(0.05)


def _is_there(domain: Any) -> bool:
    try:
        return bool(domain.isActive())
    except LibvirtError as error:
        if code(error) == virt.VIR_ERR_NO_DOMAIN:
            return False
        raise


def _destroy(domain: Any) -> None:
    try:
        if domain is not None:
            domain.destroy()
    except LibvirtError as error:
        if code(error) not in (virt.VIR_ERR_NO_DOMAIN, virt.VIR_ERR_OPERATION_INVALID):
            raise
