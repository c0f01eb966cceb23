"""Settings of a container that was started without any: a sandbox with a key of its own."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from crofter.rng import Rng

PRODUCTION = ("MODE", "CONFIG", "SECRET_KEY", "BASE_URL", "BEHIND_PROXY", "DATABASE", "TLS_CERTIFICATE", "TLS_KEY")
"""Settings, one of which makes a container more than a trial."""


def completed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with what a sandbox beyond loopback needs, unless they have a setting for production."""
    added: dict[str, str] = {}
    if not any(environ.get(f"CROFTER_{name}") for name in PRODUCTION):
        added["CROFTER_MODE"] = "sandbox"
    if (environ.get("CROFTER_MODE") or added.get("CROFTER_MODE")) == "sandbox":
        added["CROFTER_SANDBOX_KEY"] = Rng().hex(32)
        added["CROFTER_SANDBOX_HOSTS"] = f"localhost,127.0.0.1,{socket.gethostname()}"
    return {**environ, **{name: value for name, value in added.items() if not environ.get(name)}}


def made_key(environ: Mapping[str, str], completed: Mapping[str, str]) -> str | None:
    """Return the key of the sandbox if it was made here."""
    name = "CROFTER_SANDBOX_KEY"
    return completed.get(name) if not environ.get(name) else None
