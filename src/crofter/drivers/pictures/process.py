"""The process that decodes one picture: no keys, no database, no files, no network, and not for long."""

from __future__ import annotations

import os
import resource
import sys

from crofter.drivers.pictures.cleaning import perform, rehearse
from crofter.drivers.pictures.wire import DONE, REFUSED, Unfit, answered, read

MEMORY = 1 << 30
SECONDS = 10
NOBODY = 65534
STANDARD = 3
"""Input, output and errors: nothing else can be opened, neither a file nor a connection."""


def confine() -> None:
    """Give up all that decoding does not need. A decoder that is taken over finds nothing to take."""
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, STANDARD),
    ):
        resource.setrlimit(limit, (most, most))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def main() -> None:
    rehearse()
    confine()
    task, content = read(sys.stdin.buffer.read())
    try:
        answer = answered(DONE, perform(task, content))
    except Unfit as unfit:
        answer = answered(REFUSED, str(unfit).encode())
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
