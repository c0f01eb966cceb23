"""Reads of PostgreSQL that come at once share a transaction, a connection and one hand-over between threads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from queue import SimpleQueue
from typing import Any

from crofter.context import Actor
from crofter.db import Session
from crofter.edge.arguments import Request
from crofter.edge.endpoint import Endpoint
from crofter.edge.perform import Answer, Performer, bearer, refused
from crofter.edge.problems import Fault
from crofter.edge.write_queue import Job, deliver, log, waiting
from crofter.errors import Problem, Unavailable

HELP_SECONDS = 0.003
"""Seconds after which a second thread takes over waiting reads. Earlier, both threads would have small groups, and each
group costs a transaction and a thread switch.
"""
MOST = 8
"""Reads at one moment. The last of them waits for all others."""
MAX_QUEUE_SECONDS = 1.0
"""Seconds that a request waits for a thread before it is refused with 503."""
SEND_SECONDS = 0.01
"""After so long answers that are there are sent, even if others are still to come."""


class GroupReads:
    """Groups of reads. A group is taken before its snapshot begins, so that callers see their own writes."""

    def __init__(self, performer: Performer, pool: Executor) -> None:
        self._performer = performer
        self._pool = pool
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._busy = False
        """True while the first thread works. If it is idle after a job was queued, it will take the job."""
        self._watched = False
        """True if the event loop will check the waiting reads soon."""
        self._help = threading.Event()
        self._closed = False

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        for serve in (self._serve, self._stand_by):
            threading.Thread(target=serve, name="reads", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        self._jobs.put(None)
        self._help.set()

    def submit(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> asyncio.Future[Answer]:
        assert self._loop is not None
        answered: asyncio.Future[Answer] = self._loop.create_future()
        self._jobs.put(Job(endpoint, values, request, answered, time.monotonic()))
        if self._busy and not self._watched:
            self._watched = True
            self._loop.call_later(HELP_SECONDS, self._look)
        return answered

    def _look(self) -> None:
        self._watched = False
        if not self._jobs.empty():
            self._help.set()

    def _serve(self) -> None:
        self._performer.runtime.database.answers_callers()
        while (first := self._jobs.get()) is not None:
            self._busy = True
            self._together(self._with_others(first))
            self._busy = False

    def _stand_by(self) -> None:
        self._performer.runtime.database.answers_callers()
        while True:
            self._help.wait()
            self._help.clear()
            if self._closed:
                return
            while (first := waiting(self._jobs)) is not None:
                self._together(self._with_others(first))

    def _with_others(self, first: Job) -> list[Job]:
        jobs = [first]
        while len(jobs) < MOST and (job := waiting(self._jobs)) is not None:
            jobs.append(job)
        return jobs

    def _together(self, jobs: list[Job]) -> None:
        earliest = time.monotonic() - MAX_QUEUE_SECONDS
        late = [job for job in jobs if job.since < earliest]
        if late:
            self._tell(late, [refused(Unavailable(), None) for _ in late])
            jobs = [job for job in jobs if job.since >= earliest]
        try:
            sent = self._answer(jobs) if jobs else 0
        except Problem as problem:  # no connection: the same for all of them
            self._tell(jobs, [refused(problem, None) for _ in jobs])
            return
        except Exception:
            log.exception("%d reads failed together", len(jobs))
            self._tell(jobs, [refused(Fault(), None) for _ in jobs])
            return
        for job in jobs[sent:]:
            self._pool.submit(self._alone, job)

    def _answer(self, jobs: list[Job]) -> int:
        """Answer them in their order; how many were answered before the connection failed, if it did."""
        performer = self._performer
        answers: list[Answer] = []
        sent, since = 0, time.monotonic()
        database = performer.runtime.database
        with database.caller_waits_since(jobs[0].arrived), database.reading_together() as batch:
            with database.read() as db:
                actors = _Actors(performer, db, jobs)
            for job in jobs:
                answers.append(performer.perform(job.endpoint, job.values, job.request, actors.of))
                if batch.aborted:
                    break
                if time.monotonic() - since > SEND_SECONDS:
                    self._tell(jobs[sent : len(answers)], answers[sent:])
                    sent, since = len(answers), time.monotonic()
        self._tell(jobs[sent : len(answers)], answers[sent:])
        return len(answers)

    def _alone(self, job: Job) -> None:
        with self._performer.runtime.database.caller_waits_since(job.arrived):
            self._tell([job], [self._performer.perform(job.endpoint, job.values, job.request)])

    def _tell(self, jobs: list[Job], answers: list[Answer]) -> None:
        if jobs:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(deliver, jobs, answers)


class _Actors:
    """Lookup of the actors of all tokens in a snapshot, in a single round trip."""

    def __init__(self, performer: Performer, db: Session, jobs: list[Job]) -> None:
        self._looked_up: dict[bytes, Callable[[], Actor | None]] = {}
        for job in jobs:
            header = job.request.headers.get(b"authorization")
            if header is not None and header not in self._looked_up:
                presented = bearer(header)
                if presented:
                    self._looked_up[header] = performer.access.authenticating(performer.runtime, db, presented)

    def of(self, request: Request) -> Actor | None:
        looked_up = self._looked_up.get(request.headers.get(b"authorization", b""))
        return None if looked_up is None else looked_up()
