"""Deploying an image: what create, rebuild and a new disk have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from crofter import ssh
from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.resources.images.store import Image
from crofter.resources.instances import strength
from crofter.resources.instances.configs import store as configs
from crofter.resources.instances.configs import vlans
from crofter.resources.instances.disks import store as disks
from crofter.resources.instances.operations.deploy import DeployArgs, DiskPlan, SeedPlan, sealed
from crofter.resources.instances.store import Instance
from crofter.resources.profile.sshkeys import store as ssh_keys
from crofter.resources.stackscripts import rules as stackscripts
from crofter.resources.users import store as users

DEPLOYED_KERNEL = "compute/grub2"


class Deploying(Protocol):
    """A body that deploys something."""

    root_pass: str | None
    authorized_keys: list[str]
    authorized_users: list[str]
    stackscript_id: int | None
    stackscript_data: dict[str, Any]


def complaints(ctx: Context, body: Deploying, image: Image | None) -> Iterator[Reason]:
    """What is wrong with password, keys and script."""
    if image is not None or body.stackscript_id is not None:
        yield from _about_password(ctx, body.root_pass)
    unknown = set(body.authorized_users) - users.usernames(ctx, body.authorized_users)
    if unknown:
        yield Reason("authorized_users is not valid", "authorized_users")
    for position, key in enumerate(body.authorized_keys):
        if (complaint := ssh.complaint(key)) is not None:
            yield Reason(complaint, f"authorized_keys[{position}]")
    if body.stackscript_id is not None:
        yield from stackscripts.complaints(ctx, body.stackscript_id, body.stackscript_data, image)


def _about_password(ctx: Context, password: str | None) -> Iterator[Reason]:
    if password is None:
        yield Reason("root_pass is required", "root_pass")
        return
    try:
        strength.check(password, "root_pass", ctx.actor.username)
    except Invalid as problem:
        yield from problem.reasons


def seed(ctx: Context, instance_id: int, disk_id: int, body: Deploying) -> str:
    """What goes onto the root disk, sealed."""
    keys = [*body.authorized_keys, *ssh_keys.of_users(ctx, body.authorized_users)]
    script = None
    if body.stackscript_id is not None:
        script = stackscripts.script(ctx, body.stackscript_id, body.stackscript_data)
    return sealed(ctx, instance_id, SeedPlan(disk_id, body.root_pass, keys, script))


def from_image(
    ctx: Context, instance: Instance, image: Image, body: Any, *, swap_size: int = 512, booted: bool = True
) -> DeployArgs:
    """A root disk, a swap disk unless none is wanted, and the profile that boots them."""
    root = disks.insert(
        ctx,
        instance.id,
        label=f"{image.label} Disk"[:48],
        size=instance.disk - swap_size,
        filesystem=image.filesystem,
        image=image.slug,
    )
    plans = [DiskPlan(root.id, image=image.slug, minimum=image.size)]
    devices = {"sda": {"disk_id": root.id}}
    if swap_size:
        swap = disks.insert(ctx, instance.id, label=f"{swap_size} MB Swap Image", size=swap_size, filesystem="swap")
        plans.append(DiskPlan(swap.id))
        devices["sdb"] = {"disk_id": swap.id}
    config = configs.insert(
        ctx,
        instance.id,
        label=f"My {image.label} Disk Profile"[:48],
        devices=devices,
        kernel=DEPLOYED_KERNEL,
        memory_limit=instance.memory,
        interfaces=vlans.make(ctx, instance.region, getattr(body, "interfaces", [])),
    )
    return DeployArgs(
        instance.id,
        disks=plans,
        seed=seed(ctx, instance.id, root.id, body),
        boot_config=config.id if booted else None,
    )
