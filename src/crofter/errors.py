"""Problems that rules and stores raise.

    Problem
    ├── Invalid            the request cannot be done as it was sent; one or more (field, reason)
    │   └── Busy           ... because an earlier action on the same object is still under way
    ├── Unauthenticated    no token, or an unknown one
    ├── Forbidden          known caller without this permission
    │   └── ScopeMissing   ... because the token does not carry the scope
    ├── NotFound           absent, or not the caller's to see
    ├── Conflict           contradicts an earlier request
    │   └── UnderWay       ... or the same request is being done at this moment
    ├── TooMany            over a rate limit
    └── Unavailable        try again later: the store is locked or away
        └── NoSpace            ... or its disk is full

Only the edge knows the HTTP status of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Reason(NamedTuple):
    reason: str
    field: str | None = None

    @property
    def head(self) -> str:
        """The field of the body in which the field is: ``nodes`` of ``nodes[1].address``."""
        return (self.field or "").partition(".")[0].partition("[")[0]


class Problem(Exception):
    """Base of everything that is answered to a caller in the interface's error form."""

    default = "Something went wrong"

    def __init__(self, reason: str | None = None, *, field: str | None = None, remedy: str | None = None) -> None:
        """Set the reason of the interface. ``remedy``: what the caller can do, reported as a second reason."""
        self.reasons: list[Reason] = [Reason(reason or self.default, field)]
        if remedy is not None:
            self.reasons.append(Reason(remedy))
        super().__init__(self.reasons[0].reason)


class Invalid(Problem):
    default = "Invalid request"

    @classmethod
    def all(cls, reasons: Iterable[Reason]) -> Invalid:
        problem = cls()
        problem.reasons = list(reasons)
        return problem


class Busy(Invalid):
    default = "Compute busy."


class Unauthenticated(Problem):
    default = "Invalid Token"


class Forbidden(Problem):
    default = "Unauthorized"


class ScopeMissing(Forbidden):
    default = "Your OAuth token is not authorized to use this endpoint."


class NotFound(Problem):
    default = "Not found"


class Conflict(Problem):
    default = "Conflict"


class UnderWay(Conflict):
    default = "A request with this Idempotency-Key is under way. Please try again in a moment."


class TooMany(Problem):
    default = "Too many requests"


class Unavailable(Problem):
    default = "The service is busy. Please try again."


class NoSpace(Unavailable):
    default = "The disk of the service is full: nothing can be changed until space is freed. Please try again later."
