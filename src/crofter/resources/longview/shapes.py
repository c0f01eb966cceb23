"""Longview clients, plans and subscriptions as they are sent and shown."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.types.store import Price
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, Revealed, View

_ALLOWED = re.compile(r"[A-Za-z0-9_-]+")


def complaint(label: str) -> str | None:
    """Return the problem of a label, or None."""
    return None if _ALLOWED.fullmatch(label) else "Must only use ASCII letters, numbers, dashes and underscores"


ClientLabel = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=32,
        description="Name of the client, unique within the account.",
        examples=["client789"],
        extra={"check": complaint},
        extra_json_schema={"pattern": "^[a-zA-Z0-9_-]{3,32}$"},
    ),
]
SubscriptionId = Literal["longview-3", "longview-10", "longview-40", "longview-100"]


class LongviewApps(View):
    """Applications that the client monitors."""

    apache: Annotated[bool, Meta(description="Whether it watches an Apache web server.")]
    mysql: Annotated[bool, Meta(description="Whether it watches a MySQL database.")]
    nginx: Annotated[bool, Meta(description="Whether it watches an nginx web server.")]


class LongviewClientView(View):
    """A Longview client of the account."""

    api_key: Revealed[Annotated[str, Meta(description="What the agent signs in with. Masked in lists.")]]
    apps: Annotated[LongviewApps, Meta(description="Found out by the agent, once it runs.")]
    created: Filtered[Moment]
    id: Id
    install_code: Revealed[Annotated[str, Meta(description="What installs the agent. Masked in lists.")]]
    label: Filtered[ClientLabel]
    updated: Filtered[Moment]


class LongviewClientCreate(Body, forbid_unknown_fields=True):
    label: Optional[ClientLabel] = UNSET


class LongviewClientUpdate(Body):
    label: Optional[ClientLabel] = UNSET


class LongviewSubscriptionView(View):
    """A plan that can be subscribed to."""

    clients_included: Annotated[int, Meta(description="How many clients there may be.", examples=[10])]
    id: Annotated[SubscriptionId, Meta(description="Identifies the plan.", examples=["longview-10"])]
    label: Annotated[str, Meta(description="Name of the plan.", examples=["Longview Pro 10 pack"])]
    price: Annotated[Price, Meta(description="What the plan costs.")]


class LongviewPlanUpdate(Body):
    longview_subscription: Annotated[
        Optional[SubscriptionId | None], Meta(description="The plan to change to; null: the free one.")
    ] = UNSET
