"""Rules of firewalls, their devices, and the filter rules in force."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import msgspec

from crofter.context import Context
from crofter.db import Duplicate
from crofter.drivers.hypervisor import Rule
from crofter.errors import Busy, Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.firewalls import checks, operations, store
from crofter.resources.firewalls.shapes import (
    MOST_ADDRESSES,
    MOST_RULES,
    DeviceEntity,
    FirewallCreate,
    FirewallDeviceCreate,
    FirewallDeviceView,
    FirewallUpdate,
    FirewallView,
    RuleAddresses,
    RuleBody,
    RulesUpdate,
    RulesView,
    RuleView,
)
from crofter.resources.firewalls.store import Device, Firewall
from crofter.resources.instances import store as instances
from crofter.resources.instances.store import Instance
from crofter.resources.tags import rules as tagging
from crofter.resources.tags import store as tags
from crofter.resources.users import access
from crofter.shapes import UNSET

DIRECTIONS = ("inbound", "outbound")
TOO_MANY = f"Must have at most {MOST_RULES} rules, inbound and outbound together"
GUARDED = "The Compute {} has an enabled firewall already"
DEVICE_TAKEN = "The Compute is assigned to this firewall already"

# checks of rules


def create_complaints(ctx: Context, sent: dict[str, Any], wrong: Set[str]) -> Iterator[Reason]:
    """Return the problems of a new firewall's rules across fields."""
    sent_rules = sent.get("rules")
    if not isinstance(sent_rules, dict):
        return
    reasons = list(_about_rules(sent_rules, wrong, "rules."))
    if sum(len(_listed(sent_rules, direction)) for direction in DIRECTIONS) > MOST_RULES:
        reasons.append(Reason(TOO_MANY, "rules"))
    yield from reasons
    refused = reasons or any(field.startswith("rules") for field in wrong)
    label = sent.get("label")
    # Rules that are refused keep the rest of the body from being tried, which would say this.
    if refused and isinstance(label, str) and store.has_label(ctx, label):
        yield Reason(store.TAKEN, "label")


def update_complaints(_ctx: Context, sent: dict[str, Any], wrong: Set[str]) -> Iterator[Reason]:
    yield from _about_rules(sent, wrong, "")


def _listed(sent: Mapping[str, Any], direction: str) -> list[Any]:
    listed = sent.get(direction)
    return listed if isinstance(listed, list) else []


def _about_rules(sent: Mapping[str, Any], wrong: Set[str], path: str) -> Iterator[Reason]:
    for direction in DIRECTIONS:
        for position, rule in enumerate(_listed(sent, direction)):
            if isinstance(rule, dict):
                here = f"{path}{direction}[{position}]"
                yield from (reason for reason in _about_rule(rule, here) if reason.field not in wrong)


def _about_rule(rule: Mapping[str, Any], path: str) -> Iterator[Reason]:
    protocol, ports, addresses = rule.get("protocol"), rule.get("ports"), rule.get("addresses")
    given = bool(ports.strip(" ")) if isinstance(ports, str) else ports is not None
    if protocol == "ICMP" and given:
        yield Reason("Must not be given for ICMP", f"{path}.ports")
    if isinstance(addresses, dict):
        families = [addresses.get(family) or [] for family in ("ipv4", "ipv6")]
        amount = sum(len(family) if isinstance(family, list) else 1 for family in families)
        if not amount:
            yield Reason("Must have an IPv4 or an IPv6 network", f"{path}.addresses")
        elif amount > MOST_ADDRESSES:
            yield Reason(f"Must have at most {MOST_ADDRESSES} networks", f"{path}.addresses")


# ---- firewalls ------------------------------------------------------------------------------------------------------


