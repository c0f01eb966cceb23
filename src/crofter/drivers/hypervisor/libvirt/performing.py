"""Execution of verbs: admitted and planned in the ledger, done by a job in a thread, and polled.

A running job belongs to its process, which writes heartbeats. When these stop, the next poll takes over the job and
restarts it: a job inspects before it acts, because its work may be half done.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.ledger import NotYet, StepContext
from crofter.drivers.hypervisor.ledger.performing import Task, begin, whereabouts
from crofter.drivers.hypervisor.libvirt import host_ledger, number_conflicts, tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, is_broken_connection, is_passing
from crofter.drivers.hypervisor.libvirt.helper import HelperFailed
from crofter.drivers.hypervisor.libvirt.host_ledger import NEVER, HostLedger, JobRow, Key
from crofter.drivers.hypervisor.libvirt.hosts import HostLost, Hosts
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext, TakenOver
from crofter.drivers.hypervisor.libvirt.power_sync import PowerSync
from crofter.drivers.hypervisor.reports import Progress

log = logging.getLogger("crofter")

BEAT = 3.0
QUICK = 0.05
"""Seconds that a first call waits for work that may be over in no time."""
PASSING_TRIES = 100
FAILED = "The host could not do this."
"""Error text for owners: libvirt's messages name files and folders of a host."""

Work = Callable[[JobContext], None]


