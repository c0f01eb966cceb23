"""Why instances cannot move to another account: what is attached to them belongs to theirs, and does not go along."""

from __future__ import annotations

from collections.abc import Iterator

from crofter.context import Context
from crofter.db import among, query
from crofter.db.sql import and_, bindparam, select
from crofter.resources.firewalls.store import firewall_device
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.ips import shares
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.store import KIND, Instance
from crofter.resources.managed.services import store as services
from crofter.resources.nodebalancers.configs.tables import nodebalancer_config
from crofter.resources.nodebalancers.nodes.tables import nodebalancer_node
from crofter.resources.nodebalancers.store import nodebalancer
from crofter.resources.transfers import store
from crofter.resources.volumes.store import volume

SENDER_OWES = "The account that sends the transfer has a past due balance"
_VOLUMES = query(select(volume.c.instance_id).where(among(volume.c.instance_id, "ids")).distinct())
_FIREWALLS = query(
    select(firewall_device.c.object_id)
    .where(firewall_device.c.kind == KIND, among(firewall_device.c.object_id, "ids"))
    .distinct()
)
# Private addresses are the same range in every region, and a balancer reaches those of its own only.
_NODES = query(
    select(ips.address.c.instance_id)
    .join(
        nodebalancer_node,
        and_(nodebalancer_node.c.host == ips.address.c.address, nodebalancer_node.c.region == ips.address.c.region),
    )
    .join(nodebalancer_config, nodebalancer_config.c.id == nodebalancer_node.c.config_id)
    .join(nodebalancer, nodebalancer.c.id == nodebalancer_config.c.nodebalancer_id)
    .where(
        among(ips.address.c.instance_id, "ids"),
        ips.address.c.public.is_(False),
        nodebalancer.c.account_id == bindparam("account_id"),
    )
    .distinct()
)


def of_sending(seller: Context, rows: list[Instance]) -> Iterator[str]:
    """Yield the reasons that keep instances from being offered."""
    for number in sorted(store.claimed(seller, [row.id for row in rows])):
        yield f"Compute {number} is in another transfer already"
    yield from of_moving(seller, rows)


def of_moving(seller: Context, rows: list[Instance]) -> Iterator[str]:
    """Yield the attached objects that cannot move along."""
    ids = [row.id for row in rows]
    volumes = set(seller.db.column(_VOLUMES, ids=ids))
    firewalls = set(seller.db.column(_FIREWALLS, ids=ids))
    nodes = set(seller.db.column(_NODES, ids=ids, account_id=seller.account_id))
    sharing = shares.sharing(seller, ids)
    routed = {share.instance_id for share in shares.routed(seller, ids)}
    for row in rows:
        kept = configs.of(seller, row.id)
        if row.status == "deleting":
            yield f"Compute {row.id} is being deleted"
        if row.id in nodes:
            yield f"Compute {row.id} is a node of a NodeBalancer"
        if row.id in firewalls:
            yield f"Compute {row.id} has a firewall"
        if any(interface["purpose"] == "vlan" for config in kept for interface in config.interfaces):
            yield f"Compute {row.id} has a VLAN attached"
        if row.id in sharing:
            yield f"Compute {row.id} shares an IP address"
        if row.id in routed:
            yield f"Compute {row.id} has an IPv6 range"
        if services.monitors(seller, _addresses(seller, row)):
            yield f"Compute {row.id} has a managed service"
        if row.id in volumes or any(_names_volume(config) for config in kept):
            yield f"Compute {row.id} has volumes attached"


def _names_volume(config: configs.Config) -> bool:
    return any(device.get("volume_id") for device in config.devices.values())


def _addresses(seller: Context, row: Instance) -> list[str]:
    return [*(ip.address for ip in ips.of(seller, row.id)), ips.slaac(seller, row.region, row.id)]
