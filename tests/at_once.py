"""Calls that are made at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Told = TypeVar("Told")


def at_once(*calls: Callable[[], Told]) -> list[Told]:
    """Return the results of the calls in order; all calls begin at the same moment."""
    gate = threading.Barrier(len(calls))

    def go(call: Callable[[], Told]) -> Told:
        gate.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(go, calls))
