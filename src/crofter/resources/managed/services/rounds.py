"""When services are looked at: soon after they were made or changed, and then every minute, many at a time.

Services are taken in blocks of neighbouring ids, each block on a schedule of its own. So the cost in rows is that
of a few operations a minute, however many services there are; and where there are none, there is no schedule.
"""

from __future__ import annotations

import time

import msgspec
from msgspec import Struct

from crofter.clock import MINUTE, SECOND
from crofter.context import Context, Runtime
from crofter.db.locks import Lock
from crofter.drivers.probes import Answer, Ask, ProbeClient
from crofter.engine import schedules
from crofter.engine.operation import Operation, Sleep, step, tx_step
from crofter.engine.queue import TOPIC, enqueue, lives
from crofter.engine.step_context import StepContext
from crofter.resources.managed.services import monitoring, policy, store
from crofter.resources.managed.services.machines import known_answers
from crofter.resources.managed.services.monitoring import Verdict
from crofter.resources.managed.services.store import Service

EVERY = MINUTE // SECOND
BLOCK_BITS = 8
FIRST_LOOK = 3.0
"""Seconds between a change and the first look at what it made."""
AT_ONCE = 0.25
"""Seconds that a thread waits for results; slower ones are collected later without blocking."""
POLL = 1.0
LONGEST_POLL = 15.0
LEAVE = 0.2
LONGEST = 3600.0
"""Seconds after which an answer is no longer waited for: services of one account that hang wait for each other."""
# While the clock is frozen or advancing, service time waits for the probes: these must be short.
STANDING_TIMEOUT = 3.0
STANDING_PAUSE = 0.02
STANDING_PATIENCE = 20.0


class Block(Struct, frozen=True):
    first: int
    last: int


def watch(ctx: Context, service_id: int) -> None:
    """Look at a service soon, and every minute from now on."""
    enqueue(ctx, FIRST_CHECK, Block(service_id, service_id))
    plan(ctx, service_id)


def plan(ctx: Context, service_id: int) -> None:
    """Have the block of a service looked at every minute, if it is not already."""
    ctx.db.lock(Lock.MONITORING)
    schedules.add(ctx, _name(service_id), ROUND, around(service_id), f"every {EVERY}", catchup="none")


def _retire(ctx: Context, service_id: int) -> None:
    """Take the schedule of a service's block away, if nothing of the block is left to look at."""
    block = around(service_id)
    ctx.db.lock(Lock.MONITORING)
    if not store.watched(ctx, block.first, block.last):
        schedules.remove(ctx, _name(service_id))


def around(service_id: int) -> Block:
    """The block that a service is in."""
    first = service_id >> BLOCK_BITS << BLOCK_BITS
    return Block(first, first + (1 << BLOCK_BITS) - 1)


def _name(service_id: int) -> str:
    return f"managed.round:{service_id >> BLOCK_BITS}"


def probe_client(runtime: Runtime) -> ProbeClient:
    """Return the probe client of this process."""
    return runtime.probes


def forget(runtime: Runtime) -> None:
    """Drop all probes: their services no longer exist, and new services will reuse the numbers."""
    runtime.probes.forget()


# ---- steps ----------------------------------------------------------------------------------------------------------


@tx_step()
def debounce(ctx: Context, work: StepContext) -> Sleep | None:
    """A change rarely comes alone, and who made it may first want to say how the sandbox shall behave."""
    if work.vars.get("rested"):
        return None
    work.vars["rested"] = True
    return Sleep(FIRST_LOOK)


@step(deadline=90.0, retries=1)
def look(work: StepContext) -> Sleep | None:
    """Ask about every service of the block, note what has changed, and come back for the slow ones."""
    probes = probe_client(work.runtime)
    verdicts: list[Verdict] = []
    kept = work.vars.get("asked")
    asked = msgspec.convert(kept, Asked) if kept else _ask(work, probes, verdicts)
    if asked.probe_client != probes.name:
        if _will_be_heard(work, asked):
            return _leave(work)
        asked = _ask(work, probes, verdicts)
    overtaken = _stands(work.runtime) and not asked.standing
    _collect(probes, asked, _patience(asked, overtaken=overtaken), verdicts)
    if verdicts:
        work.then(lambda ctx: monitoring.note(ctx, verdicts))
    waited = time.monotonic() - asked.since
    if not asked.services or overtaken or waited > LONGEST:
        return None
    work.vars["asked"] = msgspec.to_builtins(asked)
    return Sleep(min(LONGEST_POLL, max(POLL, waited / 10)))


