"""Request and response bodies of domain records."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.domains.shapes import Ttl
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View

LONGEST_TARGET = 2048
"""Bytes. More than that no index can hold, and no answer over UDP carries."""

RecordType = Annotated[
    Literal["A", "AAAA", "NS", "MX", "CNAME", "TXT", "SRV", "PTR", "CAA"], Meta(description="The type of the record.")
]
RecordName = Annotated[
    str,
    Meta(
        max_length=100,
        description="The name within the domain, or the whole name; empty: the domain itself. Of SRV it is made here.",
        examples=["www"],
    ),
]
Target = Annotated[
    str,
    Meta(
        max_length=LONGEST_TARGET,
        description="What the name stands for: an address, a host, a text. `[remote_addr]` is the caller's address.",
        examples=["192.0.2.10"],
    ),
]
Priority = Annotated[int, Meta(ge=0, le=255, description="Of MX and SRV: lower ones are preferred.")]
Weight = Annotated[int, Meta(ge=0, le=65535, description="Of SRV: the share among those of the same priority.")]
Port = Annotated[int, Meta(ge=0, le=65535, description="Of SRV: where the service listens.")]
Service = Annotated[str, Meta(max_length=63, description="Of SRV: the service. An underscore is put before it.")]
Protocol = Annotated[
    str, Meta(max_length=63, description="Of SRV: the protocol, by default `tcp`. An underscore is put before it.")
]
Tag = Annotated[
    Literal["issue", "issuewild", "iodef"], Meta(description="Of CAA: who may sign, or where to report to.")
]


class RecordView(View):
    """A record of a domain."""

    id: Id
    type: Filtered[RecordType]
    name: Filtered[Annotated[str, Meta(description="The name within the domain; empty: the domain itself.")]]
    target: Filtered[Annotated[str, Meta(description="What the name stands for.")]]
    priority: Priority
    weight: Weight
    port: Port
    service: Service | None
    protocol: Protocol | None
    ttl_sec: Ttl
    tag: Filtered[Tag | None]
    created: Filtered[Moment]
    updated: Filtered[Moment]


class RecordCreate(Body):
    type: RecordType
    name: RecordName = ""
    target: Target = ""
    priority: Priority = 0
    weight: Weight = 0
    port: Port | None = None
    service: Service | None = None
    protocol: Protocol | None = None
    ttl_sec: Ttl = 0
    tag: Tag | None = None


class RecordUpdate(Body):
    type: Optional[RecordType] = UNSET
    name: Optional[RecordName] = UNSET
    target: Optional[Target] = UNSET
    priority: Optional[Priority] = UNSET
    weight: Optional[Weight] = UNSET
    port: Optional[Port] = UNSET
    service: Optional[Service | None] = UNSET
    protocol: Optional[Protocol | None] = UNSET
    ttl_sec: Optional[Ttl] = UNSET
    tag: Optional[Tag | None] = UNSET
