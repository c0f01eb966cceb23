"""Request bodies of the sandbox API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter.engine.time_travel import Ticked
from crofter.shapes import Body, Secret, View

Seconds = Annotated[float, Meta(gt=0, le=100 * 366 * 86400, extra={"reason": "Must be a positive number"})]


class NewAccount(Body, forbid_unknown_fields=True):
    username: str | None = None
    email: Annotated[str, Meta(min_length=3, max_length=128)] | None = None
    managed: bool = False
    card: Literal["valid", "declined", "none"] = "valid"
    public_ips: Annotated[int, Meta(ge=1, le=100)] = 1
    password: Secret[Annotated[str, Meta(min_length=1, max_length=128)] | None] = None
    """Password of the user; without one the user cannot sign in."""


class NewToken(Body, forbid_unknown_fields=True):
    username: str
    scopes: str = "*"
    expires_in: Annotated[float, Meta(gt=0, le=100 * 366 * 86400)] | None = None


class Advance(Body):
    seconds: Seconds


class Settle(Body):
    limit: Seconds = 86400


class NewSnapshot(Body):
    name: str


class SnapshotView(View):
    name: str
    created: str
    bytes: int


class HttpFault(Body):
    """Answers the next matching calls with this status."""

    kind: Literal["http"]
    status: Annotated[int, Meta(ge=200, le=599)]
    method: str = "*"
    path: str = "*"
    times: Annotated[int, Meta(ge=1, le=1_000_000)] = 1


class ClockView(View):
    now: str
    mode: Literal["real", "frozen"]


class TickView(View):
    now: str
    operation: Ticked | None


class Moved(View):
    now: str
    operations: int


Anything = dict[str, Any]
