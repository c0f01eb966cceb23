"""Request and response bodies of domains."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.tags.shapes import TagLabel
from crofter.resources.users.shapes import email_complaint
from crofter.shapes import UNSET, Body, Filtered, Id, Moment, Optional, View

_NAME = r"(\*\.)?([a-zA-Z0-9_-]{1,63}\.)+([a-zA-Z]{2,3}\.)?([a-zA-Z]{2,16}|xn--[a-zA-Z0-9]+)"
_FORM = re.compile(_NAME)
LONGEST_NAME = 253
"""Characters of a name on the wire; the interface's own limit is a little higher."""
TIMES = (300, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 345600, 604800, 1209600, 2419200)
"""Seconds that a zone may say. Others become the next longer ones of these."""
MOST_ADDRESSES = 100


def rounded(seconds: int) -> int:
    """The next longer time that a zone may say; 0 stays what it is, and stands for the default."""
    return 0 if seconds == 0 else next((time for time in TIMES if seconds <= time), TIMES[-1])


def name_complaint(value: str) -> str | None:
    """Why a text cannot be the name of a domain."""
    wrong = not _FORM.fullmatch(value) or len(value) > LONGEST_NAME
    return "Must be a valid domain name" if wrong or any(len(label) > 63 for label in value.split(".")) else None


def address_complaint(value: str) -> str | None:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return "Must be a valid IP address"
    return "Must be a valid IP address" if "%" in value else None


def _soa_complaint(value: str) -> str | None:
    """An empty one is none, which the rule about masters judges; a SOA record can say ASCII only."""
    if not value:
        return None
    return email_complaint(value) if value.isascii() else "Must be a valid email address"


DomainName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        description="Name of the domain; unique on the whole platform, in whatever case it is written.",
        examples=["example.org"],
        extra={"check": name_complaint},
        extra_json_schema={"pattern": f"^{_NAME}$"},
    ),
]
_EMAIL_WORDS = "Whom to write to about the domain; a master domain needs one."
SoaEmail = Annotated[
    str,
    Meta(
        max_length=254,
        description=_EMAIL_WORDS,
        examples=["admin@example.org"],
        extra={"check": _soa_complaint},
        extra_json_schema={"format": "email"},
    ),
]
Address = Annotated[
    str, Meta(max_length=45, description="An IPv4 or IPv6 address.", extra={"check": address_complaint})
]
MasterIps = Annotated[
    list[Address],
    Meta(max_length=MOST_ADDRESSES, description="Name servers that a slave domain is copied from; it needs one."),
]
AxfrIps = Annotated[
    list[Address], Meta(max_length=MOST_ADDRESSES, description="Who may ask for all records of the domain at once.")
]
DomainType = Annotated[
    Literal["master", "slave"],
    Meta(description="master: its records are kept here; slave: they are copied from its masters."),
]
Status = Annotated[Literal["disabled", "active"], Meta(description="A disabled domain is not served.")]
Group = Annotated[str, Meta(min_length=1, max_length=50, description="A group that the domain is shown in.")]
AnyGroup = Annotated[str, Meta(max_length=50, description="A group that the domain is shown in; empty: none.")]
Description = Annotated[str, Meta(min_length=1, max_length=255, description="A note about the domain.")]
AnyDescription = Annotated[str, Meta(max_length=255, description="A note about the domain; empty: none.")]
Tags = Annotated[list[TagLabel], Meta(max_length=500, description="Tags of the domain.")]


def _seconds(what: str) -> Meta:
    words = f"Seconds {what}; 0: the default. Others than {', '.join(map(str, TIMES))} become the next longer one."
    return Meta(ge=0, le=2**31 - 1, description=words)


Retry = Annotated[int, _seconds("until a slave that could not ask tries again")]
Expire = Annotated[int, _seconds("after which a slave that cannot ask stops answering")]
Refresh = Annotated[int, _seconds("between two questions of a slave whether there is something new")]
Ttl = Annotated[int, _seconds("that others may remember what they were told")]


class DomainView(View):
    """A domain."""

    id: Id
    type: DomainType
    domain: Filtered[Annotated[str, Meta(description="Name of the domain.")]]
    group: Filtered[AnyGroup]
    status: Status
    description: AnyDescription
    soa_email: Annotated[str, Meta(description=_EMAIL_WORDS)]
    retry_sec: Retry
    master_ips: list[str]
    axfr_ips: list[str]
    expire_sec: Expire
    refresh_sec: Refresh
    ttl_sec: Ttl
    tags: Filtered[list[str]]
    created: Filtered[Moment]
    updated: Filtered[Moment]


class DomainCreate(Body):
    type: DomainType
    domain: DomainName
    group: Group | None = None
    status: Status = "active"
    description: Description | None = None
    soa_email: SoaEmail = ""
    retry_sec: Retry = 0
    master_ips: MasterIps = []
    axfr_ips: AxfrIps = []
    expire_sec: Expire = 0
    refresh_sec: Refresh = 0
    ttl_sec: Ttl = 0
    tags: Tags = []


class DomainUpdate(Body):
    type: Optional[DomainType] = UNSET
    domain: Optional[DomainName] = UNSET
    group: Optional[AnyGroup] = UNSET
    status: Optional[Status] = UNSET
    description: Optional[AnyDescription] = UNSET
    soa_email: Optional[SoaEmail] = UNSET
    retry_sec: Optional[Retry] = UNSET
    master_ips: Optional[MasterIps] = UNSET
    axfr_ips: Optional[AxfrIps] = UNSET
    expire_sec: Optional[Expire] = UNSET
    refresh_sec: Optional[Refresh] = UNSET
    ttl_sec: Optional[Ttl] = UNSET
    tags: Optional[Tags] = UNSET


class DomainClone(Body):
    domain: DomainName


class DomainImport(Body):
    domain: DomainName
    remote_nameserver: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=255,
            description="Name or address of a name server that lets this server copy the domain (AXFR).",
            examples=["ns1.example.org"],
        ),
    ]


class ZoneFile(View):
    """Zone file of a domain."""

    zone_file: Annotated[list[str], Meta(description="The lines of the file.")]
