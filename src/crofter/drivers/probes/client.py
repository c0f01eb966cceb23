"""The server's side of the probe process: sends it what to look at, and collects what was seen."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import subprocess
import threading
import time
from collections.abc import Collection, Sequence
from typing import IO

from msgspec.structs import replace

from crofter.drivers import confined
from crofter.drivers.probes.wire import HEAD, Answer, Ask, frame, length, read_answer

log = logging.getLogger("crofter")

KEPT = 600.0
"""Seconds until an uncollected result is dropped: the caller may have died."""
SLOW = 1.0
"""Results that took longer than this may be reused where a repetition would take as long."""
FRESH = 10.0

Question = tuple[str, str, str | None]


class ProbeClient:
    """Client of the probe process. Starts the process on demand and after its end."""

    def __init__(self, *certificates: str) -> None:
        """``certificates``: files with those of authorities that are trusted besides the system's."""
        self._command = confined.command("crofter.drivers.probes.process", *certificates)
        self._ids = itertools.count(1)
        self._news = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: dict[int, tuple[str, Question]] = {}
        """Probes in progress with their topics."""
        self._answers: dict[int, tuple[float, Answer]] = {}
        self._slow: dict[Question, tuple[float, Answer]] = {}
        self.name = f"{os.getpid()}-{time.monotonic_ns()}"
        """Prefix of probe ids: ids are valid for this client only."""

    # requests

    def ask(self, asks: Sequence[tuple[str, Ask]]) -> list[int]:
        """Send probes, each with a topic, and return their ids in order."""
        with self._news:
            pipe = self._pipe()
            self._forget_old()
            numbered = [(subject, replace(ask, id=next(self._ids))) for subject, ask in asks]
            self._asked.update((ask.id, (subject, _question(ask))) for subject, ask in numbered)
        try:
            pipe.write(b"".join(frame(ask) for _, ask in numbered))
            pipe.flush()
        except OSError:
            log.warning("the probe process is gone")  # the reader has reported the loss, or is about to
        return [ask.id for _, ask in numbered]

    @property
    def process_id(self) -> int | None:
        """Return the pid of the probe process, or None."""
        process = self._process
        return None if process is None else process.pid

    def busy(self) -> set[str]:
        """Return the topics of the probes in progress."""
        with self._news:
            return {subject for subject, _ in self._asked.values()}

    def recent(self, ask: Ask) -> Answer | None:
        """Return a slow result of the last few seconds: for a server whose clock is being advanced."""
        with self._news:
            at, answer = self._slow.get(_question(ask), (0.0, None))
            return answer if at and time.monotonic() - at < FRESH else None

    def collect(self, ids: Collection[int], timeout: float) -> tuple[dict[int, Answer], list[int]]:
        """Return the results that arrive within ``timeout`` seconds, and the ids still in progress.

        A probe in neither was lost with its process.
        """
        with self._news:
            self._news.wait_for(lambda: not any(ask_id in self._asked for ask_id in ids), timeout=timeout)
            answers = {ask_id: self._answers.pop(ask_id)[1] for ask_id in ids if ask_id in self._answers}
            return answers, [ask_id for ask_id in ids if ask_id in self._asked]

    def forget(self) -> None:
        """Drop all probes and results: their caller has ended."""
        with self._news:
            self._answers.clear()
            self._slow.clear()
            self._lose()

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._slow = {question: seen for question, seen in self._slow.items() if now - seen[0] < FRESH}
        before = now - KEPT
        while self._answers and (oldest := next(iter(self._answers))) and self._answers[oldest][0] < before:
            del self._answers[oldest]

    # ---- the process ------------------------------------------------------------------------------------------------

    def _pipe(self) -> IO[bytes]:
        process = self._process
        if process is None or process.poll() is not None:
            # the reader may not have reported the loss yet, and must not consume the probes of the next process
            self._lose()
            process = self._process = confined.start(self._command)
            atexit.register(self.close)
            threading.Thread(target=self._hear, args=(process,), name="probe answers", daemon=True).start()
        assert process.stdin is not None
        return process.stdin

    def _hear(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            while head := process.stdout.read(HEAD.size):
                self._heard(read_answer(process.stdout.read(length(head))))
        except Exception:
            log.exception("the probe process cannot be understood")
            process.kill()
        code = process.wait()
        with self._news:
            if self._process is process:
                log.warning("the probe process has ended with code %s; the next question starts another", code)
                self._process = None
                self._lose()

    def _lose(self) -> None:
        """Drop the probes in progress: no results will arrive."""
        self._asked.clear()
        self._news.notify_all()

    def _heard(self, answer: Answer) -> None:
        with self._news:
            asked = self._asked.pop(answer.id, None)
            if asked is not None:
                self._answers[answer.id] = (time.monotonic(), answer)
                if answer.seconds > SLOW:
                    self._slow[asked[1]] = (time.monotonic(), answer)
                self._news.notify_all()

    def close(self) -> None:
        with self._news:
            process, self._process = self._process, None
            self._lose()
        if process is not None:
            atexit.unregister(self.close)
            confined.stop(process)


def _question(ask: Ask) -> Question:
    return ask.kind, ask.address, ask.body
