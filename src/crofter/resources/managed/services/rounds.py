"""When services are looked at: soon after they were made or changed, and then every minute, many at a time.

Services are taken in blocks of neighbouring ids, each block on a schedule of its own. So the cost in rows is that
of a few operations a minute, however many services there are; and where there are none, there is no schedule.
"""

from __future__ import annotations

import time

from msgspec import Struct

from crofter.clock import MINUTE, SECOND
from crofter.context import Context, World
from crofter.drivers.probes import Answer, Ask, Crew
from crofter.engine import chores
from crofter.engine.operation import Operation, Sleep, step, tx_step
from crofter.engine.queue import enqueue
from crofter.engine.work import Work
from crofter.resources.managed.services import machines, monitoring, policy, store
from crofter.resources.managed.services.monitoring import Verdict
from crofter.resources.managed.services.store import Service

EVERY = MINUTE // SECOND
BLOCK_BITS = 8
ROUNDS = -2
"""Held like an account while schedules come and go."""
FIRST_LOOK = 3.0
"""Seconds between a change and the first look at what it made."""
AT_ONCE = 0.25
"""Seconds that a thread waits for answers; slower ones are collected later, and hold nobody up."""
POLL = 2.0
LONGEST = 320.0
"""Seconds after which an answer is no longer waited for."""
# While the clock stands or is moved, house time waits for the outside world: so that must not take long.
STANDING_TIMEOUT = 3.0
STANDING_PAUSE = 0.02
STANDING_PATIENCE = 20.0


class Block(Struct, frozen=True):
    first: int
    last: int


def watch(ctx: Context, service_id: int) -> None:
    """Look at a service soon, and every minute from now on."""
    enqueue(ctx, FIRST_CHECK, Block(service_id, service_id))
    block = service_id >> BLOCK_BITS
    ctx.db.hold(ROUNDS)
    limits = Block(block << BLOCK_BITS, ((block + 1) << BLOCK_BITS) - 1)
    chores.plan(ctx, _name(limits), ROUND, limits, f"every {EVERY}", catchup="none")


def _retire(ctx: Context, block: Block) -> None:
    """Take a schedule away that has nothing left to look at."""
    ctx.db.hold(ROUNDS)
    if not store.watched(ctx, block.first, block.last):
        chores.unplan(ctx, _name(block))


def _name(block: Block) -> str:
    return f"managed.round:{block.first >> BLOCK_BITS}"


def crew(world: World) -> Crew:
    """The probe process of this process."""
    found: Crew = world.services.get("probes") or world.services.setdefault("probes", Crew())
    return found


# ---- steps ----------------------------------------------------------------------------------------------------------


@tx_step()
def draw_breath(ctx: Context, work: Work) -> Sleep | None:
    """A change rarely comes alone, and who made it may first want to say how the sandbox shall behave."""
    if work.vars.get("rested"):
        return None
    work.vars["rested"] = True
    return Sleep(FIRST_LOOK)


class Asked(Struct):
    """What a round is still waiting for. Kept in its notes."""

    crew: str
    since: float
    """By the machine's clock, which the crew's process shares."""
    services: dict[str, tuple[int, int, int, bool]] = {}
    """By number of the ask: service, account, revision, and whether it counts as up so far."""


@step(deadline=90.0, retries=1)
def look(work: Work) -> Sleep | None:
    """Ask about every service of the block; note what has changed; come back for the slow ones."""
    kept = work.vars.get("asked")
    verdicts: list[Verdict] = []
    asked = _revived(kept) if kept else _ask(work, verdicts)
    left = _collect(work.world, asked, verdicts)
    if verdicts:
        work.then(lambda ctx: monitoring.note(ctx, verdicts))
    if not left.services or time.monotonic() - left.since > LONGEST:
        return None
    work.vars["asked"] = {"crew": left.crew, "since": left.since, "services": left.services}
    return Sleep(POLL)


def _revived(kept: dict[str, object]) -> Asked:
    import msgspec  # noqa: PLC0415

    return msgspec.convert(kept, Asked)


def _ask(work: Work, verdicts: list[Verdict]) -> Asked:
    block: Block = work.args
    lookout = crew(work.world)
    asked = Asked(lookout.name, time.monotonic())
    with work.read() as ctx:
        due = store.due(ctx, block.first, block.last)
        known = machines.answers(ctx, due)
    if not due:
        work.then(lambda ctx: _retire(ctx, block))
        return asked
    busy = lookout.busy()
    standing = work.world.clock.setting.mode == "frozen"
    asks: list[tuple[Service, Ask]] = []
    for service in due:
        seen = known.get(service.id)
        ask = _question(work.world, service, standing=standing)
        if seen is None and standing:
            seen = lookout.recent(ask)
        if seen is not None:
            _judge(service, seen, verdicts)
        elif service.id not in busy:
            asks.append((service, ask))
    numbers = lookout.ask([(service.id, ask) for service, ask in asks]) if asks else []
    for number, (service, _) in zip(numbers, asks, strict=True):
        asked.services[str(number)] = (service.id, service.account_id, service.revision, service.status == "ok")
    return asked


def _question(world: World, service: Service, *, standing: bool) -> Ask:
    return Ask(
        id=0,
        group=service.account_id,
        kind=service.service_type,  # type: ignore[arg-type]
        address=service.address,
        timeout=min(service.timeout, STANDING_TIMEOUT) if standing else service.timeout,
        body=service.body or None,
        allowed=policy.allowed(world.settings, service.region),
        pause=STANDING_PAUSE if standing else 1.0,
    )


def _judge(service: Service, seen: Answer, verdicts: list[Verdict]) -> None:
    if monitoring.news(service, seen.ok):
        verdicts.append(Verdict(service.id, service.account_id, service.revision, seen.ok, seen.detail))
