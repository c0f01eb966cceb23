"""Conditions that the sandbox sets: durations of work, and active faults."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from crofter.clock import SECOND
from crofter.db import Session, query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor.ledger.tables import setting

YEAR = 365 * 24 * 3600
LONGEST_REASON = 1000
"""In characters."""
MOST_READS = 1_000_000


class Transition(Struct, frozen=True, omit_defaults=True):
    """How long an operation takes, in seconds or in reads of its object, and whether it fails when that is over."""

    seconds: Annotated[int, Meta(ge=0, le=YEAR)] | Annotated[float, Meta(ge=0, le=YEAR)] | None = None
    fail: Annotated[str, Meta(min_length=1, max_length=LONGEST_REASON)] | None = None
    fail_at: Annotated[int, Meta(ge=0, le=100)] | None = None
    """Percent of the operation at which it fails, instead of at its end."""
    reads: Annotated[int, Meta(ge=1, le=MOST_READS)] | None = None
    """How often its object is shown under way, however long that takes; the next read shows the end."""


Transitions = dict[str, Transition]
"""Transitions by event action; ``*`` stands for all others."""

DEFAULT = Transition(seconds=1.0)

DEFAULTS: Transitions = {
    "*": DEFAULT,
    "compute_create": Transition(seconds=3.0),
    "compute_rebuild": Transition(seconds=3.0),
    "compute_clone": Transition(seconds=3.0),
    "compute_migrate": Transition(seconds=3.0),
    "compute_migrate_datacenter": Transition(seconds=3.0),
    "compute_resize": Transition(seconds=2.5),
    "compute_mutate": Transition(seconds=2.5),
    "compute_boot": Transition(seconds=1.5),
    "compute_reboot": Transition(seconds=2.0),
    "compute_snapshot": Transition(seconds=2.0),
    "backups_restore": Transition(seconds=2.5),
    "lassie_reboot": Transition(seconds=1.5),
    "compute_delete": Transition(seconds=0.5),
    "disk_delete": Transition(seconds=0.2),
    "password_reset": Transition(seconds=0.5),
    "disk_imagize": Transition(seconds=2.0),
    "image_upload": Transition(seconds=1.5),
    "image_delete": Transition(seconds=0.2),
}


class Conditions(Struct, frozen=True):
    transitions: Transitions = field(default_factory=DEFAULTS.copy)
    maintenance: frozenset[int] = frozenset()
    unreachable: frozenset[int] = frozenset()
    outages: frozenset[str] = frozenset()

    def transition(self, action: str) -> Transition:
        """Return the transition of an action. A transition without a duration uses that of ``*``."""
        every = self.transitions.get("*", DEFAULT)
        chosen = self.transitions.get(action, every)
        usual = DEFAULT.seconds if every.seconds is None else every.seconds
        return replace(chosen, seconds=usual if chosen.seconds is None else chosen.seconds)

    def ends(self, action: str, until: int, begun: int) -> int:
        """When the part of an operation up to ``until`` percent is over, if the operation began at ``begun``.

        Counted from the operation's first verb, so that its parts together take what the table says,
        however many they are and however late each is polled.
        """
        seconds = self.transition(action).seconds or 0.0
        return begun + round(seconds * SECOND * min(max(until, 0), 100) / 100)


SETTING = query(select(setting.c.value).where(setting.c.name == bindparam("name")))


def ask_ahead(db: Session) -> None:
    db.ask_ahead(SETTING, name="world")


def load(db: Session) -> Conditions:
    stored: Any = db.value(SETTING, name="world")
    return Conditions() if stored is None else msgspec.convert(stored, Conditions)


def save(db: Session, conditions: Conditions) -> None:
    if not db.update(setting, {"name": "world"}, value=conditions):
        db.insert(setting, name="world", value=conditions)
