"""Shutdown of a machine: a request to the guest, and the end of power after the grace period."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, code, virt

ASK_AGAIN = 2.0
"""Seconds between shutdown requests: a booting guest ignores the first one."""
_HARMLESS = (virt.VIR_ERR_OPERATION_INVALID, virt.VIR_ERR_AGENT_UNRESPONSIVE, virt.VIR_ERR_NO_DOMAIN)
"""Errors of a machine that went off at this moment, or whose agent does not answer. The loop repeats the request or
cuts the power.
"""


class ShuttingDown:
    def __init__(self, domain: Any, grace: float) -> None:
        self._domain = domain
        self._ends = time.monotonic() + grace
        self._ask_at = 0.0

    def is_over(self) -> bool:
        """Continue the shutdown. True once the machine is off. Called repeatedly."""
        if not self._is_on():
            return True
        now = time.monotonic()
        if now >= self._ends:
            _ignoring_harmless(self._domain.destroy)
        elif now >= self._ask_at:
            self._ask_at = now + ASK_AGAIN
            _ignoring_harmless(self._domain.shutdown)
        return not self._is_on()

    def _is_on(self) -> bool:
        try:
            return bool(self._domain.isActive())
        except LibvirtError as error:
            if code(error) != virt.VIR_ERR_NO_DOMAIN:
                raise
            return False


def _ignoring_harmless(call: Callable[[], Any]) -> None:
    try:
        call()
    except LibvirtError as error:
        if code(error) not in _HARMLESS:
            raise
