"""How a verb is performed here: admitted and planned in the books, done by a job in a thread, and polled meanwhile.

A job that has begun belongs to the process that runs it, which gives signs of life. When these stop, whoever polls
next takes it over and begins it again: a job looks first and acts then, so it may find its work half done.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from crofter.clock import machine_now
from crofter.drivers.hypervisor.errors import Refused, Unreachable
from crofter.drivers.hypervisor.ledger.performing import Task, begin, whereabouts
from crofter.drivers.hypervisor.ledger.scene import NotYet, StepContext
from crofter.drivers.hypervisor.libvirt import books, tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, is_broken_line, is_passing
from crofter.drivers.hypervisor.libvirt.books import NEVER, Books, JobRow, Key
from crofter.drivers.hypervisor.libvirt.helper import HelperFailed
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.job_context import Dropped, JobContext
from crofter.drivers.hypervisor.libvirt.noticing import Noticing
from crofter.drivers.hypervisor.reports import Progress

log = logging.getLogger("crofter")

BEAT = 3.0
QUICK = 0.05
"""Seconds that a first call waits for work that may be over in no time."""
PASSING_TRIES = 100
FAILED = "The host could not do this."
"""What owners read: libvirt's own words name files and folders of a host."""

Work = Callable[[JobContext], None]


