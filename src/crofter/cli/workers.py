"""Several processes that share one listening socket: one that dies is replaced, ever later if they keep dying."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from typing import Protocol

from crofter.cli import logs

log = logging.getLogger("crofter")

SHORTEST, LONGEST = 0.5, 10.0
"""Seconds from an end to the next start: they double each time, for what ends so soon mostly ends so again."""
STEADY_SECONDS = 60.0
"""Lifetime after which the restart counter of a worker process is reset."""
_HANDLED_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class Place:
    """A slot for one worker process and its successors."""

    def __init__(self) -> None:
        self.process: int | None = None
        self.since = time.monotonic()
        self.start_at = 0.0
        self._wait = SHORTEST

    def ended(self, status: int) -> None:
        now = time.monotonic()
        if now - self.since > STEADY_SECONDS:
            self._wait = SHORTEST
        log.warning(
            "process %d ended with %d after %.1f s; another one starts in %.1f s",
            self.process,
            os.waitstatus_to_exitcode(status),
            now - self.since,
            self._wait,
        )
        self.process, self.start_at = None, now + self._wait
        self._wait = min(self._wait * 2, LONGEST)


class Serve(Protocol):
    def __call__(self, *, first: bool, place: int) -> int:
        """Serve until a stop. ``first``: no other process was started before. ``place``: 0, 1, 2 …"""


class Workers:
    def __init__(self, count: int, serve: Serve) -> None:
        self._serve = serve
        self._places = [Place() for _ in range(count)]
        self._stopping = False
        self._started = False
        # A closed terminal sends SIGHUP, and the processes must stop with it.
        at_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._stops = {signal.SIGTERM, signal.SIGINT} | ({signal.SIGHUP} if at_terminal else set())

    def run(self) -> int:
        """Run the processes until a signal has stopped them all."""
        # Blocked here and fetched in a single place, so that no signal gets lost. Ignored signals are never fetched.
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED_SIGNALS)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        while True:
            self._start_due()
            running = any(place.process is not None for place in self._places)
            if self._stopping and not running:
                return 0
            self._wait_for_signal()

    def _start_due(self) -> None:
        now = time.monotonic()
        for number, place in enumerate(self._places):
            if place.process is None and not self._stopping and place.start_at <= now:
                place.process, place.since = self._start(number), now

    def _start(self, place: int) -> int:
        first, self._started = not self._started, True
        process = os.fork()
        if process == 0:
            code = 1
            try:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it knows what to do about one
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED_SIGNALS)
                code = self._serve(first=first, place=place)
            except Exception as error:
                print(f"crofter: {error}", file=sys.stderr)
            finally:
                os._exit(code)
        return process

    def _wait_for_signal(self) -> None:
        """Wait for a signal, or for the time of the next start."""
        waiting = [place.start_at for place in self._places if place.process is None and not self._stopping]
        seconds = max(min(waiting) - time.monotonic(), 0.0) if waiting else STEADY_SECONDS
        info = signal.sigtimedwait(_HANDLED_SIGNALS, seconds)
        if info is not None and info.si_signo in self._stops:
            self._stopping = True
            self._pass_on(signal.SIGTERM)
        elif info is not None and info.si_signo == signal.SIGHUP:
            logs.FILE.reopen()  # for what this process says, and for those that it starts
            self._pass_on(signal.SIGHUP)
        self._reap()

    def _pass_on(self, number: signal.Signals) -> None:
        for place in self._places:
            if place.process is not None:
                os.kill(place.process, number)

    def _reap(self) -> None:
        for place in self._places:
            if place.process is None:
                continue
            ended, status = os.waitpid(place.process, os.WNOHANG)
            if ended and self._stopping:
                place.process = None
            elif ended:
                place.ended(status)
