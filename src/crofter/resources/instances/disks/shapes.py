"""Request and response bodies of disks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.instances.shapes import Keys, NewPassword, RootPass, StackScriptData, Usernames
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View, Word

Filesystem = Literal["raw", "swap", "ext3", "ext4", "initrd"]
DiskLabel = Annotated[str, Meta(min_length=1, max_length=48, description="Name of the disk.")]
DiskSize = Annotated[
    int, Meta(ge=1, le=2**63 - 1, description="MB.", extra={"reason": "Disk size must be at least 1 MB"})
]


class DiskView(View):
    """A disk of an instance."""

    created: Filtered[Moment]
    filesystem: Filesystem
    id: Id
    label: Filtered[DiskLabel]
    size: Filtered[DiskSize]
    status: Literal["ready", "not ready", "deleting"]
    updated: Filtered[Moment]


class DiskCreate(Body):
    size: DiskSize
    label: DiskLabel | None = None
    image: Word[str] | None = None
    root_pass: RootPass | None = None
    filesystem: Filesystem | None = None
    authorized_keys: Keys = []
    authorized_users: Usernames = []
    stackscript_id: Id | None = None
    stackscript_data: StackScriptData = {}


class DiskUpdate(Body):
    label: Optional[DiskLabel] = UNSET
    filesystem: Optional[Filesystem] = UNSET
    size: Optional[DiskSize] = UNSET


class DiskPassword(Body):
    password: NewPassword


class DiskResize(Body):
    size: DiskSize
