"""Prices outside the catalogue; volumes and load balancers report here when they begin and end."""

from __future__ import annotations

from crofter.context import Context
from crofter.resources.billing import meters
from crofter.resources.billing.meters import Metered, Price

NOTHING = Price(0, 0)
ADDRESS = Price(1_500, 1_000_000)
"""Each public address after the first."""
MANAGED = Price(150_000, 100_000_000)
"""The managed service, for each instance."""
NODEBALANCER = Price(15_000, 10_000_000)
VOLUME = Price(150, 100_000)
"""Each gigabyte."""
TRANSFER = 10_000
"""Each gigabyte of traffic beyond what the plans give."""

VOLUMES, NODEBALANCERS = "volume", "nodebalancer"


def begin_volume(ctx: Context, volume_id: int, label: str, gigabytes: int) -> None:
    meters.start(ctx, ctx.account_id, _volume(volume_id, label, gigabytes))


def resize_volume(ctx: Context, volume_id: int, label: str, gigabytes: int) -> None:
    """The new size is paid for from the next hour on."""
    meters.change(ctx, ctx.account_id, _volume(volume_id, label, gigabytes))


def rename_volume(ctx: Context, volume_id: int, label: str, gigabytes: int) -> None:
    meters.rename(ctx, VOLUMES, volume_id, _volume(volume_id, label, gigabytes).label)


def end_volume(ctx: Context, volume_id: int) -> None:
    meters.stop(ctx, VOLUMES, volume_id)


def begin_nodebalancer(ctx: Context, nodebalancer_id: int, label: str) -> None:
    meters.start(ctx, ctx.account_id, _nodebalancer(nodebalancer_id, label))


def rename_nodebalancer(ctx: Context, nodebalancer_id: int, label: str) -> None:
    meters.rename(ctx, NODEBALANCERS, nodebalancer_id, _nodebalancer(nodebalancer_id, label).label)


def end_nodebalancer(ctx: Context, nodebalancer_id: int) -> None:
    meters.stop(ctx, NODEBALANCERS, nodebalancer_id)


def _volume(volume_id: int, label: str, gigabytes: int) -> Metered:
    price = VOLUME.times(gigabytes)
    return Metered(VOLUMES, volume_id, f"Storage Volume - {label} ({volume_id}) - {gigabytes} GB", price)


def _nodebalancer(nodebalancer_id: int, label: str) -> Metered:
    return Metered(NODEBALANCERS, nodebalancer_id, f"NodeBalancer - {label} ({nodebalancer_id})", NODEBALANCER)
