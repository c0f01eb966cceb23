"""Every room of the house, listed: its endpoints, its kinds, its tables."""

from __future__ import annotations

from types import ModuleType

from crofter import housekeeping
from crofter.catalogue import Shelf
from crofter.edge.endpoint import Endpoint, endpoints_of
from crofter.engine.chores import Chore
from crofter.engine.operation import Operation
from crofter.faults import FaultKind
from crofter.kinds import Kind
from crofter.login import store as login_tables
from crofter.resources.events import api as events
from crofter.resources.images import api as images
from crofter.resources.images.shelf import IMAGES
from crofter.resources.instances import api as instances
from crofter.resources.instances import jobs as instance_jobs
from crofter.resources.instances.ips import api as instance_ips
from crofter.resources.instances.kind import COMPUTE
from crofter.resources.kernels import api as kernels
from crofter.resources.kernels.shelf import KERNELS
from crofter.resources.logins import store as login_history
from crofter.resources.oauth import store as oauth_tables
from crofter.resources.regions import api as regions
from crofter.resources.regions.shelf import REGIONS
from crofter.resources.tags import api as tags
from crofter.resources.types import api as types
from crofter.resources.types.shelf import TYPES

ROOMS: tuple[ModuleType, ...] = (events, images, instances, instance_ips, kernels, regions, tags, types)

ENDPOINTS: list[Endpoint] = [one for room in ROOMS for one in endpoints_of(room)]

KINDS: tuple[Kind, ...] = (COMPUTE,)

OPERATIONS: tuple[Operation, ...] = (*housekeeping.OPERATIONS, *instance_jobs.OPERATIONS)

CHORES: tuple[Chore, ...] = (*housekeeping.CHORES, *instance_jobs.CHORES)

TABLES: tuple[ModuleType, ...] = (login_history, login_tables, oauth_tables)
"""Rooms that are here for their tables alone."""

SHELVES: tuple[Shelf, ...] = (REGIONS, TYPES, KERNELS, IMAGES)
"""What the catalogue's files are read into."""

FAULTS: tuple[FaultKind, ...] = ()
"""What the sandbox door can make go wrong, beside HTTP calls."""