class Performer:
    def __init__(self, hosts: Hosts, noticing: Noticing) -> None:
        self._hosts = hosts
        self._noticing = noticing
        self._store = hosts.store
        self.owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._threads: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()
        self._beating = False

    def perform(
        self, task: Task, work: Work, expected: float, *, reads: Iterable[Key] = (), heavy: bool = True
    ) -> Progress:
        """``reads``: whose bytes are copied. ``heavy``: it waits for its turn on its host."""
        try:
            return self._perform(task, work, expected, tuple(reads), heavy=heavy)
        except NotYet:  # nothing was written, and nothing begun: the next call tries again
            return Progress(done=False, percent=0, remaining=0.3, real_time=True)

    def _perform(self, task: Task, work: Work, expected: float, reads: tuple[Key, ...], *, heavy: bool) -> Progress:
        with self._store.reading() as scene:
            known = scene.find(task.document, task.ref.id)
            begun = self._begun(scene, task)
            hosts = _hosts(scene, task, known)
            if begun is not None and known is not None:
                hosts = {whereabouts(task, known)} if known.doc is not None else set()
        away = self._hosts.away(hosts)
        if begun is None and not away:
            self._noticing.refresh([(task.document.kind, task.ref.id), *reads])
        with self._store.writing(away) as scene:
            scene.lock_hosts(hosts | {task.ref.host})
            known = scene.find(task.document, task.ref.id)
            scene.admit(task.document, known, task.order)
            begun = self._begun(scene, task)
            if begun is not None and known is not None:
                if known.fence != task.order.fence:
                    scene.save(task.document, replace(known, fence=task.order.fence))
                if known.doc is not None:
                    scene.fleet.must_reach(scene.world, whereabouts(task, known))
                row, starts = self._taken_over(scene, task, begun)
            else:
                plan, begun = begin(scene, task, known, hosts)
                changes = {(effect.document.kind, effect.thing.id) for effect in plan.effects}
                row, starts = self._written_down(scene, task, begun, changes, set(reads), expected), True
        if row is None:
            return _ended(begun)
        if starts:
            self._start(row.id, task, work, heavy=heavy).join(QUICK)
        return self._progress(task)

    def _begun(self, scene: Books, task: Task) -> StepContext | None:
        return scene.begun(task.document.kind, task.ref.id, task.verb, task.order)

    def _progress(self, task: Task) -> Progress:
        with self._store.reading() as scene:
            begun = self._begun(scene, task)
            row = scene.job_of(task.document.kind, task.ref.id, task.verb, task.order)
        if begun is None or begun.ends != NEVER or row is None:
            return _ended(begun)
        passed = max(0, machine_now() - row.begun)
        rate = round(begun.amount * 1000 / row.expected, 2) if begun.amount else None
        percent = min(99, 100 * passed // row.expected)
        remaining = max(row.expected - passed, min(2000, row.expected // 10), 50) / 1000
        return Progress(done=False, percent=percent, remaining=remaining, rate=rate, real_time=True)

    def _taken_over(self, scene: Books, task: Task, begun: StepContext) -> tuple[JobRow | None, bool]:
        """The job of work that was begun, and whether it has to be begun again here: its process has died."""
        if begun.ends != NEVER:
            return None, False
        row = scene.job_of(task.document.kind, task.ref.id, task.verb, task.order)
        if row is None or row.alive:
            return row, False
        scene.db.update(tables.job, {"id": row.id}, owner=self.owner, beat=machine_now(), state="running")
        return row, True

    def _written_down(
        self, scene: Books, task: Task, begun: StepContext, changes: set[Key], reads: set[Key], expected: float
    ) -> JobRow | None:
        for other in scene.jobs():
            if changes & {(kind, number) for kind, number in other.changes}:
                scene.db.update(tables.job, {"id": other.id}, state="dropping")
        if begun.ends != NEVER:
            return None
        now = machine_now()
        number = scene.db.insert(
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
        return scene.job(number)

    # ---- the thread -------------------------------------------------------------------------------------------------

    def _start(self, number: int, task: Task, work: Work, *, heavy: bool) -> threading.Thread:
        thread = threading.Thread(
            target=self._run, args=(number, task, work, heavy), name=f"hypervisor job {number}", daemon=True
        )
        with self._lock:
            self._threads[number] = thread
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="hypervisor heart", daemon=True).start()
        thread.start()
        return thread

    def _beat(self) -> None:
        """Signs of life, as long as there is a job."""
        while True:
            time.sleep(BEAT)
            with self._lock:
                if not self._threads:
                    self._beating = False
                    return
            try:
                with self._store.writing() as scene:
                    scene.db.run(books.BEAT, me=self.owner, now=machine_now())
            except Exception:
                log.warning("no sign of life could be given for jobs on hosts", exc_info=True)

    def _run(self, number: int, task: Task, work: Work, heavy: bool) -> None:
        try:
            self._await_others(number)
            context = JobContext(self._hosts, number, task.order, lambda: self._check(number), self._settle)
            if heavy:
                with self._hosts.near(task.ref.host).turn():
                    self._try(context, work)
            else:
                self._try(context, work)
            self._end(number, None, context.becomes)
        except Dropped:
            self._forget(number)
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

    def _try(self, context: JobContext, work: Work) -> None:
        """Until it is done. While its host is away a job waits for it, however long that takes."""
        pause, passing = 0.2, 0
        while True:
            context.check()
            try:
                return work(context)
            except Unreachable:
                pass
            except LibvirtError as error:
                if not is_broken_line(error):
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
            with self._store.reading() as scene:
                rows = scene.jobs()
            mine = next((row for row in rows if row.id == number), None)
            if mine is None or mine.state != "running":
                raise Dropped
            changes, reads = ({(kind, key) for kind, key in part} for part in (mine.changes, mine.reads))
            before = [row for row in rows if row.id < number and row.meets(changes, reads)]
            for row in before:
                if not row.alive:
                    self._forget(row.id)
            if not any(row.alive for row in before):
                return
            time.sleep(0.05)

    def _check(self, number: int) -> None:
        with self._store.reading() as scene:
            row = scene.job(number)
        if row is None or row.state != "running" or row.owner != self.owner:
            raise Dropped

    def _settle(self, number: int, becomes: dict[Key, Any], *, over: bool, failure: str | None = None) -> None:
        with self._store.writing() as scene:
            row = scene.job(number)
            if row is None or row.state != "running" or row.owner != self.owner:
                raise Dropped
            scene.end(row, failure, becomes, over=over)

    def _end(self, number: int, failure: str | None, becomes: dict[Key, Any]) -> None:
        while True:
            try:
                return self._settle(number, becomes, over=True, failure=failure)
            except Unreachable:  # the driver's own store
                time.sleep(0.5)

    def _fail(self, number: int, reason: str) -> None:
        try:
            self._end(number, reason, {})
        except Dropped:
            self._forget(number)

    def _forget(self, number: int) -> None:
        with self._store.writing() as scene:
            scene.db.delete(tables.job, id=number)


def _hosts(scene: Books, task: Task, known: Any) -> set[int]:
    hosts = {task.ref.host, *task.also}
    if known is not None and known.doc is not None:
        if task.anywhere:
            hosts.add(known.host)
        if task.storage and known.doc.spec.volumes:
            hosts.add(scene.fleet.storage_beside(task.ref.host))
    return hosts


def _ended(begun: StepContext | None) -> Progress:
    if begun is None or begun.ends == NEVER:
        return Progress(done=False, failure="Another operation has taken this over.", real_time=True)
    if begun.failure is not None:
        return Progress(done=False, failure=begun.failure, real_time=True)
    return Progress(real_time=True)
