"""Injectable faults: resources define them, the sandbox API triggers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from crofter.context import Runtime
from crofter.shapes import Body


class FaultKind(Struct, frozen=True):
    """A kind of fault. Called outside transactions, so that it may call drivers."""

    name: str
    body: type[Body]
    """Type of the request body, without the field ``kind``."""
    start: Callable[[Runtime, Any], None]
    """Make it so. Raises Invalid for an object that is not there."""
    clear: Callable[[Runtime], None] | None = None
    """Undo every one of this kind, if it is of the kind that lasts."""
    ends: tuple[str, ...] = ()
    """Kinds that it puts an end to: what comes back after an outage is no fault that holds."""
    same: tuple[str, ...] = ()
    """Fields by which a new one replaces an older one of its kind."""
