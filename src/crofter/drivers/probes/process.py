"""The probe process: told what to look at, tells what it saw. Has no database, no keys and no settings."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from crofter.drivers.probes.looking import look, trust
from crofter.drivers.probes.wire import HEAD, Answer, Ask, frame, length, read_ask

AT_ONCE = 1000
GROUP_AT_ONCE = 8
LOOKUPS = 64
GROUP_LOOKUPS = 4
"""A name server that never answers keeps a thread busy for long, and cannot be told to stop."""
NOBODY = 65534


class Places:
    """So many at once in all, and so many of each group."""

    def __init__(self, total: int, each: int) -> None:
        self._total = asyncio.Semaphore(total)
        self._each = each
        self._groups: dict[int, tuple[asyncio.Semaphore, int]] = {}

    @contextlib.asynccontextmanager
    async def take(self, group: int) -> contextlib.AsyncIterator[None] if False else object:  # type: ignore[misc]
        yield
