"""What a hypervisor answers instead of working.

DriverError
├── Refused            will not be done, however often it is asked; the text may be shown to the owner
│   ├── Absent         ... because there is no such thing on that host
│   └── Stale          ... because somebody else has taken the work over: drop it, report nothing
├── NotInstalled       the driver cannot be loaded on this machine
└── Unreachable        nobody knows: ask again later, and start nothing elsewhere meanwhile
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
    """A library that the driver needs is missing: also an ImportError, to those that load whatever can be loaded."""


class Unreachable(DriverError):
    """Temporary: the host, or the driver's own store, does not answer."""