class Performer:
    def __init__(self, hosts: Hosts, power_sync: PowerSync) -> None:
        self._hosts = hosts
        self._power_sync = power_sync
        self._store = hosts.store
        self.owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()
        self._beating = False
        self._closing = False

    def perform(
        self, task: Task, work: Work, expected: float, *, reads: Iterable[Key] = (), heavy: bool = True
    ) -> Progress:
        """``reads``: whose bytes are copied. ``heavy``: it waits for its turn on its host."""
        try:
            return self._perform(task, work, expected, tuple(reads), heavy=heavy)
        except NotYet:  # nothing was written or begun: the next call tries again
            return Progress(done=False, percent=0, remaining=0.3, real_time=True)

    def _perform(self, task: Task, work: Work, expected: float, reads: tuple[Key, ...], *, heavy: bool) -> Progress:
        with self._store.reading() as ledger:
            known = ledger.find(task.document, task.ref.id)
            begun = self._begun(ledger, task)
            hosts = _hosts(ledger, task, known)
            if begun is not None and known is not None:
                hosts = {whereabouts(task, known)} if known.doc is not None else set()
        unreachable = self._hosts.unreachable(hosts)
        if begun is None and not unreachable:
            self._power_sync.refresh([(task.document.kind, task.ref.id), *reads])
            if known is None and task.verb in number_conflicts.CREATING:
                number_conflicts.must_be_unused(self._hosts, task.document, task.ref)
        with self._store.writing(unreachable) as ledger:
            ledger.lock_hosts(hosts | {task.ref.host})
            known = ledger.find(task.document, task.ref.id)
            ledger.admit(task.document, known, task.order)
            begun = self._begun(ledger, task)
            if begun is not None and known is not None:
                if known.fence != task.order.fence:
                    ledger.save(task.document, replace(known, fence=task.order.fence))
                if known.doc is not None:
                    ledger.fleet.must_reach(ledger.conditions, whereabouts(task, known))
                row, starts = self._taken_over(ledger, task, begun)
            else:
                plan, begun = begin(ledger, task, known, hosts)
                changes = {(effect.document.kind, effect.entry.id) for effect in plan.effects}
                row, starts = self._written_down(ledger, task, begun, changes, set(reads), expected), True
        if row is None:
            return _ended(begun)
        if starts:
            self._start(row.id, task, work, heavy=heavy).join(QUICK)
        return self._progress(task)

    def _begun(self, ledger: HostLedger, task: Task) -> StepContext | None:
        return ledger.begun(task.document.kind, task.ref.id, task.verb, task.order)

    def _progress(self, task: Task) -> Progress:
        with self._store.reading() as ledger:
            begun = self._begun(ledger, task)
            row = ledger.job_of(task.document.kind, task.ref.id, task.verb, task.order)
            now = ledger.lease_time
        if begun is None or begun.ends != NEVER or row is None:
            return _ended(begun)
        passed = max(0, now - row.begun)
        rate = round(begun.amount * 1000 / row.expected, 2) if begun.amount else None
        percent = min(99, 100 * passed // row.expected)
        remaining = max(row.expected - passed, min(2000, row.expected // 10), 50) / 1000
        return Progress(done=False, percent=percent, remaining=remaining, rate=rate, real_time=True)

    def _taken_over(self, ledger: HostLedger, task: Task, begun: StepContext) -> tuple[JobRow | None, bool]:
        """The job of work that was begun, and whether it has to be begun again here: its process has died."""
        if begun.ends != NEVER:
            return None, False
        row = ledger.job_of(task.document.kind, task.ref.id, task.verb, task.order)
        if row is None or ledger.living([row]):
            return row, False
        if self._has_thread(row.id):
            # The thread is alive and only its heartbeat failed. Or a process that died meanwhile had taken over: the
            # thread must notice that first, and the next call restarts the job.
            ledger.db.run(host_ledger.BEAT, number=row.id, me=self.owner, now=ledger.lease_time)
            return row, False
        ledger.db.update(tables.job, {"id": row.id}, owner=self.owner, beat=ledger.lease_time, state="running")
        return row, True

    def _has_thread(self, number: int) -> bool:
        with self._lock:
            return number in self._threads

    def _written_down(
        self, ledger: HostLedger, task: Task, begun: StepContext, changes: set[Key], reads: set[Key], expected: float
    ) -> JobRow | None:
        for other in ledger.jobs():
            if changes & {(kind, number) for kind, number in other.changes}:
                ledger.db.update(tables.job, {"id": other.id}, state="dropping")
        if begun.ends != NEVER:
            return None
        now = ledger.lease_time
        number = ledger.db.insert(
            tables.job,
            operation=task.order.operation,
            kind=task.document.kind,
            thing=task.ref.id,
            step=task.order.step,
            verb=task.verb,
            changes=sorted(changes),
            reads=sorted(reads),
            owner=self.owner,
            begun=now,
            beat=now,
            expected=max(1, round(expected * 1000)),
            state="running",
        )
        return ledger.job(number)

    # ---- the thread -------------------------------------------------------------------------------------------------

    def _start(self, number: int, task: Task, work: Work, *, heavy: bool) -> threading.Thread:
        thread = threading.Thread(
            target=self._run, args=(number, task, work, heavy), name=f"hypervisor job {number}", daemon=True
        )
        with self._lock:
            self._threads[number] = thread
            thread.start()  # start before the thread becomes visible to waiters
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="hypervisor heartbeat", daemon=True).start()
        return thread

    def _beat(self) -> None:
        """Signs of life, as long as there is a job."""
        while True:
            time.sleep(BEAT)
            with self._lock:
                if not self._threads or self._closing:
                    self._beating = False
                    return
            try:
                self._beat_once()
            except Exception:
                log.warning("no sign of life could be given for jobs on hosts", exc_info=True)

    def _beat_once(self) -> None:
        with self._lock:
            numbers = list(self._threads)
        with self._store.writing() as ledger:
            now = ledger.lease_time
            for number in numbers:
                ledger.db.run(host_ledger.BEAT, number=number, me=self.owner, now=now)

    def close(self, patience: float) -> None:
        """End the process: give jobs ``patience`` seconds; the others are taken over at their next poll."""
        ends = time.monotonic() + patience
        with self._lock:
            threads = dict(self._threads)
            self._closing = True
        for thread in threads.values():
            thread.join(max(0.0, ends - time.monotonic()))
        with self._store.writing() as ledger:
            for number in threads:
                ledger.db.run(host_ledger.BEAT, number=number, me=self.owner, now=0)

    def _run(self, number: int, task: Task, work: Work, heavy: bool) -> None:
        try:
            check = partial(self._check, number)
            context = JobContext(self._hosts, number, self.owner, task.order, check, self._settle)
            self._try(partial(self._attempt, context, task, work, heavy))
            self._end(number, None, context.becomes)
        except TakenOver:
            log.info("job %s (%s %s) was taken over by another process", number, task.verb, task.ref.name)
        except Dropped:
            self._forget(number)
        except HostLost as error:
            self._fail(number, None if task.verb == "gone" else error.reason)
        except Refused as error:
            self._fail(number, error.reason)
        except HelperFailed as error:
            log.warning("job %s (%s %s): %s", number, task.verb, task.ref.name, error)
            self._fail(number, "The file system on the disk could not be worked on.")
        except Exception:
            log.exception("job %s (%s %s) failed", number, task.verb, task.ref.name)
            self._fail(number, FAILED)
        finally:
            with self._lock:
                self._threads.pop(number, None)

    def _attempt(self, context: JobContext, task: Task, work: Work, heavy: bool) -> None:
        self._await_others(context.number)
        with self._hosts.near(task.ref.host).turn() if heavy else nullcontext():
            context.check()
            work(context)

    def _try(self, attempt: Callable[[], None]) -> None:
        """Until it is done. While its host, or the store, is away a job waits for it, however long that takes."""
        pause, passing = 0.2, 0
        while True:
            try:
                return attempt()
            except Unreachable:
                pass
            except LibvirtError as error:
                if not is_broken_connection(error):
                    passing += 1
                    if not is_passing(error) or passing > PASSING_TRIES:
                        raise
                    time.sleep(0.1)
                    continue
            time.sleep(pause)
            pause = min(5.0, pause * 1.5)

    def _await_others(self, number: int) -> None:
        """Until earlier jobs on the same things are over: those that were given up have still to notice."""
        while True:
            with self._store.reading() as ledger:
                rows = ledger.jobs()
                living = ledger.living(rows)
            mine = self._must_be_ours(next((row for row in rows if row.id == number), None))
            changes, reads = ({(kind, key) for kind, key in part} for part in (mine.changes, mine.reads))
            before = [row for row in rows if row.id < number and row.meets(changes, reads)]
            waiting = [row for row in before if row.id in living or self._has_thread(row.id)]
            for row in before:
                if row not in waiting:
                    self._forget_dead(row)
            if not waiting:
                return
            time.sleep(0.05)

    def _check(self, number: int) -> None:
        with self._store.reading() as ledger:
            row = ledger.job(number)
        self._must_be_ours(row)

    def _must_be_ours(self, row: JobRow | None) -> JobRow:
        if row is None or row.owner != self.owner:
            raise TakenOver
        if row.state != "running":
            raise Dropped
        return row

    def _settle(self, number: int, becomes: dict[Key, Any], *, over: bool, failure: str | None = None) -> None:
        with self._store.writing() as ledger:
            row = self._must_be_ours(ledger.job(number))
            ledger.end(row, failure, becomes, over=over)

    def _end(self, number: int, failure: str | None, becomes: dict[Key, Any]) -> None:
        while True:
            try:
                return self._settle(number, becomes, over=True, failure=failure)
            except Unreachable:  # the driver's own store
                time.sleep(0.5)

    def _fail(self, number: int, reason: str | None) -> None:
        try:
            self._end(number, reason, {})
        except TakenOver:
            return
        except Dropped:
            self._forget(number)

    def _forget(self, number: int) -> None:
        """Else, while the store is away, it is taken for that of a dead process."""
        with suppress(Unreachable), self._store.writing() as ledger:
            ledger.db.delete(tables.job, id=number, owner=self.owner)

    def _forget_dead(self, row: JobRow) -> None:
        """Drop a dead job, unless its heartbeat returned or another process took over."""
        with self._store.writing() as ledger:
            ledger.db.delete(tables.job, id=row.id, owner=row.owner, beat=row.beat)


def _hosts(ledger: HostLedger, task: Task, known: Any) -> set[int]:
    hosts = {task.ref.host, *task.also}
    if known is not None and known.doc is not None:
        if task.anywhere:
            hosts.add(known.host)
        if task.storage and known.doc.spec.volumes:
            hosts.add(ledger.fleet.storage_beside(task.ref.host))
    return hosts


def _ended(begun: StepContext | None) -> Progress:
    if begun is None or begun.ends == NEVER:
        return Progress(done=False, failure="Another operation has taken this over.", real_time=True)
    if begun.failure is not None:
        return Progress(done=False, failure=begun.failure, real_time=True)
    return Progress(real_time=True)
