"""The server's side of the process for pictures: a new one for each, a few at a time, and none for long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from crofter.drivers import confined
from crofter.drivers.pictures import png
from crofter.drivers.pictures.wire import HEAD, Kind, Task, Unfit, decode_answer, encode_task

COMMAND = confined.command("crofter.drivers.pictures.process")
AT_ONCE = 2
WAITING = 4
"""How many may wait for their turn. Unpacking is where a small request can cost much."""
MAX_SECONDS = 20.0
"""Time limit in seconds for a picture."""
UNDECODED = "The image cannot be decoded"
_REASON = 200

_queue = threading.BoundedSemaphore(AT_ONCE + WAITING)
_running = threading.BoundedSemaphore(AT_ONCE)


class Crowded(Exception):
    """Too many pictures are waiting. Callers retry later."""


def cleaned(content: bytes, kind: Kind, *, most_pixels: int, most_bytes: int) -> bytes:
    """The picture as PNG with nothing else in it, or Unfit. A PNG that is a picture and nothing else stays as it is."""
    made = _decode(Task(kind, most_pixels, most_bytes, clean=True), content, most_bytes)
    # A compromised decoder could have written this, so the result is checked again without unpacking.
    if not png.plain(made):
        raise Unfit(UNDECODED)
    return made


def decodes(content: bytes, kind: Kind, *, most_pixels: int) -> bool:
    """True if the content is a picture of that kind within the size limit."""
    try:
        _decode(Task(kind, most_pixels), content, 0)
    except Unfit:
        return False
    return True


def _decode(task: Task, content: bytes, most: int) -> bytes:
    with _slot():
        answer = _run(encode_task(task, content), 1 + HEAD.size + max(most, _REASON))
    result = decode_answer(answer)
    if result is None:  # the process crashed or timed out
        raise Unfit(UNDECODED)
    return result


@contextmanager
def _slot() -> Iterator[None]:
    if not _queue.acquire(blocking=False):
        raise Crowded
    try:
        with _running:
            yield
    finally:
        _queue.release()


def _run(question: bytes, most: int) -> bytes:
    """Return the output of a new process, up to the size limit."""
    process = confined.start(COMMAND)
    assert process.stdin is not None
    assert process.stdout is not None
    deadline = threading.Timer(MAX_SECONDS, process.kill)
    deadline.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(question)
            process.stdin.close()
        return process.stdout.read(most + 1)
    finally:
        deadline.cancel()
        confined.stop(process)
