"""Slowing down whoever guesses: a few tries are free, then each one costs a longer wait. Nobody is locked out."""

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


class Subject(Struct, frozen=True):
    """Whose attempts are counted, and how many are free."""

    digest: bytes
    free: int
    window: int


def subjects(runtime: Runtime, limit: str, who: str) -> list[Subject]:
    """``who`` under a named limit, or nobody where that limit is off."""
    words = runtime.settings.rate_limits.get(limit)
    if words is None:
        return []
    item = parse(words)
    return [Subject(runtime.keyring.digest(f"attempts {limit} {who}"), item.amount, item.get_expiry() * SECOND)]


def count(ctx: Context, counted: list[Subject]) -> None:
    """One more attempt of each, or Wait. Taken back if it turns out well."""
    for subject in counted:
        tried = ctx.db.one(store.TRY, subject=subject.digest, now=ctx.now, since=ctx.now - subject.window)
        if tried.until > ctx.now:
            raise Wait(-(-(tried.until - ctx.now) // SECOND))
        over = tried.failures - subject.free
        if over >= 0:
            wait = min(subject.window, FIRST_WAIT << min(over, 20))
            ctx.db.update(store.attempt, {"subject": subject.digest}, until=ctx.now + wait)


def touch(ctx: Context, counted: list[Subject]) -> None:
    """Write as much for a name that nobody has as for one that somebody has, so that both take as long."""
    for subject in counted:
        ctx.db.update(store.attempt, {"subject": subject.digest}, last=ctx.now)


def take_back(ctx: Context, counted: list[Subject]) -> None:
    """The attempt was no guess."""
    for subject in counted:
        ctx.db.run(store.TAKE_BACK, wanted=subject.digest)


def forget(ctx: Context, counted: list[Subject]) -> None:
    for subject in counted:
        ctx.db.delete(store.attempt, subject=subject.digest)
