"""Whom a declared proxy speaks for."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any


def reveal(scope: Any) -> None:
    """Put the caller's own address and scheme in the place of the proxy's.

    The last entry of the list is the one that our proxy has written; what stands before it, anybody may have.
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
