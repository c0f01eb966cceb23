"""``Prefer: plan`` in the description: which operations take it, and what they answer."""

from __future__ import annotations

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.schemas import PREFIX, Schema
from crofter.edge.planning import PlanView

PLAN: Schema = {"$ref": PREFIX + PlanView.__name__}


def plannable(endpoint: Endpoint) -> bool:
    return endpoint.writes and not endpoint.public


def or_plan(endpoint: Endpoint, done: list[Schema]) -> Schema:
    """What is answered: one of the schemas, or a plan of a write. That is named first: clients that try one after
    the other take an empty object last.

    Where any object may be answered, a plan is one of them, so it cannot be said that only one of the two fits.
    """
    options = [PLAN, *done] if plannable(endpoint) else done
    if len(options) == 1:
        return done[0]
    return {"anyOf" if {"type": "object"} in done else "oneOf": options}


def done_of(schema: Schema) -> Schema:
    """The schema of what an operation answers if it is done."""
    options = schema.get("oneOf") or schema.get("anyOf", ())
    return next((option for option in options if option != PLAN), schema) if PLAN in options else schema
