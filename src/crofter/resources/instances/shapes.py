"""Request and response bodies of instances."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter.resources.instances.labels import InstanceLabel
from crofter.resources.tags.shapes import TagLabel
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, Secret, View, Word

Status = Literal[
    "running",
    "offline",
    "booting",
    "rebooting",
    "shutting_down",
    "provisioning",
    "deleting",
    "migrating",
    "rebuilding",
    "cloning",
    "restoring",
    "stopped",
]
Day = Literal["Scheduling", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
Window = Literal["Scheduling", "W0", "W2", "W4", "W6", "W8", "W10", "W12", "W14", "W16", "W18", "W20", "W22"]
NewPassword = Secret[Annotated[str, Meta(extra_json_schema={"minLength": 7, "maxLength": 128})]]
"""Looked at after the state of the instance, which is the better reason."""
RootPass = Secret[Annotated[str, Meta(min_length=7, max_length=128, description="Password of root.")]]
StackScriptData = Secret[dict[str, Any]]
Keys = Annotated[list[Annotated[str, Meta(max_length=16384)]], Meta(max_length=100)]
Usernames = Annotated[list[Annotated[str, Meta(max_length=32)]], Meta(max_length=100)]
Tags = Annotated[list[TagLabel], Meta(max_length=500)]
Threshold = Annotated[int, Meta(ge=0, le=1_000_000, description="0 disables the alert.")]


class Alerts(View):
    """When to warn; each is an average over two hours."""

    cpu: int
    io: int
    network_in: int
    network_out: int
    transfer_quota: int


class Schedule(View):
    day: Day | None
    window: Window | None


class BackupsView(View):
    available: bool
    enabled: bool
    last_successful: Moment | None
    schedule: Schedule


class Specs(View):
    """Resources of the plan: MB, MB, GB per month, and processors."""

    disk: int
    memory: int
    transfer: int
    vcpus: int
    gpus: int


class InstanceView(View):
    """A compute instance."""

    alerts: Alerts
    backups: BackupsView
    created: Filtered[Moment]
    group: Filtered[str]
    hypervisor: Literal["kvm"]
    id: Filtered[Id]
    image: Filtered[Word[str | None]]
    ipv4: Filtered[list[str]]
    ipv6: str | None
    label: Filtered[InstanceLabel]
    region: Filtered[str]
    specs: Specs
    status: Filtered[Status]
    tags: Filtered[list[str]]
    type: Filtered[str]
    updated: Filtered[Moment]
    watchdog_enabled: bool


class InterfaceBody(Body):
    """A network interface; its place in the list says which."""

    purpose: Literal["public", "vlan"]
    label: str | None = None
    ipam_address: str | None = None


Interfaces = Annotated[list[InterfaceBody], Meta(max_length=3)]


class InstanceCreate(Body):
    type: str
    region: str
    image: Word[str] | None = None
    root_pass: RootPass | None = None
    authorized_keys: Keys = []
    authorized_users: Usernames = []
    backup_id: Id | None = None
    backups_enabled: bool | None = None
    booted: bool = True
    firewall_id: Annotated[Id, Meta(description="Firewall that guards the instance from the start.")] | None = None
    group: Annotated[str, Meta(max_length=64)] = ""
    interfaces: Interfaces = []
    label: InstanceLabel | None = None
    private_ip: bool = False
    stackscript_id: Id | None = None
    stackscript_data: StackScriptData = {}
    swap_size: Annotated[int, Meta(ge=0, le=10_000_000)] = 512
    tags: Tags = []


class AlertsUpdate(Body):
    cpu: Optional[Threshold] = UNSET
    io: Optional[Threshold] = UNSET
    network_in: Optional[Threshold] = UNSET
    network_out: Optional[Threshold] = UNSET
    transfer_quota: Optional[Threshold] = UNSET


class ScheduleUpdate(Body):
    day: Optional[Day | None] = UNSET
    window: Optional[Window | None] = UNSET


class BackupsUpdate(Body):
    schedule: Optional[ScheduleUpdate] = UNSET


class InstanceUpdate(Body):
    alerts: Optional[AlertsUpdate] = UNSET
    backups: Optional[BackupsUpdate] = UNSET
    group: Optional[Annotated[str, Meta(max_length=64)]] = UNSET
    label: Optional[InstanceLabel] = UNSET
    tags: Optional[Tags] = UNSET
    watchdog_enabled: Optional[bool] = UNSET


class WithConfig(Body):
    config_id: Id | None = None


class Rebuild(Body):
    image: Word[str] | None = None
    root_pass: RootPass | None = None
    authorized_keys: Keys = []
    authorized_users: Usernames = []
    booted: bool = True
    stackscript_id: Id | None = None
    stackscript_data: StackScriptData = {}


class Resize(Body):
    type: str
    allow_auto_disk_resize: bool = True


class Mutate(Body):
    allow_auto_disk_resize: bool = True


class Migrate(Body):
    region: str | None = None
    upgrade: bool = False


class PasswordReset(Body):
    root_pass: NewPassword


class DeviceBody(Body):
    disk_id: Id | None = None
    volume_id: Id | None = None


# Not as the type of the keys: the rules say what is wrong with a slot, together with what else is wrong.
_SLOTS = [f"sd{letter}" for letter in "abcdefgh"]
Devices = Annotated[
    dict[str, DeviceBody | None],
    Meta(description="What stands at each slot.", extra_json_schema={"propertyNames": {"enum": _SLOTS}}),
]
RescueDevices = Annotated[
    dict[str, DeviceBody | None],
    Meta(
        description="What stands at each slot; the last is for the rescue system itself.",
        extra_json_schema={"propertyNames": {"enum": _SLOTS[:-1]}},
    ),
]


class Rescue(Body):
    devices: RescueDevices = {}


class Clone(Body):
    region: str | None = None
    type: str | None = None
    compute_id: Id | None = None
    label: InstanceLabel | None = None
    group: Annotated[str, Meta(max_length=64)] | None = None
    backups_enabled: bool | None = None
    private_ip: bool = False
    disks: list[Id] | None = None
    configs: list[Id] | None = None


Series = list[list[float]]
"""Pairs of a moment in milliseconds and a value."""


class IoStats(View):
    io: Series
    swap: Series


class NetStats(View, rename={"in_": "in"}):
    in_: Series
    out: Series
    private_in: Series
    private_out: Series


class StatsData(View):
    """Percent of one processor, blocks per second, bits per second."""

    cpu: Series
    io: IoStats
    netv4: NetStats
    netv6: NetStats


class Stats(View):
    """Usage of an instance over time."""

    data: StatsData
    title: str


class TransferView(View):
    """Traffic of the month: GB to be paid for, GB of the plan, bytes used."""

    billable: int
    quota: int
    used: int


class MonthTransfer(View):
    bytes_in: int
    bytes_out: int
    bytes_total: int
