"""Throttling of guesses: a few tries are free, then each costs a longer wait. No account is locked."""

from __future__ import annotations

from limits import parse
from msgspec import Struct

from crofter.clock import MINUTE, SECOND
from crofter.context import Context, Runtime
from crofter.errors import TooMany
from crofter.login import store

FIRST_WAIT = MINUTE


class Wait(TooMany):
    """Come back after so many seconds."""

    default = "Too many attempts"

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self.seconds = seconds


class Crowded(Wait):
    """Others try too: not the caller's fault, and over within seconds."""


class Subject(Struct, frozen=True):
    """A subject of attempts, with its number of free tries."""

    digest: bytes
    free: int
    window: int


class Pace(Struct, frozen=True):
    """How often something may be tried by all together: so often at once, and then once in each interval."""

    digest: bytes
    at_once: int
    interval: int


def subjects(runtime: Runtime, limit: str, who: str) -> list[Subject]:
    """Return the subjects of ``who`` under a named limit; empty if that limit is off."""
    words = runtime.settings.rate_limits.get(limit)
    if words is None:
        return []
    item = parse(words)
    return [Subject(runtime.keyring.digest(f"attempts {limit} {who}"), item.amount, item.get_expiry() * SECOND)]


def paces(runtime: Runtime, limit: str, what: str) -> list[Pace]:
    """The pace of a named limit, or none where that limit is off."""
    return [
        Pace(subject.digest, subject.free, max(1, subject.window // subject.free))
        for subject in subjects(runtime, limit, f"pace {what}")
    ]


def count(ctx: Context, counted: list[Subject]) -> None:
    """Count an attempt of each subject, or raise Wait. Taken back after a success."""
    for subject in counted:
        tried = ctx.db.one(store.TRY, subject=subject.digest, now=ctx.now, since=ctx.now - subject.window)
        if tried.until > ctx.now:
            raise Wait(-(-(tried.until - ctx.now) // SECOND))
        over = tried.failures - subject.free
        if over >= 0:
            wait = min(subject.window, FIRST_WAIT << min(over, 20))
            ctx.db.update(store.attempt, {"subject": subject.digest}, until=ctx.now + wait)


def free(ctx: Context, counted: list[Subject]) -> bool:
    """Count an attempt of each subject. Return True if all are still free. These never wait."""
    tried = [
        ctx.db.one(store.TRY, subject=counter.digest, now=ctx.now, since=ctx.now - counter.window)
        for counter in counted
    ]
    return all(row.failures <= subject.free for row, subject in zip(tried, counted, strict=True))


def step(ctx: Context, kept: list[Pace]) -> None:
    """Take a step at each pace, or raise Crowded."""
    for pace in kept:
        until = int(ctx.db.value(store.STEP, subject=pace.digest, now=ctx.now, interval=pace.interval))
        late = until - ctx.now - pace.at_once * pace.interval
        if late > 0:
            raise Crowded(-(-late // SECOND))


def step_back(ctx: Context, kept: list[Pace]) -> None:
    """Return the steps of a successful attempt."""
    for pace in kept:
        ctx.db.run(store.STEP_BACK, wanted=pace.digest, interval=pace.interval)


def touch(ctx: Context, counted: list[Subject]) -> None:
    """Write as much for an unknown name as for a known one, so that both take as long."""
    for subject in counted:
        ctx.db.update(store.attempt, {"subject": subject.digest}, last=ctx.now)


def take_back(ctx: Context, counted: list[Subject]) -> None:
    """The attempt was no guess."""
    for subject in counted:
        ctx.db.run(store.TAKE_BACK, wanted=subject.digest)


def forget(ctx: Context, counted: list[Subject]) -> None:
    for subject in counted:
        ctx.db.delete(store.attempt, subject=subject.digest)
