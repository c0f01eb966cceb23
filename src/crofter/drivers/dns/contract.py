"""What every driver of name servers promises.

- **The latest zone wins.** A zone with a lower serial than the one that was published changes nothing: whoever brings
  it was slow. The same serial again is the same zone.
- **Whole or not at all.** Nobody is ever served a part of a zone, whatever is killed at whatever moment.
- **Told again is told.** Each call may be repeated, also after one that raised or never came back; what it began is
  then completed.
- **A name that is withdrawn is forgotten.** Its serial may begin anew with its next owner.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class NotPublished(Exception):
    """The name servers do not know of it yet. Try again; the text is for whoever runs them."""


class Zone(Struct, frozen=True):
    """A zone as it is to be served."""

    name: str
    """In lower case, without a dot at the end."""
    serial: int
    lines: tuple[str, ...]
    """The file of the zone. None where it is copied from its masters."""
    masters: tuple[str, ...] = ()
    """Addresses that the name servers copy the zone from."""
    transfers: tuple[str, ...] = ()
    """Addresses that may copy the zone from them."""


class NameServer(Protocol):
    def publish(self, zone: Zone) -> None:
        """Serve the zone from now on, unless a later one is served already. Raises NotPublished."""

    def withdraw(self, name: str) -> None:
        """Serve no zone of this name. Raises NotPublished."""

    def published(self, name: str) -> Zone | None:
        """What is served under a name; of the zones of a real server what its files say."""
