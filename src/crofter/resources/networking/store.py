"""Lists of an account's networking."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from crofter.context import Context
from crofter.db import Row, among, query
from crofter.db.collections import SHALLOW, Collection
from crofter.db.filters import Filter
from crofter.db.query import Query
from crofter.db.sql import (
    ColumnElement,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
)
from crofter.db.tally import BLOCK_BITS, tally
from crofter.resources.instances.configs.store import config
from crofter.resources.instances.configs.vlans import IN_USE, config_vlan, vlan
from crofter.resources.instances.ips import ranges
from crofter.resources.instances.ips.ranges import POOL, Range, ipv6_range
from crofter.resources.instances.ips.shapes import IpView, RangeView
from crofter.resources.instances.ips.store import PUBLIC_ADDRESSES, address
from crofter.resources.instances.store import INSTANCES, KIND, instance
from crofter.resources.networking.shapes import VlanView
from crofter.resources.users.store import grant

SLAAC, LINK_LOCAL = 1 << 30, (1 << 30) + 1
"""Places behind all IPv4 addresses of an instance."""
LAST_ID = 2**63 - 1
_OWN = instance.c.account_id == bindparam("account_id")


def _visible(compute_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that restricted users see: instances with a grant."""
    seen = select(grant.c.object_id).where(grant.c.user_id == bindparam("user_id"), grant.c.kind == KIND)
    return compute_id.in_(seen)


# ---- addresses ------------------------------------------------------------------------------------------------------


class Listed(Row):
    """An address of an instance. What it derives for itself is in no table: only the place says which that is."""

    compute_id: int
    place: int
    address: str | None
    rdns: str | None
    region: str


def _derived(place: int, rdns: Any) -> Any:
    return select(instance.c.id, literal_column(str(place)), cast(null(), Text), rdns, instance.c.region).where(_OWN)


_HELD = (
    select(
        instance.c.id.label("compute_id"),
        address.c.position.label("place"),
        address.c.address.label("address"),
        address.c.rdns.label("rdns"),
        instance.c.region.label("region"),
    )
    .join(address, address.c.instance_id == instance.c.id)
    .where(_OWN, address.c.public.is_(True))
)
_listed = union_all(_HELD, _derived(SLAAC, instance.c.ipv6_rdns), _derived(LINK_LOCAL, cast(null(), Text))).subquery(
    "listed"
)
_ALL = select(*(_listed.c[name] for name in Listed.__struct_fields__))


class _Block(Row):
    """Instances with ids that are close together, and how many addresses they have."""

    block: int
    amount: int


# Each instance has two addresses that are derived, beside those that are counted.
_BLOCKS = query(
    select(
        tally.c.block,
        func.sum(case((tally.c.counted == INSTANCES.name, 2 * tally.c.amount), else_=tally.c.amount)).label("amount"),
    )
    .where(
        or_(tally.c.counted == INSTANCES.name, tally.c.counted == PUBLIC_ADDRESSES.name),
        tally.c.owner == bindparam("owner"),
    )
    .group_by(tally.c.block)
    .order_by(tally.c.block),
    _Block,
)


_INSTANCE_AFTER = query(
    select(instance.c.id)
    .where(_OWN, instance.c.id >= bindparam("edge"))
    .order_by(instance.c.id)
    .limit(1)
    .offset(bindparam("instances"))
)


class _Granted(Collection[Listed]):
    """Addresses in the order of their instances, and of their places with each."""

    def _wanted_order(self, wanted: Filter, by: Any = lambda column: column) -> tuple[ColumnElement[Any], ...]:
        order = super()._wanted_order(wanted, by)
        if wanted.order_by is None:
            return order
        return (*order, _listed.c.place.desc() if wanted.descending else _listed.c.place.asc())


