"""The process that decodes one picture: no keys, no database, no files, no network, and not for long."""

from __future__ import annotations

import os
import sys

from crofter.drivers import confined
from crofter.drivers.pictures.cleaning import perform, warm_up
from crofter.drivers.pictures.wire import DONE, REFUSED, Unfit, decode_task, encode_answer

CPU_SECONDS = 10
STANDARD = 3
"""Input, output and errors: nothing else can be opened, neither a file nor a connection."""


def confine() -> None:
    confined.confine(open_files=STANDARD, cpu_seconds=CPU_SECONDS, threads=False)


def main() -> None:
    warm_up()
    confine()
    task, content = decode_task(sys.stdin.buffer.read())
    try:
        answer = encode_answer(DONE, perform(task, content))
    except Unfit as unfit:
        answer = encode_answer(REFUSED, str(unfit).encode())
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
