"""Resources of a process: CPU time in nanoseconds, and resident memory."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable
from pathlib import Path

_libc = ctypes.CDLL(None)


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time that these processes have used so far, all their threads together."""
    return sum(map(_cpu_seconds, pids))


def _cpu_seconds(pid: int) -> float:
    clock = ctypes.c_int()
    if _libc.clock_getcpuclockid(pid, ctypes.byref(clock)):
        return 0.0  # the process has ended
    return time.clock_gettime(clock.value)


def resident_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kilobytes) / 1024


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]
