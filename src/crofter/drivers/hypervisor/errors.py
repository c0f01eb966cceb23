"""Errors of the hypervisor drivers.

DriverError
├── Refused            permanent, also after a retry; the text may be shown to the owner
│   ├── Absent         ... because there is no such thing on that host
│   └── Stale          ... because another worker has taken over: drop the work, report nothing
├── NotInstalled       the driver cannot be loaded on this machine
└── Unreachable        state unknown: retry later, and start nothing elsewhere meanwhile
"""

from __future__ import annotations


class DriverError(Exception):
    """Base of what a driver raises on purpose."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Refused(DriverError):
    """Permanent: the same order will be refused again."""


class Absent(Refused):
    """There is no such thing where it was looked for."""


class Stale(Refused):
    """The order comes from a worker that has lost its operation."""


class NotInstalled(DriverError, ImportError):
    """Missing library of the driver. Also an ImportError, for callers that load every available driver."""


class Unreachable(DriverError):
    """Temporary: the host, or the driver's own store, does not answer."""
