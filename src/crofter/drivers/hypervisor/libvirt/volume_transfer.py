"""Copying volumes from host to host."""

from __future__ import annotations

import time
from collections.abc import Callable

from crofter.drivers.hypervisor.libvirt.binding import virt
from crofter.drivers.hypervisor.libvirt.host import HostClient, aborted

Check = Callable[[], None]
"""Raises when the work is not wanted any more."""


def transfer(source: HostClient, target: HostClient, name: str, new: str, capacity: int, check: Check) -> None:
    """Copy a volume, to another host through this process: libvirt has no other way for one that no machine uses."""
    if source.entry.id == target.entry.id:
        source.copy(name, new, capacity)
        return
    original, check_sometimes = source.volume(name), at_most_once_a_second(check)
    length = original.infoFlags(virt.VIR_STORAGE_VOL_GET_PHYSICAL)[2]
    stream = source.work_connection.newStream()
    original.download(stream, 0, length)

    def take(count: int) -> bytes:
        check_sometimes()
        received: bytes = stream.recv(count)
        return received

    try:
        target.send(new, take, length, "qcow2", capacity)
        stream.finish()
    except BaseException:
        aborted(stream)
        raise
    check()
    made = target.volume(new)
    if made.info()[1] < capacity:
        made.resize(capacity)


def at_most_once_a_second(check: Check) -> Check:
    """For loops over the pieces of a copy: each question is one to the database."""
    asked = time.monotonic()

    def ask() -> None:
        nonlocal asked
        now = time.monotonic()
        if now - asked >= 1:
            asked = now
            check()

    return ask
