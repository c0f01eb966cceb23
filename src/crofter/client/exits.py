"""How commands end. docs/command-line.md lists the same numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

OK = 0
REFUSED = 1
USAGE = 2
TIMEOUT = 3
FAILED = 4
UNAUTHORISED = 5
UNREACHABLE = 6
INTERRUPTED = 130


class Stop(Exception):
    """A command cannot go on. The text is for people, the code for programs."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code

    def rendered(self, *, as_json: bool) -> str:
        """Return the text for standard error."""
        return f"crofter: {self}"


def guarded(work: Callable[[], int], *, as_json: bool = False) -> int:
    """Return the exit code of a command. Print reasons on standard error."""
    try:
        try:
            return work()
        finally:  # also before SystemExit, so that a pipe that broke is found here
            sys.stdout.flush()
    except Stop as stop:
        print(stop.rendered(as_json=as_json), file=sys.stderr)
        return stop.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough; nothing more may be written at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
