"""Contract of the drivers of name servers.

- **The latest zone wins.** A zone with a lower serial than the published one changes nothing: its sender was slow. The
same serial means the same zone.

- **Complete or not at all.** A partial zone is never served, at any moment of any kill.

- **Calls can be repeated.** This holds also after a call that raised or never returned; the repetition completes the
work.

- **A withdrawn name is forgotten.** Its next owner may begin with any serial.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class NotPublished(Exception):
    """The name servers do not serve the zone yet. Callers retry; the text is for the operator."""


class Zone(Struct, frozen=True):
    """A zone to publish."""

    name: str
    """In lower case, without a dot at the end."""
    serial: int
    lines: tuple[str, ...]
    """The file of the zone. None where it is copied from its masters."""
    masters: tuple[str, ...] = ()
    """Addresses that the name servers copy the zone from."""
    transfers: tuple[str, ...] = ()
    """Addresses that may transfer the zone."""


class NameServer(Protocol):
    def publish(self, zone: Zone) -> None:
        """Serve the zone from now on, unless a later one is served already. Raises NotPublished."""

    def withdraw(self, name: str) -> None:
        """Stop serving the zone. Raises NotPublished."""

    def published(self, name: str) -> Zone | None:
        """Return the published zone of a name; for a real server, according to its files."""
