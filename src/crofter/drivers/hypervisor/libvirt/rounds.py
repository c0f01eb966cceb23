"""Periodic work on all hosts in parallel: a silent host delays no other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial

from crofter.drivers.hypervisor.errors import DriverError
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from crofter.drivers.hypervisor.libvirt.connections import PATIENCE, in_daemon_thread

log = logging.getLogger("crofter")


class Rounds:
    def __init__(self, what: str) -> None:
        self._what = what
        self._under_way: dict[int, Future[None]] = {}

    def visit(self, work: dict[int, Callable[[], None]], patience: float = PATIENCE) -> None:
        """Do this on each of these hosts, and wait so many seconds for it.

        A host where the last round is still under way is left out. One that goes away in the middle is given up for
        this round.
        """
        self._under_way = {host: visit for host, visit in self._under_way.items() if not visit.done()}
        begun = {
            host: in_daemon_thread(partial(self._visit, host, call))
            for host, call in work.items()
            if host not in self._under_way
        }
        self._under_way |= begun
        wait(begun.values(), patience)

    def _visit(self, host: int, work: Callable[[], None]) -> None:
        try:
            work()
        except (DriverError, LibvirtError) as error:
            log.info("host %s was not %s: %s", host, self._what, error)
        except Exception:
            log.exception("host %s was not %s", host, self._what)
