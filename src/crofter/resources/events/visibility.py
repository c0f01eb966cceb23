"""Visibility of events for restricted users: of readable objects, their own, and by rules of other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crofter.db import Id
from crofter.db.sql import ColumnElement, and_, bindparam, case, cast, literal_column, or_
from crofter.events import event
from crofter.resources.users.grants.store import sees

PERSONAL = ("profile", "token", "user_ssh_key")
"""Entities whose events a restricted user sees when they are its own."""

Rule = Callable[[ColumnElement[Any]], ColumnElement[bool]]
"""From the id of an object, in SQL, to whether the user bound as ``user_id`` sees that object."""

_rules: dict[str, Rule] = {}


def register(entity_type: str, rule: Rule) -> None:
    """Register a rule for the events of an entity type. Without a rule restricted users do not see them."""
    _rules[entity_type] = rule


def condition() -> ColumnElement[bool]:
    """Return the condition that the user bound as ``user_id`` sees an event."""
    return or_(
        sees(event.c.entity_type, event.c.entity_id),
        and_(event.c.user_id == bindparam("user_id"), event.c.entity_type.in_(PERSONAL)),
        *(rule(_id_of(entity_type)) for entity_type, rule in _rules.items()),
    )


def _id_of(entity_type: str) -> ColumnElement[Any]:
    # Only of this type is it sure to be a number, and PostgreSQL would fail on another: hence the case.
    return case((event.c.entity_type == literal_column(f"'{entity_type}'"), cast(event.c.entity_id, Id)))
