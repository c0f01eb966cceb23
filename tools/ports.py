"""Free ports for servers that are about to start, reserved against other processes."""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _LAST = 20_000, 32_000
"""Below those that a system gives to clients, and to servers that take any."""
_APART = 61
_asked = itertools.count()


def free_ports(count: int = 1) -> int:
    """The first of so many in a row. Processes of neighbouring numbers look in different places."""
    places = _LAST - _FIRST - count
    for _ in range(places):
        first = _FIRST + (os.getpid() * _APART + next(_asked) * count) % places
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise AssertionError(f"there are no {count} free ports")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
