"""OAuth clients as the login service meets them: who they are, and where they may be answered."""

from __future__ import annotations

import hmac

from crofter.config import is_loopback
from crofter.context import Context, Runtime
from crofter.db import Duplicate
from crofter.login import store
from crofter.login.store import Client
from crofter.resources.oauth.store import client as clients

COMMAND_LINE = "00000000000000000c11"
CONSOLE = "00000000000000000c05"
# Built-in clients of the server: valid everywhere, without an account, immutable.
BUILT_IN = {
    COMMAND_LINE: ("crofter command line", "http://127.0.0.1/callback"),
    CONSOLE: ("crofter console", "/console/signed-in"),  # at any address of the server
}


def find(ctx: Context, public_id: str) -> Client | None:
    """A client that may be used, or None."""
    client = ctx.db.maybe(store.CLIENT, public_id=public_id)
    return client if client is not None and client.status == "active" else None


def ensure_built_in(runtime: Runtime, public_id: str) -> None:
    """A client of the server gets its row when it is first used."""
    if public_id not in BUILT_IN:
        return
    with runtime.database.read() as db:
        if db.maybe(store.CLIENT, public_id=public_id) is not None:
            return
    label, redirect_uri = BUILT_IN[public_id]
    try:
        with runtime.database.write() as db:
            ctx = Context(runtime, db)
            db.insert(
                clients,
                public_id=public_id,
                label=label,
                redirect_uri=redirect_uri,
                public=True,
                secret_digest=runtime.keyring.digest(runtime.rng.hex(64)),
                status="active",
                created=ctx.moment,
            )
    except Duplicate:
        pass  # another request was quicker


def knows_secret(runtime: Runtime, client: Client, secret: str) -> bool:
    return hmac.compare_digest(runtime.keyring.digest(secret), bytes(client.secret_digest))


def is_console(client: Client) -> bool:
    return client.public_id == CONSOLE


def may_answer_at(client: Client, uri: str, origin: str) -> bool:
    """The registered address, to the letter. A program on one's own machine cannot choose its port beforehand."""
    if is_console(client):
        return uri == origin + client.redirect_uri
    if uri == client.redirect_uri:
        return True
    scheme, host, _ = registered = _without_port(client.redirect_uri)
    return scheme == "http:" and is_loopback(host.strip("[]")) and _without_port(uri) == registered


def _without_port(uri: str) -> tuple[str, str, str]:
    """Scheme, host, and all that follows, as they were written."""
    scheme, _, rest = uri.partition("//")
    end = next((place for place, letter in enumerate(rest) if letter in "/?#"), len(rest))
    host, colon, port = rest[:end].rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and len(port) <= 5):
        host = rest[:end]
    return scheme, host, rest[end:]
