"""Request and response bodies of configuration profiles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter.resources.instances.shapes import Devices, Interfaces
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View, Words

ConfigLabel = Annotated[str, Meta(min_length=1, max_length=48, description="Name of the profile.")]
RunLevel = Literal["default", "single", "binbash"]
VirtMode = Literal["paravirt", "fullvirt"]
Memory = Annotated[int, Meta(ge=0, le=2**31 - 1, description="MB; 0 is all there is.")]
Comments = Annotated[str, Meta(max_length=65535)]


class DeviceView(View):
    disk_id: Id | None
    volume_id: Id | None


class DevicesView(View):
    sda: DeviceView | None
    sdb: DeviceView | None
    sdc: DeviceView | None
    sdd: DeviceView | None
    sde: DeviceView | None
    sdf: DeviceView | None
    sdg: DeviceView | None
    sdh: DeviceView | None


class HelpersView(View):
    """Preparations in the guest's file system at boot."""

    devtmpfs_automount: bool
    distro: bool
    modules_dep: bool
    network: bool
    updatedb_disabled: bool


class InterfaceView(View):
    ipam_address: str | None
    label: str | None
    purpose: Literal["public", "vlan"]


class ConfigView(View):
    """Boot settings of an instance."""

    comments: str | None
    created: Filtered[Moment]
    devices: DevicesView
    helpers: HelpersView
    id: Id
    initrd: str | None
    interfaces: list[InterfaceView]
    kernel: Words[str]
    label: Filtered[ConfigLabel]
    memory_limit: int
    root_device: str
    run_level: RunLevel
    updated: Filtered[Moment]
    virt_mode: VirtMode


class HelpersBody(Body):
    devtmpfs_automount: Optional[bool] = UNSET
    distro: Optional[bool] = UNSET
    modules_dep: Optional[bool] = UNSET
    network: Optional[bool] = UNSET
    updatedb_disabled: Optional[bool] = UNSET


class ConfigUpdate(Body):
    devices: Optional[Devices] = UNSET
    label: Optional[ConfigLabel] = UNSET
    comments: Optional[Comments | None] = UNSET
    helpers: Optional[HelpersBody] = UNSET
    interfaces: Optional[Interfaces] = UNSET
    kernel: Optional[Words[str]] = UNSET
    memory_limit: Optional[Memory] = UNSET
    root_device: Optional[Annotated[str, Meta(max_length=255)]] = UNSET
    run_level: Optional[RunLevel] = UNSET
    virt_mode: Optional[VirtMode] = UNSET


class ConfigCreate(Body):
    devices: Devices
    label: ConfigLabel
    comments: Optional[Comments | None] = UNSET
    helpers: Optional[HelpersBody] = UNSET
    interfaces: Optional[Interfaces] = UNSET
    kernel: Optional[Words[str]] = UNSET
    memory_limit: Optional[Memory] = UNSET
    root_device: Optional[Annotated[str, Meta(max_length=255)]] = UNSET
    run_level: Optional[RunLevel] = UNSET
    virt_mode: Optional[VirtMode] = UNSET


ConfigBody = ConfigCreate | ConfigUpdate
Values = dict[str, Any]