def _patience(asked: Asked, *, overtaken: bool) -> float:
    """Return the seconds to wait. An advance of the clock does not wait for earlier probes: the next round repeats
    them.
    """
    if overtaken:
        return 0.0
    return STANDING_PATIENCE if asked.standing else AT_ONCE


def _will_be_heard(work: StepContext, asked: Asked) -> bool:
    """True if the process that sent the probes is alive and will collect the results."""
    if asked.worker == work.worker or _stands(work.runtime):
        return False  # its probe process was started anew; or the one that moves the clock does all the work
    with work.read() as ctx:
        return lives(ctx.db, asked.worker)


def _leave(work: StepContext) -> Sleep:
    """Signal all workers at the next due time: otherwise the same worker would always be first."""
    work.then(lambda ctx: ctx.db.signal(f"{TOPIC}:{work.operation.queue}"))
    return Sleep(LEAVE)


def _stands(runtime: Runtime) -> bool:
    return runtime.clock.setting.mode == "frozen"


class Asked(Struct):
    """Probes that a round waits for. Stored in its variables."""

    probe_client: str
    since: float
    """Time by the machine's clock."""
    standing: bool
    """True if sent while the clock was frozen, with a short timeout."""
    services: dict[str, tuple[int, int, int, str]] = {}
    """Service, account, revision and status by probe id."""
    worker: int = 0
    """Worker whose probe process was used."""


def _ask(work: StepContext, probes: ProbeClient, verdicts: list[Verdict]) -> Asked:
    block: Block = work.args
    standing = _stands(work.runtime)
    asked = Asked(probes.name, time.monotonic(), standing, worker=work.worker)
    with work.read() as ctx:
        due = store.due(ctx, block.first, block.last)
        known = known_answers(ctx, due)
    if not due:
        work.then(lambda ctx: _retire(ctx, block.first))
    busy = probes.busy()
    asks: list[tuple[Service, Ask]] = []
    for service in due:
        ask = _question(work.runtime, service, standing=standing)
        seen = known.get(service.id) or (probes.recent(ask) if standing else None)
        if seen is not None:
            _judge((service.id, service.account_id, service.revision, service.status), seen, verdicts)
        elif _subject(service, standing=standing) not in busy:
            asks.append((service, ask))
    numbers = probes.ask([(_subject(service, standing=standing), ask) for service, ask in asks]) if asks else []
    for number, (service, _) in zip(numbers, asks, strict=True):
        asked.services[str(number)] = (service.id, service.account_id, service.revision, service.status)
    return asked


def _subject(service: Service, *, standing: bool) -> str:
    """Return the topic of a probe: the service with its revision, address and kind of timeout."""
    return f"{service.id}/{service.revision}/{standing}/{service.address}"


def _question(runtime: Runtime, service: Service, *, standing: bool) -> Ask:
    return Ask(
        id=0,
        group=service.account_id,
        kind=service.service_type,  # type: ignore[arg-type]
        address=service.address,
        timeout=min(service.timeout, STANDING_TIMEOUT) if standing else service.timeout,
        body=service.body or None,
        allowed=policy.allowed(runtime.settings, service.region),
        pause=STANDING_PAUSE if standing else 1.0,
    )


def _collect(probes: ProbeClient, asked: Asked, patience: float, verdicts: list[Verdict]) -> None:
    answers, left = probes.collect([int(number) for number in asked.services], patience)
    for number, answer in answers.items():
        _judge(asked.services[str(number)], answer, verdicts)
    asked.services = {str(number): asked.services[str(number)] for number in left}


def _judge(about: tuple[int, int, int, str], seen: Answer, verdicts: list[Verdict]) -> None:
    service_id, account_id, revision, status = about
    if monitoring.news(status, ok=seen.ok):
        verdicts.append(Verdict(service_id, account_id, revision, seen.ok, seen.detail))


FIRST_CHECK = Operation(kind="managed.first_check", args=Block, queue="probe", keep=False, steps=(debounce, look))
ROUND = Operation(kind="managed.round", args=Block, queue="probe", keep=False, steps=(look,))
OPERATIONS = (FIRST_CHECK, ROUND)