def create(ctx: Context, body: FirewallCreate) -> FirewallView:
    if body.tags and ctx.actor.restricted:
        raise Forbidden
    computes = [] if body.devices is None else list(dict.fromkeys(body.devices.computes))
    guarded = _guardable(ctx, computes, "devices.computes")
    reasons = [Reason(GUARDED.format(number), "devices.computes") for number in _guarded_already(ctx, guarded)]
    if reasons:
        taken = [Reason(store.TAKEN, "label")] if store.has_label(ctx, body.label) else []
        raise Invalid.all([*taken, *reasons])
    sent = body.rules
    rules = RulesView(_kept(sent.inbound), sent.inbound_policy, _kept(sent.outbound), sent.outbound_policy)
    firewall_id = store.insert(ctx, body.label, rules)
    if body.tags:
        tagging.put_on(ctx, store.KIND, firewall_id, body.tags)
    access.entrust(ctx, store.KIND, firewall_id)
    entity = store.entity(firewall_id, body.label)
    record(ctx, "firewall_create", entity)
    for instance in guarded:
        _insert_device(ctx, firewall_id, instance)
        record(ctx, "firewall_device_add", entity, instances.entity(instance))
    operations.apply(ctx, [instance.id for instance in guarded])
    return store.view(store.one(ctx, firewall_id))


def _kept(sent: Sequence[RuleBody]) -> list[RuleView]:
    return [
        RuleView(
            protocol=rule.protocol,
            addresses=RuleAddresses(rule.addresses.ipv4, rule.addresses.ipv6),
            action=rule.action,
            ports=rule.ports,
            label=rule.label,
            description=rule.description,
        )
        for rule in sent
    ]


def update(ctx: Context, firewall: Firewall, body: FirewallUpdate) -> FirewallView:
    labels = None if body.tags is UNSET or set(body.tags) == set(_tags(ctx, firewall)) else body.tags
    if labels is not None and ctx.actor.restricted:
        raise Forbidden
    label = firewall.label if body.label is UNSET else body.label
    status = firewall.status if body.status is UNSET else body.status
    _check_update(ctx, firewall, label, status)
    store.change(ctx, firewall.id, label=label, status=status)
    if labels is not None:
        tagging.put_on(ctx, store.KIND, firewall.id, labels)
    entity = store.entity(firewall.id, label)
    if status != firewall.status:
        record(ctx, "firewall_enable" if status == "enabled" else "firewall_disable", entity)
        operations.apply(ctx, store.guarded(ctx, firewall.id))
    if status == firewall.status or body.label is not UNSET or body.tags is not UNSET:
        record(ctx, "firewall_update", entity)
    return store.view(store.one(ctx, firewall.id))


def _tags(ctx: Context, firewall: Firewall) -> list[str]:
    return tags.labels_of(ctx, store.KIND, firewall.id)


def _check_update(ctx: Context, firewall: Firewall, label: str, status: str) -> None:
    if status != "enabled" or firewall.status == "enabled":
        return
    twice = store.guarded_twice(ctx, firewall.id)
    if twice is not None:
        taken = label != firewall.label and store.has_label(ctx, label)
        also = [Reason(store.TAKEN, "label")] if taken else []
        raise Invalid.all([*also, Reason(GUARDED.format(twice), "status")])


def delete(ctx: Context, firewall: Firewall) -> None:
    guarded = store.guarded(ctx, firewall.id) if firewall.status == "enabled" else []
    remove(ctx, firewall.id)
    record(ctx, "firewall_delete", store.entity(firewall.id, firewall.label))
    operations.apply(ctx, guarded)


def remove(ctx: Context, firewall_id: int) -> None:
    """Remove the firewall without an event."""
    tags.detach(ctx, store.KIND, firewall_id)
    access.forget(ctx, store.KIND, firewall_id)
    ctx.db.delete(store.firewall, account_id=ctx.account_id, id=firewall_id)


def update_rules(ctx: Context, firewall: Firewall, body: RulesUpdate) -> RulesView:
    """Replace the rules of the directions that were sent."""
    before = store.rules_of(firewall)
    rules = RulesView(
        before.inbound if body.inbound is UNSET else _kept(body.inbound),
        before.inbound_policy if body.inbound_policy is UNSET else body.inbound_policy,
        before.outbound if body.outbound is UNSET else _kept(body.outbound),
        before.outbound_policy if body.outbound_policy is UNSET else body.outbound_policy,
    )
    if len(rules.inbound) + len(rules.outbound) > MOST_RULES:
        raise Invalid(TOO_MANY, field="outbound" if body.inbound is UNSET else "inbound")
    store.change(ctx, firewall.id, rules=msgspec.to_builtins(rules))
    record(ctx, "firewall_update", store.entity(firewall.id, firewall.label))
    if firewall.status == "enabled":
        operations.apply(ctx, store.guarded(ctx, firewall.id))
    return rules


