"""Private networks between instances of one account and region, and the interfaces that use them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Id, Moment, identity, owned, query, table
from crofter.db.sql import (
    Column,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    exists,
    func,
    select,
    text,
)
from crofter.errors import Reason
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs.store import Config
from crofter.resources.regions.store import Region

MOST = 10
"""Maximum number of private networks of an account per region."""
CAPABILITY = "Vlans"
_LABEL = re.compile(r"[A-Za-z0-9-]{1,64}")

vlan = table(
    "vlan",
    identity(),
    owned(),
    Column("region", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created", Moment, nullable=False),
    UniqueConstraint("account_id", "region", "label"),
    Index("ix_vlan_account_id", "account_id", "id"),
    Index("ix_vlan_label", "account_id", text("lower(label)"), "id"),
    Index("ix_vlan_region", "account_id", text("lower(region)"), "id"),
)
# Profiles of each network. A network without profiles is not shown.
config_vlan = table(
    "config_vlan",
    Column("vlan_id", Id, ForeignKey("vlan.id", ondelete="CASCADE"), nullable=False),
    Column("config_id", Id, ForeignKey("config.id", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("vlan_id", "config_id"),
    Index("ix_config_vlan_config_id", "config_id"),
    sqlite_without_rowid=True,
)
IN_USE = exists(select(config_vlan.c.vlan_id).where(config_vlan.c.vlan_id == vlan.c.id))
_NUMBER = query(
    select(vlan.c.id).where(
        vlan.c.account_id == bindparam("account_id"),
        vlan.c.region == bindparam("region"),
        vlan.c.label == bindparam("label"),
    )
)
_COUNT = query(
    select(func.count()).where(
        vlan.c.account_id == bindparam("account_id"), vlan.c.region == bindparam("region"), IN_USE
    )
)
_IN_USE = query(
    select(vlan.c.id).where(
        vlan.c.account_id == bindparam("account_id"),
        vlan.c.region == bindparam("region"),
        vlan.c.label == bindparam("label"),
        IN_USE,
    )
)
_FORGET_UNUSED = query(
    delete(vlan).where(vlan.c.account_id == bindparam("account_id"), vlan.c.region == bindparam("region"), ~IN_USE)
)


def number(ctx: Context, instance: Any, label: str) -> int | None:
    """The network that a label means where the instance is; none where there are no such networks."""
    vlan_id: int | None = ctx.db.value(_NUMBER, account_id=instance.account_id, region=instance.region, label=label)
    return vlan_id


def _labels(interfaces: Sequence[Any]) -> list[str]:
    return [interface.label for interface in interfaces if interface.purpose == "vlan" and interface.label]


def complaints(ctx: Context, region: Region | None, interfaces: Sequence[Any]) -> Iterator[Reason]:
    """Everything that is wrong with a list of interfaces, as far as it is known where they are to be."""
    if sum(interface.purpose == "public" for interface in interfaces) > 1:
        yield Reason("Only one public interface is allowed", "interfaces")
    wanted = _labels(interfaces)
    if len(set(wanted)) != len(wanted):
        yield Reason("VLAN labels must be unique within a configuration", "interfaces")
    for position, interface in enumerate(interfaces):
        yield from _one(interface, f"interfaces[{position}]")
    if region is None:
        return
    if CAPABILITY not in region.capabilities and any(interface.purpose == "vlan" for interface in interfaces):
        yield Reason("VLANs are not available in this region", "interfaces")
    new = {label for label in wanted if _unknown(ctx, region.slug, label)}
    if new and int(ctx.db.value(_COUNT, account_id=ctx.account_id, region=region.slug)) + len(new) > MOST:
        yield Reason(f"At most {MOST} VLANs are allowed in a region", "interfaces")


def _one(interface: Any, path: str) -> Iterator[Reason]:
    if interface.purpose == "public":
        if interface.label:
            yield Reason("Must be empty for a public interface", f"{path}.label")
        if interface.ipam_address:
            yield Reason("Must be empty for a public interface", f"{path}.ipam_address")
        return
    if not interface.label:
        yield Reason("label is required", f"{path}.label")
    elif not _LABEL.fullmatch(interface.label):
        yield Reason("Must be 1-64 ASCII letters, numbers and dashes", f"{path}.label")
    if interface.ipam_address and not _is_cidr(interface.ipam_address):
        yield Reason("Must be an IP address with a prefix length", f"{path}.ipam_address")


def _is_cidr(value: str) -> bool:
    try:
        ipaddress.ip_interface(value)
    except ValueError:
        return False
    return "/" in value


def _unknown(ctx: Context, region: str, label: str) -> bool:
    return ctx.db.value(_IN_USE, account_id=ctx.account_id, region=region, label=label) is None


def kept(interfaces: Sequence[Any]) -> list[dict[str, str | None]]:
    """Return the interfaces in the stored form."""
    return [
        {"purpose": interface.purpose, "label": interface.label or "", "ipam_address": interface.ipam_address or ""}
        if interface.purpose == "vlan"
        else {"purpose": "public", "label": "", "ipam_address": ""}
        for interface in interfaces
    ]


def follow(ctx: Context, region: str, config: Config, before: Config | None = None) -> None:
    """A profile was made or changed: networks that are not there yet come into being, and know that it uses them."""
    had = set() if before is None else before.networks
    for label in sorted(had - config.networks):
        number = ctx.db.value(_NUMBER, account_id=ctx.account_id, region=region, label=label)
        ctx.db.delete(config_vlan, vlan_id=number, config_id=config.id)
    new = sorted(config.networks - had)
    if had or new:
        forget_unused(ctx, ctx.account_id, region)
    for label in new:
        values = {"account_id": ctx.account_id, "region": region, "label": label}
        number = ctx.db.value(_NUMBER, **values) or ctx.db.insert(vlan, **values, created=ctx.moment)
        ctx.db.insert(config_vlan, vlan_id=number, config_id=config.id)


def leave(ctx: Context, instance: Any) -> None:
    """The instance is in another region from now on, where none of its networks is."""
    for config in configs.of(ctx, instance.id):
        ctx.db.delete(config_vlan, config_id=config.id)
    forget_unused(ctx, instance.account_id, instance.region)


def forget_unused(ctx: Context, account_id: int, region: str) -> None:
    """Networks that no profile uses any more are gone."""
    ctx.db.run(_FORGET_UNUSED, account_id=account_id, region=region)
