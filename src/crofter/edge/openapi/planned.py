"""``Prefer: plan`` in the description: which operations take it, and what they then answer."""

from __future__ import annotations

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.schemas import PREFIX, Schema
from crofter.edge.planning import PlanView

PLAN: Schema = {"$ref": PREFIX + PlanView.__name__}
"""Named beside the answers of an operation, as ``x-plan``. As one of them it would make each answer a choice of two,
which generated clients cannot print or complete.
"""


def plannable(endpoint: Endpoint) -> bool:
    return endpoint.writes and not endpoint.public
