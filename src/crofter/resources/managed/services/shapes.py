"""Request and response bodies of services."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.managed import naming
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View

Kind = Annotated[
    Literal["url", "tcp"],
    Meta(
        description="How it is looked at: a GET of `address`, or a connection to it.",
        extra={"reason": "Must be one of url, tcp"},  # in the interface's order
    ),
]
Status = Literal["disabled", "pending", "ok", "problem"]
ServiceAddress = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=100,
        description="Where it is looked at: an http or https URL, or `host:port` for tcp.",
        examples=["https://example.org/"],
    ),
]
ServiceLabel = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=64,
        examples=["website"],
        extra={"check": naming.label},
        extra_json_schema=naming.LABEL,
    ),
]
Timeout = Annotated[int, Meta(ge=1, le=255, description="Seconds until it counts as down.", examples=[30])]
ExpectedBody = Annotated[str, Meta(max_length=100, description="A text that the answer must hold.")]
Group = Annotated[str, Meta(max_length=50, description="The contacts who are told when it is down.")]
Notes = Annotated[str, Meta(max_length=65000, description="What the support staff should know.")]
RegionId = Annotated[str, Meta(description="Needed for a private address, and for no other.")]
Credentials = Annotated[list[Id], Meta(max_length=100, description="Credentials that help to set it right.")]


class ServiceView(View):
    """Something that is monitored."""

    address: str
    body: str | None
    consultation_group: str
    created: Filtered[Moment]
    credentials: list[int]
    id: Id
    label: str
    notes: str | None
    region: str | None
    service_type: Kind
    status: Status
    timeout: int
    updated: Filtered[Moment]


class ServiceCreate(Body):
    address: ServiceAddress
    label: ServiceLabel
    service_type: Kind
    timeout: Timeout
    body: ExpectedBody | None = None
    consultation_group: Group = ""
    credentials: Credentials = []
    notes: Notes | None = None
    region: RegionId | None = None


class ServiceUpdate(Body):
    address: Optional[ServiceAddress] = UNSET
    label: Optional[ServiceLabel] = UNSET
    service_type: Optional[Kind] = UNSET
    timeout: Optional[Timeout] = UNSET
    body: Optional[ExpectedBody | None] = UNSET
    consultation_group: Optional[Group] = UNSET
    credentials: Optional[Credentials] = UNSET
    notes: Optional[Notes | None] = UNSET
    region: Optional[RegionId | None] = UNSET
