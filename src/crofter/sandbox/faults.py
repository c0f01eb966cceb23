"""Calls that are made to fail on request: the next N that match, never at random."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import msgspec

from crofter.sandbox.shapes import HttpFault


class Faults:
    """HTTP faults of this process."""

    def __init__(self) -> None:
        self._faults: dict[int, HttpFault] = {}
        self._left: dict[int, int] = {}
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, fault: HttpFault) -> int:
        with self._lock:
            number = next(self._ids)
            self._faults[number] = fault
            self._left[number] = fault.times
            return number

    def listed(self) -> list[dict[str, Any]]:
        with self._lock:
            return [
                {"id": number, **msgspec.to_builtins(fault), "left": self._left[number]}
                for number, fault in self._faults.items()
            ]

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()
            self._left.clear()

    def strike(self, method: str, path: str) -> int | None:
        """The status that this call must answer with, if a fault waits for it."""
        if not self._faults:
            return None
        with self._lock:
            for number, fault in self._faults.items():
                if fault.method.upper() in ("*", method) and fault.path.rstrip("/") in ("*", path.rstrip("/")):
                    self._left[number] -= 1
                    if not self._left[number]:
                        del self._faults[number], self._left[number]
                    return fault.status
        return None
