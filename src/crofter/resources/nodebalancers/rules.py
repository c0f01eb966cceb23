"""Rules of load balancers."""

from __future__ import annotations

from collections.abc import Iterator

from crofter import clock
from crofter.context import Context, Runtime
from crofter.errors import Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.billing import prices, standing
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.rules import default_name
from crofter.resources.instances.reasons import refuse
from crofter.resources.instances.usage.rules import NO_STATS
from crofter.resources.nodebalancers import store
from crofter.resources.nodebalancers.configs import rules as configs
from crofter.resources.nodebalancers.configs import store as config_store
from crofter.resources.nodebalancers.nodes import rules as nodes
from crofter.resources.nodebalancers.shapes import (
    NodeBalancerCreate,
    NodeBalancerStats,
    NodeBalancerStatsData,
    NodeBalancerTrafficView,
    NodeBalancerUpdate,
    NodeBalancerView,
)
from crofter.resources.nodebalancers.store import NodeBalancer
from crofter.resources.regions import store as regions
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.resources.users import access
from crofter.shapes import UNSET, given

CAPABILITY = "NodeBalancers"
POINT = 5 * clock.MINUTE
UNSERVED = "NodeBalancers are not available in this region: its hosts are real, and no driver there serves them."


def create(ctx: Context, body: NodeBalancerCreate) -> NodeBalancerView:
    if body.tags and ctx.actor.restricted:
        raise Forbidden
    plans = [configs.planned(config) for config in body.configs]
    refuse(body, _complaints(ctx, body, plans), lambda: _about_label(ctx, body.label))
    standing.must_be_paid_up(ctx)
    ipv4 = ips.take(ctx, body.region, public=True)
    balancer = store.insert(ctx, body.label, body.region, body.client_conn_throttle, default_name(ctx, ipv4), ipv4)
    if body.tags:
        tagging.put_on(ctx, store.KIND, balancer.id, body.tags)
    access.entrust(ctx, store.KIND, balancer.id)
    prices.begin_nodebalancer(ctx, balancer.id, balancer.label)
    record(ctx, "nodebalancer_create", store.entity(balancer))
    for plan, sent in zip(plans, body.configs, strict=True):
        config = configs.make(ctx, balancer, plan)
        for node in sent.nodes or ():
            nodes.add(ctx, balancer, config.id, node)
    return store.view(ctx, balancer)


def _complaints(ctx: Context, body: NodeBalancerCreate, plans: list[configs.Plan]) -> Iterator[Reason]:
    """In the order in which it was sent: of each port, and then of the nodes behind it."""
    region = regions.find(ctx, body.region)
    offered = region is not None and region.offered and CAPABILITY in region.capabilities
    usable = region is not None and offered and CAPABILITY in regions.usable(ctx, region)
    if not usable:
        yield Reason(UNSERVED if offered else "region is not valid", "region")
    ports: set[int] = set()
    for place, (plan, sent) in enumerate(zip(plans, body.configs, strict=True)):
        path = f"configs[{place}]."
        if plan.settings["port"] in ports:
            yield Reason(config_store.TAKEN, f"{path}port")
        ports.add(plan.settings["port"])
        for reason in plan.reasons:
            yield Reason(reason.reason, f"{path}{reason.field}")
        yield from nodes.complaints(ctx, body.region if usable else None, sent.nodes or [], path=path)


def _about_label(ctx: Context, label: str | None) -> Iterator[Reason]:
    """Pre-check for requests that already failed validation; other clashes are reported by the unique constraint."""
    if label is not None and store.has_label(ctx, label):
        yield Reason(store.TAKEN, "label")


def update(ctx: Context, balancer: NodeBalancer, body: NodeBalancerUpdate) -> NodeBalancerView:
    now = set(tags.labels_of(ctx, store.KIND, balancer.id))
    labels = None if body.tags is UNSET or set(body.tags) == now else body.tags
    if labels is not None and ctx.actor.restricted:
        raise Forbidden
    store.change(ctx, balancer.id, given(body, "label", "client_conn_throttle"))
    if labels is not None:
        tagging.put_on(ctx, store.KIND, balancer.id, labels)
    changed = store.one(ctx, balancer.id)
    if changed.label != balancer.label:
        prices.rename_nodebalancer(ctx, balancer.id, changed.label)
    record(ctx, "nodebalancer_update", store.entity(changed))
    return store.view(ctx, changed)


def delete(ctx: Context, balancer: NodeBalancer) -> None:
    remove(ctx, balancer)
    record(ctx, "nodebalancer_delete", store.entity(balancer))


def remove(ctx: Context, balancer: NodeBalancer) -> None:
    """Remove the load balancer and stop billing it."""
    prices.end_nodebalancer(ctx, balancer.id)
    tags.detach(ctx, store.KIND, balancer.id)
    access.forget(ctx, store.KIND, balancer.id)
    store.delete(ctx, balancer)


def stop_billing_unserved(runtime: Runtime) -> None:
    """Stop billing balancers that were made in a region before its hosts were known to serve none."""
    with runtime.database.read() as db:
        real = runtime.settings.real_regions(regions.slugs(db))
        unserved = store.in_regions(db, sorted(real)) if real else []
    for balancer in unserved:
        with runtime.database.write() as db:
            db.lock_account(balancer.account_id)
            prices.end_nodebalancer(Context.of_system(runtime, db, balancer.account_id), balancer.id)


def stats(ctx: Context, balancer: NodeBalancer) -> NodeBalancerStats:
    """The last 24 hours. No traffic goes through a simulated balancer, so there is none to be shown."""
    if ctx.now - clock.parse(balancer.created) < POINT:
        raise Invalid(NO_STATS)
    nothing = [0.0] * (clock.DAY // POINT)
    data = NodeBalancerStatsData(connections=nothing, traffic=NodeBalancerTrafficView(nothing, nothing))
    return NodeBalancerStats(data=data, title=f"{balancer.label} (#{balancer.id}) - day (5 min avg)")
