"""Ends machines that have come to a halt while they start: libvirt waits for QEMU without an end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crofter.drivers.hypervisor.libvirt.host import HostClient

log = logging.getLogger("crofter")

AGAIN = 1.0
"""Real seconds until another look after one that has failed."""


@contextmanager
def watched(host: HostClient, seconds: float, look: Callable[[Any], Any]) -> Iterator[threading.Event]:
    """Call ``look`` every ``seconds`` of real time with a connection; ``look`` returns a halted machine or None.

    The halted machine is destroyed and the event is set: calls that wait for the machine then raise a libvirt error.
    """
    halted, over = threading.Event(), threading.Event()

    def watch() -> None:
        pause = seconds
        while not over.wait(pause):
            pause = AGAIN
            try:
                # Five calls of a connection at most are answered at a time, and each of those may be one that hangs.
                domain = look(host.watch_connection)
                if domain is not None:
                    halted.set()
                    domain.destroy()
                    log.warning("%s on host %s had come to a halt, and was ended", domain.name(), host.entry.id)
                return
            except Exception as error:
                log.warning("a machine that may have come to a halt is looked at again: %s", error)

    threading.Thread(target=watch, name="watch of a start", daemon=True).start()
    try:
        yield halted
    finally:
        over.set()
