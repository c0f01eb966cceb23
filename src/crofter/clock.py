"""The service clock: real, frozen or moved. The only place that reads the machine's time of day."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from msgspec import Struct

Mode = Literal["real", "frozen"]

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Setting(Struct, frozen=True):
    """What the clock is set to. Stored, so that a restart and every process agree."""

    mode: Mode = "real"
    offset: int = 0
    """Milliseconds that service time is ahead of real time, while the clock runs."""
    frozen_at: int = 0
    """Service time in milliseconds, while the clock stands."""
    serial: int = 0
    """Grows with every change, so that who has read an older setting does not take it for a newer one."""


def machine_now() -> int:
    """Real milliseconds since 1970. For leases and deadlines only: service time may jump."""
    return time.time_ns() // 1_000_000


class Clock:
    """Service time in milliseconds since 1970, UTC."""

    def __init__(self, setting: Setting | None = None) -> None:
        self.setting = setting or Setting()

    def now(self) -> int:
        setting = self.setting
        if setting.mode == "frozen":
            return setting.frozen_at
        return time.time_ns() // 1_000_000 + setting.offset

    def frozen(self) -> Setting:
        """The setting that makes the clock stand at this moment."""
        return Setting("frozen", 0, self.now())


def text(moment: int) -> str:
    """A moment as the interface writes it: ``YYYY-MM-DDTHH:MM:SS``, UTC, no zone."""
    return _second(moment // 1000)


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    """The same few seconds are asked for many times in a row."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def parse(value: str) -> int:
    """Milliseconds of a date-time as the interface writes it; a trailing ``Z`` is tolerated."""
    bare = value[:-1] if value.endswith("Z") else value
    try:
        return int(datetime.strptime(bare, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()) * 1000
    except (OverflowError, OSError) as error:
        raise ValueError(value) from error