# devices


def add_device(ctx: Context, firewall: Firewall, body: FirewallDeviceCreate) -> FirewallDeviceView:
    (instance,) = _guardable(ctx, [body.id], "id")
    if firewall.status == "enabled" and _guarded_already(ctx, [instance]):
        of_this = instance.id in store.guarded(ctx, firewall.id)
        raise Invalid(DEVICE_TAKEN if of_this else GUARDED.format(instance.id), field="id")
    device = _insert_device(ctx, firewall.id, instance)
    record(ctx, "firewall_device_add", store.entity(firewall.id, firewall.label), instances.entity(instance))
    if firewall.status == "enabled":
        operations.apply(ctx, [instance.id])
    return device_view(device)


def guard(ctx: Context, instance: Instance, firewall_id: int) -> None:
    """Put an instance that is created in this transaction behind a firewall. Its first boot finds the rules."""
    ctx.runtime.kinds.require(ctx, store.KIND, [firewall_id], "read_write", field="firewall_id")
    firewall = store.one(ctx, firewall_id)
    _insert_device(ctx, firewall.id, instance)
    record(ctx, "firewall_device_add", store.entity(firewall.id, firewall.label), instances.entity(instance))


def _guardable(ctx: Context, instance_ids: list[int], field: str) -> list[Instance]:
    """These instances, if the caller may put firewalls in front of them."""
    ctx.runtime.kinds.require(ctx, instances.KIND, instance_ids, "read_write", field=field)
    rows = instances.these(ctx, instance_ids) if instance_ids else []
    if any(row.status == "deleting" for row in rows):
        raise Busy
    places = {instance_id: place for place, instance_id in enumerate(instance_ids)}
    return sorted(rows, key=lambda row: places[row.id])


def _guarded_already(ctx: Context, rows: Sequence[Instance]) -> list[int]:
    return sorted(store.guarded_already(ctx, [row.id for row in rows])) if rows else []


def _insert_device(ctx: Context, firewall_id: int, instance: Instance) -> Device:
    values = {"kind": instances.KIND, "object_id": instance.id, "created": ctx.moment, "updated": ctx.moment}
    try:
        number = ctx.db.insert(store.firewall_device, firewall_id=firewall_id, **values)
    except Duplicate:
        raise Invalid(DEVICE_TAKEN, field="id") from None
    return Device(number, instance.id, ctx.moment, ctx.moment, instance.label)


def device_view(device: Device) -> FirewallDeviceView:
    url = f"/v4/compute/instances/{device.object_id}"
    entity = DeviceEntity(device.object_id, device.label, "compute", url)
    return FirewallDeviceView(device.created, entity, device.id, device.updated)


def remove_device(ctx: Context, firewall: Firewall, device: Device) -> None:
    if not access.permits(ctx, instances.KIND, device.object_id, "read_write"):
        raise Forbidden
    ctx.db.delete(store.firewall_device, id=device.id)
    guarded = instances.one(ctx, device.object_id)
    record(ctx, "firewall_device_remove", store.entity(firewall.id, firewall.label), instances.entity(guarded))
    if firewall.status == "enabled":
        operations.apply(ctx, [guarded.id])


# packet filters of machines


def filter_rules(ctx: Context, instance: Instance) -> tuple[Rule, ...]:
    """The rules of the enabled firewall, each direction closed by its policy; none if there is no such firewall."""
    rules = store.rules_in_force(ctx, instance)
    if rules is None:
        return ()
    return (
        *(_rule("inbound", rule) for rule in rules.inbound),
        Rule("inbound", rules.inbound_policy),
        *(_rule("outbound", rule) for rule in rules.outbound),
        Rule("outbound", rules.outbound_policy),
    )


def _rule(direction: Any, rule: RuleView) -> Rule:
    ports = "" if rule.ports is UNSET else ",".join(checks.pieces(rule.ports))
    families = (rule.addresses.ipv4, rule.addresses.ipv6)
    networks = [network for family in families if family is not UNSET for network in family]
    addresses = tuple(str(ipaddress.ip_network(network, strict=False)) for network in networks)
    return Rule(direction, rule.action, rule.protocol, ports, addresses)
