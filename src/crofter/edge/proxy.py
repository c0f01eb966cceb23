"""Whom a declared proxy speaks for."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any


def reveal(scope: Any) -> None:
    """Replace the proxy's address and scheme by the client's.

    Only the last entry of the list comes from our proxy; earlier entries can be forged.
    """
    scope["scheme"] = "https" if scope["type"] == "http" else "wss"
    named = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    if not named:
        return
    last = named[-1].decode("latin-1").rpartition(",")[2].strip()
    try:
        scope["client"] = (str(ip_address(last)), 0)
    except ValueError:
        pass  # then the proxy itself is all we know
