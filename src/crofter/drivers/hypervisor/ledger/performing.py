"""How a verb is performed: found in the list of work and polled, or admitted, planned and begun."""

from __future__ import annotations

from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from crofter.drivers.hypervisor.contract import Order
from crofter.drivers.hypervisor.errors import Absent
from crofter.drivers.hypervisor.ledger import tables
from crofter.drivers.hypervisor.ledger.entries import Entry, Wiring
from crofter.drivers.hypervisor.ledger.ledger import Ledger, NotYet, StepContext, Timing
from crofter.drivers.hypervisor.ledger.plans import Plan, Planner
from crofter.drivers.hypervisor.ledger.read_counts import UNTIL_READ
from crofter.drivers.hypervisor.ledger.transactions import Transactions
from crofter.drivers.hypervisor.reports import Progress
from crofter.drivers.hypervisor.specs import Ref


class Task(Struct, frozen=True):
    """A verb about to be performed on a thing."""

    verb: str
    document: Any
    ref: Ref
    order: Order
    planner: Planner[Any]
    creates: bool = False
    """The thing need not be there before."""
    anywhere: bool = False
    """The thing need not be on the host where it was put."""
    also: tuple[int, ...] = ()
    """Other hosts that take part."""
    storage: bool = False
    """True if the region's storage must answer too, if the object has volumes."""


def perform(transactions: Transactions, task: Task) -> Progress:
    try:
        return _perform(transactions, task)
    except NotYet as wait:  # nothing was written or begun: the next call tries again
        remaining = inf if wait.due == UNTIL_READ else max(wait.due - transactions.now(), 1) / 1000
        return Progress(done=False, percent=0, remaining=remaining)


def _perform(transactions: Transactions, task: Task) -> Progress:
    with transactions.reading() as ledger:  # most calls are polls, and a poll writes nothing
        ledger.ask_ahead(task.document, task.ref.id, task.verb, task.order)
        known = ledger.find(task.document, task.ref.id)
        if known is not None and (known.operation, known.fence) == (task.order.operation, task.order.fence):
            work = _begun(ledger, task)
            if work is not None:
                return _poll(ledger, task, known, work)
    hosts = {task.ref.host, *task.also}
    if task.anywhere and known is not None and known.doc is not None:
        hosts.add(known.host)
    if task.storage and known is not None and known.doc is not None and known.doc.spec.volumes:
        hosts.add(transactions.fleet.storage_beside(task.ref.host))
    with transactions.writing() as ledger:
        ledger.lock_hosts(hosts)
        ledger.ask_ahead(task.document, task.ref.id, task.verb, task.order)
        ledger.ask_timing(task.order)
        known = ledger.find(task.document, task.ref.id)
        ledger.admit(task.document, known, task.order)
        work = _begun(ledger, task)
        if work is not None and known is not None:
            ledger.save(task.document, replace(known, fence=task.order.fence))
            return _poll(ledger, task, known, work)
        _, work = begin(ledger, task, known, hosts)
        return work.progress(ledger.now)


def _begun(ledger: Ledger, task: Task) -> StepContext | None:
    return ledger.begun(task.document.kind, task.ref.id, task.verb, task.order)


def _poll(ledger: Ledger, task: Task, known: Entry[Any], work: StepContext) -> Progress:
    if known.doc is not None:
        ledger.fleet.must_reach(ledger.conditions, whereabouts(task, known))
    return work.progress(ledger.now)


def whereabouts(task: Task, known: Entry[Any]) -> int:
    return task.ref.host if task.document is Wiring else known.host


def begin(ledger: Ledger, task: Task, known: Entry[Any] | None, hosts: set[int]) -> tuple[Plan, StepContext]:
    """Plan the work, and write down that it was begun; or raise, with nothing written."""
    ledger.reach(known if task.anywhere else None, hosts)
    ledger.serving = task.order.operation
    entry = _subject(ledger, task, known)
    timing = ledger.timing(task.order)
    plan = task.planner(ledger, entry, timing.ends)
    if plan.instant:
        timing = Timing(ledger.now)
    work = StepContext(ledger.now, timing.ends, plan.amount, timing.failure, timing.reached)
    _write_down(ledger, task, plan, work)
    return plan, work


def _subject(ledger: Ledger, task: Task, known: Entry[Any] | None) -> Entry[Any]:
    """The thing that the verb is about, in the service of the order."""
    ref, order = task.ref, task.order
    if known is None:
        if not task.creates:
            raise Absent(f"There is no {ref.kind} {ref.id} on host {ref.host}.")
        return Entry(ref.id, ref.host, None, operation=order.operation, fence=order.fence)
    removes = task.verb == "gone"
    if known.doc is None and not removes:
        raise Absent(f"The {ref.kind} {ref.id} was deleted.")
    if known.doc is not None and whereabouts(task, known) != ref.host and not task.anywhere:
        raise Absent(f"The {ref.kind} {ref.id} is not on host {ref.host}.")
    taken: Entry[Any] = ledger.take(task.document, known, order, anew=removes)
    return taken


def _write_down(ledger: Ledger, task: Task, plan: Plan, work: StepContext) -> None:
    order = task.order
    for effect in plan.effects:
        entry = replace(effect.entry, operation=order.operation, fence=order.fence)
        if work.failure is not None:
            entry = replace(entry, due=work.ends, becomes=entry.doc)
        elif not plan.instant:
            entry = replace(entry, due=work.ends, becomes=effect.becomes, heading=effect.heading)
        ledger.save(effect.document, entry)
    for mark in plan.marks:
        ledger.save(mark.document, mark.entry)
    ledger.db.insert(
        tables.work,
        operation=order.operation,
        kind=task.document.kind,
        id=task.ref.id,
        step=order.step,
        verb=task.verb,
        begun=work.begun,
        ends=work.ends,
        amount=work.amount,
        failure=work.failure,
        reached=work.reached,
    )
