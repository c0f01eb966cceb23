"""The one thread that changes an embedded database: what comes while it is busy is committed together."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from msgspec import Struct

from crofter.db.database import BatchAborted
from crofter.edge.arguments import Request
from crofter.edge.endpoint import Endpoint
from crofter.edge.perform import Answer, Performer, refused
from crofter.edge.problems import Fault
from crofter.errors import Problem, Unavailable

log = logging.getLogger("crofter")

MOST = 64
"""Maximum number of requests in a commit."""
MAX_QUEUE_SECONDS = 1.0
"""Seconds that a request waits in the queue before it is refused with 503."""
CROWDED_SECONDS = 0.5
"""Once a request has waited so long no other is let into the queue, so that those in it are answered in time."""


class Job(Struct, eq=False):
    endpoint: Endpoint
    values: dict[str, Any]
    request: Request
    answered: asyncio.Future[Answer]
    since: float

    @property
    def arrived(self) -> float:
        """Moment at which the caller began to wait."""
        return self.since - self.request.waited


class WriteQueue:
    """SQLite has one writer. Threads that fight over it cost more than the writing; a queue costs nothing."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waited = 0.0
        """Seconds that the request which was taken up last had waited."""

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._serve, name="writes", daemon=True).start()

    def close(self) -> None:
        self._jobs.put(None)

    async def perform(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> Answer:
        assert self._loop is not None
        if self._waited > CROWDED_SECONDS and not self._jobs.empty():
            return refused(Unavailable(), None)
        job = Job(endpoint, values, request, self._loop.create_future(), time.monotonic())
        self._jobs.put(job)
        return await job.answered

    def _serve(self) -> None:
        assert self._loop is not None
        while (first := self._jobs.get()) is not None:
            jobs = [first]
            self._loop.call_soon_threadsafe(deliver, jobs, self._answers(jobs))

    def _answers(self, jobs: list[Job]) -> list[Answer]:
        """Return the responses of the job and of later jobs that joined ``jobs`` meanwhile."""
        try:
            try:
                return self._optimistically(jobs)
            except BatchAborted:
                with self._performer.runtime.database.batch():
                    return [self._perform(job) for job in jobs]
        except Problem as problem:
            return [refused(problem, None) for _ in jobs]
        except Exception:
            log.exception("%d writes failed together", len(jobs))
            return [refused(Fault(), None) for _ in jobs]

    def _optimistically(self, jobs: list[Job]) -> list[Answer]:
        with self._performer.runtime.database.batch(optimistic=True) as turn:
            answers = [self._perform(jobs[0])]
            while len(jobs) < MOST and not turn.aborted and (job := waiting(self._jobs)) is not None:
                jobs.append(job)
                answers.append(self._perform(job))
            return answers

    def _is_late(self, job: Job) -> bool:
        self._waited = time.monotonic() - job.since
        return self._waited > MAX_QUEUE_SECONDS

    def _perform(self, job: Job) -> Answer:
        if self._is_late(job):
            return refused(Unavailable(), None)
        return self._performer.perform(job.endpoint, job.values, job.request)


def waiting(jobs: SimpleQueue[Job | None]) -> Job | None:
    """The next one, if there is one. The end of the queue stays where it is."""
    try:
        job = jobs.get_nowait()
    except Empty:
        return None
    if job is None:
        jobs.put(None)  # the end is for the next round
    return job


def deliver(jobs: list[Job], answers: list[Answer]) -> None:
    for job, answer in zip(jobs, answers, strict=True):
        if not job.answered.done():
            job.answered.set_result(answer)