class _Counted(_Granted):
    """Collection of all rows of an account. Totals and deep pages use the counts of both tables."""

    @cached_property
    def _between(self) -> Query[Listed]:
        near = (self.key >= bindparam("edge"), self.key <= bindparam("end"))
        return self._page_query(self._statement.where(*near), self._order)

    def total(self, ctx: Context, owner: int, values: dict[str, Any]) -> tuple[int, int]:
        return sum(int(block.amount) for block in ctx.db.all(_BLOCKS, owner=owner)), 0

    def page(
        self, ctx: Context, number: int, size: int, owner: int, values: dict[str, Any]
    ) -> tuple[int, list[Listed]]:
        blocks = ctx.db.all(_BLOCKS, owner=owner)
        total, passed = sum(int(block.amount) for block in blocks), (number - 1) * size
        if passed >= total:
            return total, []
        edge = 0
        for block in blocks if passed > SHALLOW else ():
            edge = block.block << BLOCK_BITS
            if passed < block.amount:
                break
            passed -= int(block.amount)
        # Each instance has two addresses at least. Without an end, all that follow would be sorted.
        end = ctx.db.value(_INSTANCE_AFTER, account_id=owner, edge=edge, instances=(passed + size) // 2 + 1)
        return total, ctx.db.all(self._between, rows=size, passed=passed, edge=edge, end=end or LAST_ID, **values)


_BY_INSTANCE: Any = {
    "key": _listed.c.compute_id,
    "columns": {"compute_id": _listed.c.compute_id, "region": _listed.c.region},
    "order": (_listed.c.compute_id.asc(), _listed.c.place.asc()),
}
ADDRESSES = {
    False: _Counted(IpView, _ALL, Listed, **_BY_INSTANCE),
    True: _Granted(IpView, _ALL.where(_visible(_listed.c.compute_id)), Listed, **_BY_INSTANCE),
}
"""Collections for unrestricted and restricted callers."""


# ---- ranges ---------------------------------------------------------------------------------------------------------


def _ranges(*, pools: bool) -> dict[bool, Collection[Range]]:
    own = ranges.ALL.where(
        ipv6_range.c.account_id == bindparam("account_id"),
        ipv6_range.c.prefix == POOL if pools else ipv6_range.c.prefix != POOL,
    )
    options: Any = {"key": ipv6_range.c.id, "columns": {"region": ipv6_range.c.region}}
    return {
        False: Collection(RangeView, own, Range, **options),
        True: Collection(RangeView, own.where(_visible(ipv6_range.c.instance_id)), Range, **options),
    }


RANGES, POOLS = _ranges(pools=False), _ranges(pools=True)
"""Collections for unrestricted and restricted callers."""


# ---- private networks -----------------------------------------------------------------------------------------------


class Vlan(Row):
    id: int
    label: str
    region: str
    created: str


_MEMBERS = select(config_vlan.c.vlan_id, config.c.instance_id).join(config, config.c.id == config_vlan.c.config_id)
_SEEN_MEMBERS = _MEMBERS.where(_visible(config.c.instance_id))
_VLANS = select(*(vlan.c[name] for name in Vlan.__struct_fields__)).where(vlan.c.account_id == bindparam("account_id"))


def _vlans(used: ColumnElement[bool]) -> Collection[Vlan]:
    columns = {name: vlan.c[name] for name in ("created", "label", "region")}
    return Collection(VlanView, _VLANS.where(used), Vlan, key=vlan.c.id, columns=columns)


VLANS = {False: _vlans(IN_USE), True: _vlans(_SEEN_MEMBERS.where(config_vlan.c.vlan_id == vlan.c.id).exists())}
"""Collections for unrestricted and restricted callers."""
_COMPUTES = {
    restricted: query(
        members.where(among(config_vlan.c.vlan_id, "ids")).distinct().order_by(config.c.instance_id),
        lambda *member: member,
    )
    for restricted, members in ((False, _MEMBERS), (True, _SEEN_MEMBERS))
}


def computes(ctx: Context, rows: list[Vlan]) -> dict[int, list[int]]:
    """The instances that use each of these networks, as far as the caller may see them."""
    computes_by_id: dict[int, list[int]] = {row.id: [] for row in rows}
    seen = {"user_id": ctx.actor.user_id} if ctx.actor.restricted else {}
    for vlan_id, instance_id in ctx.db.all(_COMPUTES[ctx.actor.restricted], ids=list(computes_by_id), **seen):
        computes_by_id[vlan_id].append(instance_id)
    return computes_by_id
