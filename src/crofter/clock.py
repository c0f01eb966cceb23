"""The service clock: real, frozen or moved, and never set back. The only place that reads the machine's time of day."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from msgspec import Struct

Mode = Literal["real", "frozen"]

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_MILLISECOND = 1_000_000
"""Nanoseconds per millisecond."""
_EASE = 20
"""While the machine's clock is behind, ours goes slower by one part in so many, so that the two meet again."""
_LONGEST_RUN = 5 * 1000 * _MILLISECOND
"""Longest gap between two readings. A longer gap means that the machine clock was set."""
_NOTE_EVERY = 100 * _MILLISECOND
_AGREED = 50
"""Milliseconds by which a machine's clock may differ from the shared one before it is corrected."""
LONGEST_JUMP = DAY
"""A machine's clock that was set forward by more stops service time in production, until an operator accepts it."""
_NOTICED = 1 * SECOND
"""A machine's clock that is behind by less is not worth a word."""


class Setting(Struct, frozen=True):
    """Stored setting of the clock, the same for every process and after a restart."""

    mode: Mode = "real"
    offset: int = 0
    """Milliseconds that service time is ahead of real time, while the clock runs."""
    frozen_at: int = 0
    """Service time in milliseconds while the clock is frozen."""
    serial: int = 0
    """Grows with every change, so that who has read an older setting does not take it for a newer one."""


read_wall: Callable[[], int] = time.time_ns
"""The machine's time of day in nanoseconds, however it was set."""


def machine_now() -> int:
    """Return milliseconds since 1970 by the machine's clock, even if it was set back. For leases only."""
    return read_wall() // _MILLISECOND


class Clock:
    """Service time in milliseconds since 1970, UTC.

    It follows the machine's clock, but not back: when that is set back, this one runs on from where it was, by the
    steady clock of the machine, until the other has caught up.
    """

    def __init__(self, setting: Setting | None = None, *, guarded: bool = False) -> None:
        self.setting = setting or Setting()
        self.guarded = guarded
        """True if service time stops after a jump of the machine's clock by more than ``LONGEST_JUMP``."""
        self.wall, self.steady = read_wall, time.monotonic_ns
        self.era = 0
        """Grows when time is put back on purpose, with everything else. 0: not begun yet."""
        self.held = False
        """True if no other process can set the clock: the values in memory are valid."""
        self._shared: int | None = None
        """Nanoseconds from the steady clock to the one that all processes share, if this machine's differs from it."""
        self._latest = 0
        """Latest moment that was returned."""
        self._noted = (0, 0)
        """A moment not long before it, and what the steady clock showed then."""
        self._running_on = threading.Lock()
        self._changing_era = threading.Lock()

    def now(self) -> int:
        setting = self.setting
        if setting.mode == "frozen":
            return setting.frozen_at
        return self.machine() + setting.offset

    def machine(self) -> int:
        """Real time in milliseconds, as far as the machine's clock was not set back."""
        moment = self._reading()
        if self.guarded and self._jumped(moment):
            return self._latest // _MILLISECOND
        if self._shared is not None:
            moment = min(moment, self._latest + _LONGEST_RUN)
        if moment < self._latest:
            return self._run_on(moment)
        self._latest = moment
        if moment - self._noted[0] > _NOTE_EVERY:  # seldom: to read a second clock takes as long as to read the first
            self._noted = (moment, self.steady())
        return moment // _MILLISECOND

    def _reading(self) -> int:
        """Return the nanoseconds of the machine's clock, or of the shared one if the two differ."""
        return self.wall() if self._shared is None else self.steady() + self._shared

    def _jumped(self, moment: int) -> bool:
        """True if ``moment`` is so far after the latest reading that the clock must have been set."""
        return moment - self._latest > LONGEST_JUMP * _MILLISECOND and self._latest > 0

    def _run_on(self, moment: int) -> int:
        with self._running_on:
            noted, since = self._noted
            steady = self.steady()
            passed = min(max(0, steady - since), _LONGEST_RUN)
            self._latest = max(moment, self._latest, noted + passed - passed // _EASE)
            self._noted = (self._latest, steady)
            return self._latest // _MILLISECOND

    def frozen(self) -> Setting:
        """The setting that makes the clock stand at this moment."""
        return Setting("frozen", 0, self.now())

    # latest moments seen by other and earlier processes

    def correct(self, shared: int) -> None:
        """Follow the clock that all processes share, which shows ``shared`` just now."""
        moment = shared * _MILLISECOND
        agreed = abs(moment - self.wall()) <= _AGREED * _MILLISECOND
        self._shared = None if agreed else moment - self.steady()
        if not (self.guarded and self._jumped(moment)):
            self.raise_to(shared)

    def raise_to(self, moment: int) -> None:
        """Return no machine time before ``moment`` from now on."""
        if self.guarded and not self._latest:
            self.restart(moment)  # before the first look at the machine's clock, which may be wrong
        elif moment > self.machine():
            self.restart(moment)

    def join(self, era: int, moment: int) -> bool:
        """Adopt the time of another process: ``moment`` in ``era``. Return True if the era is new.

        The check of the own era holds the lock. Otherwise a thread that read the mark of the old era could carry that
        time into the new era, and no process would leave it again.
        """
        with self._changing_era:
            if era > self.era > 0:
                self.era = era
                self.restart(moment)
                return True
            if era >= self.era:
                self.raise_to(moment)
            return False

    def begin_era(self, era: int, moment: int) -> None:
        with self._changing_era:
            self.era = era
            self.restart(moment)

    def restart(self, moment: int) -> None:
        """Continue from ``moment``, or from the machine's clock if that is later, ignoring earlier readings."""
        with self._running_on:
            self._latest = moment * _MILLISECOND
            self._noted = (self._latest, self.steady())

    def ahead(self) -> float:
        """Return the seconds by which the machine's clock jumped forward, while service time is stopped for it."""
        moment = self._reading()
        return (moment - self._latest) / (SECOND * _MILLISECOND) if self.guarded and self._jumped(moment) else 0.0

    def behind(self) -> float:
        """Return the seconds by which the machine's clock is behind the service clock."""
        gap = self.machine() - self.wall() // _MILLISECOND
        return gap / SECOND if gap >= _NOTICED else 0.0


def text(moment: int) -> str:
    """A moment as the interface writes it: ``YYYY-MM-DDTHH:MM:SS``, UTC, no zone."""
    return _second(moment // 1000)


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    """Format a second. Cached: the same few seconds are formatted many times in a row."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def parse(value: str) -> int:
    """Milliseconds of a date-time as the interface writes it; a trailing ``Z`` is tolerated."""
    bare = value[:-1] if value.endswith("Z") else value
    try:
        return int(datetime.strptime(bare, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()) * 1000
    except (OverflowError, OSError) as error:
        raise ValueError(value) from error
