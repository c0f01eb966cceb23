"""``Prefer: plan`` in the description: which operations take it, and what they answer."""

from __future__ import annotations

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.schemas import PREFIX, Schema
from crofter.edge.planning import PlanView

PLAN: Schema = {"$ref": PREFIX + PlanView.__name__}


def plannable(endpoint: Endpoint) -> bool:
    return endpoint.writes and not endpoint.public


def or_plan(endpoint: Endpoint, done: Schema) -> Schema:
    """What a write answers. The plan is named first: clients that try one after the other take an empty object last."""
    return {"oneOf": [PLAN, done]} if plannable(endpoint) else done


def done_of(schema: Schema) -> Schema:
    """The schema of what an operation answers if it is done."""
    options = schema.get("oneOf", ())
    return next((option for option in options if option != PLAN), schema) if PLAN in options else schema
