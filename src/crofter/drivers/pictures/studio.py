"""The server's side of the process for pictures: a new one for each, a few at a time, and none for long."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from crofter.drivers.pictures import png
from crofter.drivers.pictures.wire import HEAD, Kind, Task, Unfit, asked, heard

COMMAND = (sys.executable, "-I", "-m", "crofter.drivers.pictures.process")
AT_ONCE = 2
WAITING = 4
"""How many may wait for their turn. Unpacking is where a small request can cost much."""
PATIENCE = 20.0
UNDECODED = "The image cannot be decoded"
_REASON = 200

_room = threading.BoundedSemaphore(AT_ONCE + WAITING)
_turn = threading.BoundedSemaphore(AT_ONCE)


class Crowded(Exception):
    """So many pictures are waiting already that this one should come back later."""


def cleaned(content: bytes, kind: Kind, *, most_pixels: int, most_bytes: int) -> bytes:
    """The picture as PNG with nothing else in it, or Unfit. A PNG that is a picture and nothing else stays as it is."""
    made = _asked(Task(kind, most_pixels, most_bytes, clean=True), content, most_bytes)
    # Whoever takes over the decoder writes this, so it is looked at once more, without unpacking anything.
    if not png.plain(made):
        raise Unfit(UNDECODED)
    return made


def decodes(content: bytes, kind: Kind, *, most_pixels: int) -> bool:
    """Whether this is a picture of that kind, and not too big a one."""
    try:
        _asked(Task(kind, most_pixels), content, 0)
    except Unfit:
        return False
    return True


def _asked(task: Task, content: bytes, most: int) -> bytes:
    with _place():
        answer = _told(asked(task, content), 1 + HEAD.size + max(most, _REASON))
    result = heard(answer)
    if result is None:  # it died of the picture, or took too long
        raise Unfit(UNDECODED)
    return result


@contextmanager
def _place() -> Iterator[None]:
    if not _room.acquire(blocking=False):
        raise Crowded
    try:
        with _turn:
            yield
    finally:
        _room.release()


def _told(words: bytes, most: int) -> bytes:
    """What a new process answers, as far as that is no longer than it may be."""
    # Nothing of the server goes with it: no variables, no open files, no terminal.
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    end = threading.Timer(PATIENCE, process.kill)
    end.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(words)
            process.stdin.close()
        return process.stdout.read(most + 1)
    finally:
        end.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.close()
