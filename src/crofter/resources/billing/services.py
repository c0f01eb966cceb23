"""What volumes and load balancers cost, for their resources to say when one comes and goes."""

from __future__ import annotations

from crofter.context import Context
from crofter.resources.billing import metering, prices
from crofter.resources.billing.metering import Metered

VOLUME, NODEBALANCER = "volume", "nodebalancer"


def begin_volume(ctx: Context, volume_id: int, label: str, gigabytes: int) -> None:
    metering.start(ctx, ctx.account_id, _volume(volume_id, label, gigabytes))


def resize_volume(ctx: Context, volume_id: int, label: str, gigabytes: int) -> None:
    """The new size is paid for from the next hour on."""
    metering.change(ctx, ctx.account_id, _volume(volume_id, label, gigabytes))


def rename_volume(ctx: Context, volume_id: int, label: str, gigabytes: int) -> None:
    metering.rename(ctx, VOLUME, volume_id, _volume(volume_id, label, gigabytes).label)


def end_volume(ctx: Context, volume_id: int) -> None:
    metering.stop(ctx, VOLUME, volume_id)


def begin_nodebalancer(ctx: Context, nodebalancer_id: int, label: str) -> None:
    metering.start(ctx, ctx.account_id, _nodebalancer(nodebalancer_id, label))


def rename_nodebalancer(ctx: Context, nodebalancer_id: int, label: str) -> None:
    metering.rename(ctx, NODEBALANCER, nodebalancer_id, _nodebalancer(nodebalancer_id, label).label)


def end_nodebalancer(ctx: Context, nodebalancer_id: int) -> None:
    metering.stop(ctx, NODEBALANCER, nodebalancer_id)


def _volume(volume_id: int, label: str, gigabytes: int) -> Metered:
    price = prices.VOLUME.times(gigabytes)
    return Metered(VOLUME, volume_id, f"Storage Volume - {label} ({volume_id}) - {gigabytes} GB", price)


def _nodebalancer(nodebalancer_id: int, label: str) -> Metered:
    return Metered(NODEBALANCER, nodebalancer_id, f"NodeBalancer - {label} ({nodebalancer_id})", prices.NODEBALANCER)
