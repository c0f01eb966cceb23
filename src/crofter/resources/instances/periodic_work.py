"""Has the hypervisor driver do its periodic work, and looks at what it has noticed. Only real machines need it."""

from __future__ import annotations

import logging
import threading

from crofter.context import Runtime
from crofter.resources.instances import hypervisor_client, watchdog

log = logging.getLogger("crofter")

AFTER_TROUBLE = 10.0
"""Seconds until the next try, after one that broke off."""
LONGEST = 60.0


class PeriodicWorkThread:
    """A thread of a process that works. Several processes may have one each: a driver shares the work out."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hypervisor periodic work", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(min(pause, LONGEST)):
            try:
                pause = hypervisor_client.hypervisor(self._runtime).run_periodic_work()
                watchdog.attend(self._runtime)
            except Exception:
                log.exception("the periodic work on hosts broke off")
                pause = AFTER_TROUBLE
