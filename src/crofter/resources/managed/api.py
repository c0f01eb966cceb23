"""What every endpoint of managed service asks first: whether the account has it."""

from __future__ import annotations

from typing import Annotated

from crofter.edge.endpoint import Lookup
from crofter.resources.managed import membership

Member = Annotated[None, Lookup(membership.required)]
"""An argument of endpoints that name no object, for the sake of being looked up first."""
