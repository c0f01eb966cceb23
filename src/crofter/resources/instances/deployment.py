"""Deploying an image: what create, rebuild and a new disk have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from crofter import ssh
from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.resources.images import rules as images
from crofter.resources.images.store import Image
from crofter.resources.instances import layout, strength
from crofter.resources.instances.operations.deploy import DeployArgs, SeedPlan, sealed
from crofter.resources.instances.shapes import InstanceCreate
from crofter.resources.instances.store import Instance
from crofter.resources.profile.sshkeys import store as ssh_keys
from crofter.resources.stackscripts import rules as stackscripts
from crofter.resources.users import store as users
from crofter.shapes import Body


class Deploying(Protocol):
    """A body that deploys something."""

    @property
    def root_pass(self) -> str | None: ...
    @property
    def authorized_keys(self) -> list[str]: ...
    @property
    def authorized_users(self) -> list[str]: ...
    @property
    def stackscript_id(self) -> int | None: ...
    @property
    def stackscript_data(self) -> dict[str, Any]: ...


def complaints(ctx: Context, body: Deploying, image: Image | None) -> Iterator[Reason]:
    """What is wrong with password, keys and script."""
    if image is not None:
        images.must_be_deployable(ctx, image)
    if body.root_pass is not None:
        yield from _about_password(ctx, body.root_pass)
    elif image is not None or body.stackscript_id is not None:
        yield Reason("root_pass is required", "root_pass")
    unknown = set(body.authorized_users) - users.usernames(ctx, body.authorized_users)
    if unknown:
        yield Reason("authorized_users is not valid", "authorized_users")
    for position, key in enumerate(body.authorized_keys):
        if (complaint := ssh.complaint(key)) is not None:
            yield Reason(complaint, f"authorized_keys[{position}]")
    if body.stackscript_id is not None:
        yield from stackscripts.complaints(ctx, body.stackscript_id, body.stackscript_data, image)


def refuse(body: Body, reasons: Iterable[Reason], further: Callable[[], Iterable[Reason]] = tuple[Reason, ...]) -> None:
    """Refuse for all these reasons at once, in the order of the body's fields, if there are any.

    Then for the ``further`` ones too, which are looked for only then.
    """
    found = list(reasons)
    if found:
        found += further()
        places = {name: place for place, name in enumerate(body.__struct_fields__)}
        raise Invalid.all(sorted(found, key=lambda one: places.get(one.head, -1)))


def _about_password(ctx: Context, password: str) -> Iterator[Reason]:
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


def from_image(ctx: Context, instance: Instance, image: Image, body: InstanceCreate) -> DeployArgs:
    """Everything that creating an instance from an image writes down."""
    planned = layout.from_image(ctx, instance, image, swap_size=body.swap_size, interfaces=body.interfaces)
    return DeployArgs(
        instance.id,
        disks=planned.disks,
        seed=seed(ctx, instance.id, planned.root_id, body),
        boot_config=planned.config_id if body.booted else None,
    )
