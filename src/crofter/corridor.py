"""Every room of the house, listed: its endpoints, its kinds, its tables."""

from __future__ import annotations

from types import ModuleType

from crofter import housekeeping
from crofter.edge.endpoint import Endpoint, endpoints_of
from crofter.engine.chores import Chore
from crofter.engine.operation import Operation
from crofter.kinds import Kind
from crofter.login import store as login_tables
from crofter.resources.events import api as events
from crofter.resources.logins import store as login_history
from crofter.resources.oauth import store as oauth_tables
from crofter.resources.regions import api as regions
from crofter.resources.tags import api as tags

ROOMS: tuple[ModuleType, ...] = (events, regions, tags)

ENDPOINTS: list[Endpoint] = [one for room in ROOMS for one in endpoints_of(room)]

KINDS: tuple[Kind, ...] = ()

OPERATIONS: tuple[Operation, ...] = (*housekeeping.OPERATIONS,)

CHORES: tuple[Chore, ...] = (*housekeeping.CHORES,)

TABLES: tuple[ModuleType, ...] = (login_history, login_tables, oauth_tables)
"""Rooms that are here for their tables alone."""
