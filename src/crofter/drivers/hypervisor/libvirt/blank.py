"""Disks with nothing but an empty file system on them. Nothing of a tenant is read, so they are made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from crofter.drivers.hypervisor.libvirt import helper, scripts
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.job_context import JobContext
from crofter.drivers.hypervisor.libvirt.media import MB
from crofter.drivers.hypervisor.libvirt.swap_header import swap_header
from crofter.drivers.hypervisor.specs import DiskSpec

TOOLS = ("mke2fs", "qemu-img")
_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin"


def make(job: JobContext, host: HostClient, name: str, spec: DiskSpec) -> None:
    if spec.filesystem in ("raw", "initrd"):
        host.create(name, spec.size * MB)
    elif spec.filesystem == "swap":
        # Its header is all there is to it; the copy gives it its size.
        part = job.scratch("swap")
        host.send_bytes(part, swap_header(spec.size * MB))
        host.copy(part, name, spec.size * MB)
        host.drop(part)
    elif all(_tool(tool) for tool in TOOLS):
        _make_here(host, name, spec)
    else:
        host.create(name, spec.size * MB)
        helper.run(job, host, name, scripts.make_script(spec.filesystem))


def _make_here(host: HostClient, name: str, spec: DiskSpec) -> None:
    """Create the disk as a sparse file, and send only the written parts."""
    with tempfile.TemporaryDirectory() as folder:
        raw, packed = Path(folder, "raw"), Path(folder, "packed")
        with raw.open("wb") as file:
            file.truncate(spec.size * MB)
        _run(["mke2fs", "-q", "-F", "-t", spec.filesystem, str(raw)])
        _run(["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", str(raw), str(packed)])
        with packed.open("rb") as file:
            host.send(name, file.read, packed.stat().st_size, "qcow2", spec.size * MB)


def _tool(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_FOLDERS}")


def _run(command: list[str]) -> None:
    tool = _tool(command[0])
    assert tool is not None
    subprocess.run([tool, *command[1:]], check=True, capture_output=True, timeout=600)
