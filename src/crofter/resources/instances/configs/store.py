"""Configuration profiles."""

from __future__ import annotations

from typing import Any

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, identity, owned, partial_index, query, table
from crofter.db.sql import Column, ForeignKey, Index, Integer, Text, bindparam, false, select, text
from crofter.kinds import Entity

SLOTS = ("sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh")
HELPERS = ("devtmpfs_automount", "distro", "modules_dep", "network", "updatedb_disabled")

config = table(
    "config",
    identity(),
    owned(),
    Column("instance_id", Id, ForeignKey("instance.id", ondelete="CASCADE"), nullable=False),
    Column("label", Text, nullable=False),
    Column("comments", Text),
    Column("devices", Json, nullable=False),  # slot -> {"disk_id": …} or {"volume_id": …}; empty slots are left out
    Column("helpers", Json, nullable=False),
    Column("interfaces", Json, nullable=False),
    Column("kernel", Text, nullable=False),
    Column("memory_limit", Integer, nullable=False),
    Column("root_device", Text, nullable=False),
    Column("run_level", Text, nullable=False),
    Column("virt_mode", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("updated", Moment, nullable=False),
    # True if a slot holds a volume: narrows the search when a volume is removed.
    Column("names_volumes", Flag, nullable=False, server_default=false()),
    Index("ix_config_instance_id", "instance_id", "id"),
    partial_index("ix_config_names_volumes", "account_id", where="names_volumes"),
)


KEPT = (
    "label",
    "comments",
    "devices",
    "helpers",
    "interfaces",
    "kernel",
    "memory_limit",
    "root_device",
    "run_level",
    "virt_mode",
)
"""Columns that backups store and clones copy."""


Devices = dict[str, dict[str, int | None]]


class Config(Row):
    id: int
    account_id: int
    instance_id: int
    label: str
    comments: str | None
    devices: Devices
    helpers: dict[str, bool]
    interfaces: list[dict[str, str | None]]
    kernel: str
    memory_limit: int
    root_device: str
    run_level: str
    virt_mode: str
    created: str
    updated: str
    names_volumes: bool

    @property
    def disks(self) -> set[int]:
        """Return the disks that this profile uses."""
        return {device["disk_id"] for device in self.devices.values() if device.get("disk_id")}  # type: ignore[misc]

    @property
    def volumes(self) -> set[int]:
        """Return the volumes that this profile uses."""
        return volumes_of(self.devices)

    @property
    def networks(self) -> set[str]:
        """Return the private networks of this profile."""
        return {str(interface["label"]) for interface in self.interfaces if interface["purpose"] == "vlan"}


ALL = select(config)
_OF = query(ALL.where(config.c.instance_id == bindparam("instance_id")).order_by(config.c.id), Config)
_NAMING_VOLUMES = query(
    ALL.where(config.c.account_id == bindparam("account_id"), text("names_volumes")).order_by(config.c.id), Config
)
_ONE = query(
    ALL.where(
        config.c.account_id == bindparam("account_id"),
        config.c.instance_id == bindparam("instance_id"),
        config.c.id == bindparam("id"),
    ),
    Config,
)


def ask_ahead(ctx: Context, instance_id: int) -> None:
    """Prefetch the profiles of this instance."""
    ctx.db.ask_ahead(_OF, instance_id=instance_id)


def of(ctx: Context, instance_id: int) -> list[Config]:
    return ctx.db.all(_OF, instance_id=instance_id)


def one(ctx: Context, compute_id: int, config_id: int) -> Config:
    return ctx.db.one(_ONE, account_id=ctx.account_id, instance_id=compute_id, id=config_id)


def find(ctx: Context, compute_id: int, config_id: int) -> Config | None:
    return ctx.db.maybe(_ONE, account_id=ctx.account_id, instance_id=compute_id, id=config_id)


def default_helpers(*, network: bool = True) -> dict[str, bool]:
    return {**dict.fromkeys(HELPERS, True), "network": network}


def insert(ctx: Context, instance_id: int, *, label: str, devices: dict[str, Any], **more: Any) -> Config:
    """Insert a profile, with defaults for missing values."""
    values: dict[str, Any] = {
        "account_id": ctx.account_id,
        "instance_id": instance_id,
        "label": label,
        "comments": "",
        "devices": devices,
        "helpers": default_helpers(),
        "interfaces": [],
        "kernel": "compute/latest-64bit",
        "memory_limit": 0,
        "root_device": "/dev/sda",
        "run_level": "default",
        "virt_mode": "paravirt",
        "created": ctx.moment,
        "updated": ctx.moment,
        "names_volumes": bool(volumes_of(devices)),
        **more,
    }
    return Config(ctx.db.insert(config, **values), **values)


def without_disk(ctx: Context, instance_id: int, disk_id: int) -> None:
    """Empty every slot that holds a disk which is going."""
    for row in of(ctx, instance_id):
        left = {slot: device for slot, device in row.devices.items() if device.get("disk_id") != disk_id}
        if left != row.devices:
            ctx.db.update(config, {"id": row.id}, devices=left, updated=ctx.moment)


def volumes_of(devices: Devices) -> set[int]:
    return {device["volume_id"] for device in devices.values() if device.get("volume_id")}  # type: ignore[misc]


def naming_volume(ctx: Context, volume_id: int) -> list[Config]:
    """The profiles of the account that have a volume at a slot."""
    return [row for row in ctx.db.all(_NAMING_VOLUMES, account_id=ctx.account_id) if volume_id in row.volumes]


def set_devices(ctx: Context, config_id: int, devices: Devices) -> None:
    named = bool(volumes_of(devices))
    ctx.db.update(config, {"id": config_id}, devices=devices, names_volumes=named, updated=ctx.moment)


def entity(row: Config) -> Entity:
    url = f"/v4/compute/instances/{row.instance_id}/configs/{row.id}"
    return Entity("compute_config", row.id, row.label, url)
