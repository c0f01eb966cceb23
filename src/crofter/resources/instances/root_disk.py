"""Contents of a new root disk: password, keys and script, checked and sealed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from crofter import passwords, ssh
from crofter.context import Context
from crofter.engine import StepContext
from crofter.errors import Invalid, Reason
from crofter.resources.images import rules as images
from crofter.resources.images.store import Image
from crofter.resources.profile.sshkeys import store as ssh_keys
from crofter.resources.stackscripts import rules as stackscripts
from crofter.resources.users import store as users

WEAK = "Password does not meet strength requirement"


class SeedPlan(Struct, frozen=True):
    """Contents of a root disk. Sealed while queued, because of the password."""

    disk_id: int
    password: str | None = None
    keys: list[str] = []
    script: str | None = None


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
    """Return the problems of password, keys and script."""
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


def _about_password(ctx: Context, password: str) -> Iterator[Reason]:
    try:
        must_be_strong(password, "root_pass", ctx.actor.username)
    except Invalid as problem:
        yield from problem.reasons


def seed(ctx: Context, instance_id: int, disk_id: int, body: Deploying) -> str:
    """Return the sealed contents of the root disk."""
    keys = [*body.authorized_keys, *ssh_keys.of_users(ctx, body.authorized_users)]
    script = None
    if body.stackscript_id is not None:
        script = stackscripts.script(ctx, body.stackscript_id, body.stackscript_data)
    return sealed(ctx, instance_id, SeedPlan(disk_id, body.root_pass, keys, script))


def sealed(ctx: Context, instance_id: int, plan: SeedPlan) -> str:
    return ctx.runtime.keyring.seal(msgspec.json.encode(plan), _associated_data(instance_id)).hex()


def opened(work: StepContext) -> SeedPlan:
    raw = work.runtime.keyring.open(bytes.fromhex(work.args.seed), _associated_data(work.args.instance_id))
    return msgspec.json.decode(raw, type=SeedPlan)


def _associated_data(instance_id: int) -> str:
    return f"seed of compute:{instance_id}"


def must_be_strong(password: str, field: str, *known: str) -> None:
    """Refuse a password that is easily guessed; ``known`` are words that a guesser would try first."""
    if not 7 <= len(password) <= 128:
        raise Invalid("Length must be 7-128 characters", field=field)
    if passwords.guessable(password, *known) is not None:
        raise Invalid(WEAK, field=field)
