"""Stop of a process that ends even if threads or connections hang."""

from __future__ import annotations

import faulthandler
import signal

MOST_SECONDS = 25.0
"""Requests have ten seconds to end and operations four. deploy/systemd kills what still runs after thirty."""
STDERR = 2


def hear_signals(signals: set[signal.Signals]) -> None:
    """Unblock the signals: a parent process may have blocked them, and children inherit the mask."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def end_within(seconds: float) -> None:
    """End the process with 1, and say where each thread stood, if it has not ended by itself until then.

    Nothing is lost by it: all that was answered is on disk, and operations go on where they were at the next start.
    """
    faulthandler.dump_traceback_later(seconds, file=STDERR, exit=True)
