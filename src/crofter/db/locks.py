"""Locks on accounts, and on what belongs to none, taken like the lock of one."""

from __future__ import annotations

from enum import IntEnum

ACCOUNTS = 1
"""The class of PostgreSQL's advisory locks that hold accounts."""


class Lock(IntEnum):
    """Numbers that no account has, so that one class of advisory locks serves both."""

    SYSTEM = 0
    """First start, keys, catalogue: one process at a time changes them."""
    ADDRESS_POOLS = -1
    MONITORING = -2
