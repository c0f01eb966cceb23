"""Tokens of serial consoles: signed, not stored. Each is valid for an instance, with its requester's permissions."""

from __future__ import annotations

import base64
import binascii
import hmac

import msgspec
from msgspec import Struct

from crofter import clock
from crofter.context import Actor, Context, Runtime
from crofter.db import Session
from crofter.errors import Forbidden, Unauthenticated
from crofter.resources.instances import store
from crofter.resources.instances.store import Instance
from crofter.resources.users import access
from crofter.scopes import covers

SCOPE = "computes:read_write"
LIFE = clock.MINUTE
"""Lifetime of a token. It is part of an address, and proxies log addresses."""
MOUNT = PURPOSE = "lish"
"""The first part of the path of the web socket, and what its tokens are signed for."""
SIGNATURE = 32
LONGEST = 200


class Grant(Struct, frozen=True, array_like=True):
    """Contents of a token."""

    instance_id: int
    token_id: int
    """API token of the request: its revocation ends this token too."""
    consent_id: int | None
    """The consent that the API token came from, if any. Tokens of a consent are replaced by newer ones all the time."""
    expiry: int


def token(ctx: Context, instance: Instance) -> str:
    grant = Grant(instance.id, ctx.actor.token_id, access.consent_of(ctx), ctx.now + LIFE)
    content = msgspec.msgpack.encode(grant)
    signed = ctx.runtime.keyring.sign(content, PURPOSE) + content
    return base64.urlsafe_b64encode(signed).decode().rstrip("=")


def read(runtime: Runtime, presented: str) -> Grant:
    """Decode a token that is ours and not expired."""
    if len(presented) > LONGEST:
        raise Unauthenticated
    try:
        signed = base64.urlsafe_b64decode(presented + "=" * (-len(presented) % 4))
    except (binascii.Error, ValueError):
        raise Unauthenticated from None
    signature, content = signed[:SIGNATURE], signed[SIGNATURE:]
    if not hmac.compare_digest(signature, runtime.keyring.sign(content, PURPOSE)):
        raise Unauthenticated
    grant = msgspec.msgpack.decode(content, type=Grant)
    if grant.expiry <= runtime.clock.now():
        raise Unauthenticated
    return grant


def admit(runtime: Runtime, db: Session, grant: Grant) -> tuple[Actor, Instance]:
    """Return the requester and the instance, if access is still permitted."""
    actor = access.still(runtime, db, grant.token_id, grant.consent_id)
    if actor is None:
        raise Unauthenticated
    ctx = Context(runtime, db, actor)
    instance = store.one(ctx, grant.instance_id)
    if not covers(actor.scopes, SCOPE) or not access.permits(ctx, store.KIND, instance.id, "read_write"):
        raise Forbidden
    return actor, instance
