"""Traffic: what the plans of an account give together in a month, and what its instances used of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import asdict

from crofter.context import Context
from crofter.resources.billing import metering, meters
from crofter.resources.billing.meters import Left, Meter

GIGABYTE = 10**9


class Pool(Struct, frozen=True):
    """In gigabytes."""

    quota: int
    used: int

    @property
    def billable(self) -> int:
        return max(0, self.used - self.quota)


class Leaving(Struct, frozen=True):
    """What an instance that leaves the account has sent and received in a month."""

    object_id: int
    month: str
    bytes: int


class TrafficSource(Protocol):
    """The port through which billing learns what machines sent and received, without knowing any machine.

    ``runtime.traffic`` is one; the instances provide it. Hosts that do not answer count for nothing, or raise
    Unreachable if it must be known ``exactly``.
    """

    def __call__(
        self, ctx: Context, account_id: int, periods: Mapping[int, tuple[int, int]], *, exactly: bool
    ) -> dict[int, int]:
        """Bytes of those of these instances that the account has, each from one moment to another."""
        ...


def pool(ctx: Context, account_id: int, until: int, *, exactly: bool = False) -> Pool:
    """Of the month that ``until`` ends or lies in. What one instance leaves over, another may use.

    Hosts that do not answer count for nothing, or raise Unreachable if it must be known ``exactly``.
    """
    first = metering.month_start(until - 1)
    edge = metering.month_end(first)
    given = sum(_share(found, first, edge) for found in _plans(ctx, account_id, first)) // (edge - first)
    used = sum(one.bytes for one in meters.left(ctx.db, account_id, metering.month_of(first)))
    used += sum(_of_month(ctx, account_id, first, until, exactly=exactly).values())
    return Pool(given, used // GIGABYTE)


def leaving(ctx: Context, account_id: int, ids: Sequence[int], *, exactly: bool = True) -> list[Leaving]:
    """What is to be remembered of instances that leave now: soon nobody can be asked for it any more.

    Of the month before too, since its invoice may still wait for a host that does not answer.
    """
    this = metering.month_start(ctx.now)
    before = _of_month(ctx, account_id, metering.month_start(this - 1), this, exactly=exactly, ids=ids)
    now = _of_month(ctx, account_id, this, ctx.now, exactly=exactly, ids=ids)
    found = [Leaving(one, metering.month_of(this - 1), amount) for one, amount in before.items()]
    return [*found, *(Leaving(one, metering.month_of(this), now.get(one, 0)) for one in ids)]


def remember(ctx: Context, account_id: int, left: Iterable[Leaving], at: int) -> None:
    """They have left, and were asked at that moment."""
    for one in left:
        ctx.db.insert(meters.traffic, account_id=account_id, at=at, **asdict(one))


def _plans(ctx: Context, account_id: int, first: int, ids: Sequence[int] | None = None) -> list[Meter]:
    if ids is not None:
        return meters.of_objects(ctx.db, account_id, ("compute",), ids, first)
    return [found for found in meters.since(ctx.db, account_id, first) if found.what == "compute"]


def _share(found: Meter, first: int, edge: int) -> int:
    """Gigabytes times milliseconds: a part of the month gives a part of the traffic."""
    stop = edge if found.ended is None else min(edge, found.ended)
    return found.transfer * max(0, stop - max(first, found.began))


def _of_month(
    ctx: Context, account_id: int, first: int, until: int, *, exactly: bool, ids: Sequence[int] | None = None
) -> dict[int, int]:
    """Bytes of each instance, or of these, that the account has and nothing is remembered of.

    One that is being deleted is among them, up to when its owner gave it up.
    """
    left = meters.left(ctx.db, account_id, metering.month_of(first), ids)
    stays = _stays(_plans(ctx, account_id, first, ids), left)
    edge = min(until, metering.month_end(first))
    periods = {
        instance_id: (max(began, first), edge if ended is None else min(edge, ended))
        for instance_id, (began, ended) in stays.items()
    }
    return ctx.runtime.traffic(ctx, account_id, periods, exactly=exactly)


def _stays(plans: list[Meter], left: list[Left]) -> dict[int, tuple[int, int | None]]:
    """From when to when the account has each instance. One that left and came back is counted from when it came."""
    gone = {one.object_id: one.at for one in left}
    stays: dict[int, tuple[int, int | None]] = {}
    for found in plans:
        if found.began >= gone.get(found.object_id, 0):
            began, _ = stays.get(found.object_id, (found.began, None))
            stays[found.object_id] = (began, found.ended)
    return stays
