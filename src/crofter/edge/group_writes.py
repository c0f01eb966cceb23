"""Writes to PostgreSQL that come at once share a transaction, and wait for its disk once."""

from __future__ import annotations

from concurrent.futures import Executor

from crofter.db.database import Batch, BatchAborted, TransactionConflict
from crofter.edge.perform import Answer, Performer, refused
from crofter.edge.problems import Fault
from crofter.edge.write_queue import Job, WriteQueue, deliver, log, waiting
from crofter.errors import Problem, Unavailable

MOST = 16
"""Requests in one commit. With more, those who want one of their accounts would wait too long."""


class GroupWrites(WriteQueue):
    """Groups of writes in one commit. A write whose account is locked, and all writes of a failed group, run alone in
    another thread, so that no other write waits for them.
    """

    def __init__(self, performer: Performer, pool: Executor) -> None:
        super().__init__(performer)
        self._pool = pool

    def _serve(self) -> None:
        self._performer.runtime.database.answers_callers()
        while (first := self._jobs.get()) is not None:
            jobs = [first]
            while len(jobs) < MOST and (job := waiting(self._jobs)) is not None:
                jobs.append(job)
            late = [job for job in jobs if self._is_late(job)]
            if late:
                self._tell(late, [refused(Unavailable(), None) for _ in late])
                jobs = [job for job in jobs if job not in late]
            if jobs:
                self._together(jobs)

    def _together(self, jobs: list[Job]) -> None:
        try:
            with self._performer.runtime.database.caller_waits_since(jobs[0].arrived):
                together, answers = self._answers_of(jobs)
        except (BatchAborted, TransactionConflict):
            together, answers = [], []
        except Problem as problem:
            self._tell(jobs, [refused(problem, None) for _ in jobs])
            return
        except Exception:
            log.exception("%d writes failed together", len(jobs))
            self._tell(jobs, [refused(Fault(), None) for _ in jobs])
            return
        if together:
            self._tell(together, answers)
        for job in jobs:
            if job not in together:
                self._pool.submit(self._alone, job)

    def _answers_of(self, jobs: list[Job]) -> tuple[list[Job], list[Answer]]:
        """Return the jobs that could be done together, and their responses."""
        performer = self._performer
        accounts = performer.accounts_of((job.endpoint, job.request) for job in jobs)
        wanted = {account_id for account_id in accounts if account_id is not None}
        together: list[Job] = []
        answers: list[Answer] = []
        try:
            with performer.runtime.database.batch(optimistic=True, accounts=wanted) as batch:
                for job, account_id in zip(jobs, accounts, strict=True):
                    if account_id is not None and account_id not in batch.locked:
                        continue
                    together.append(job)
                    answers.append(performer.perform(job.endpoint, job.values, job.request))
                    if batch.aborted:
                        break
        except BatchAborted:
            if not _stands(batch, answers):
                raise
        return together, answers

    def _alone(self, job: Job) -> None:
        with self._performer.runtime.database.caller_waits_since(job.arrived):
            self._tell([job], [self._performer.perform(job.endpoint, job.values, job.request)])

    def _tell(self, jobs: list[Job], answers: list[Answer]) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(deliver, jobs, answers)


def _stands(batch: Batch, answers: list[Answer]) -> bool:
    """True if the only write of a transaction was refused permanently: a repetition is useless."""
    return len(answers) == 1 and answers[0].problem is not None and not batch.conflict
