"""What can be made to go wrong on request: rooms say what and how, the sandbox door lets people ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from crofter.context import World
from crofter.shapes import Body


class FaultKind(Struct, frozen=True):
    """One sort of mishap. Called outside any transaction, so that it may speak to drivers."""

    name: str
    body: type[Body]
    """What a caller sends, the field ``kind`` apart."""
    start: Callable[[World, Any], None]
    """Make it so. Raises Invalid for an object that is not there."""
    clear: Callable[[World], None] | None = None
    """Undo every one of this kind, if it is of the kind that lasts."""
    ends: tuple[str, ...] = ()
    """Kinds that it puts an end to: what comes back after an outage is no fault that holds."""
    same: tuple[str, ...] = ()
    """Fields by which a new one replaces an older one of its kind."""
