"""Mapping of problems to HTTP responses: the only module that knows statuses."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from crofter import errors
from crofter.errors import Problem, Reason

STATUSES: dict[type[Problem], int] = {
    errors.Invalid: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooMany: 429,
    errors.Unavailable: 503,
}


class MethodNotAllowed(Problem):
    default = "Method Not Allowed"

    def __init__(self, allowed: Iterable[str]) -> None:
        super().__init__()
        self.allowed = ", ".join(allowed)


class TooLarge(Problem):
    default = "Request body is too large"


class TooSlow(Problem):
    default = "Request took too long to arrive"


class UnsupportedMediaType(Problem):
    default = "Unsupported Media Type"


class UpgradeRequired(Problem):
    default = "This is the address of a web socket"


class Fault(Problem):
    """A bug of ours: said without a trace, found in the log by its request id."""

    default = "Internal server error"


STATUSES |= {
    MethodNotAllowed: 405,
    TooSlow: 408,
    TooLarge: 413,
    UnsupportedMediaType: 415,
    UpgradeRequired: 426,
    Fault: 500,
}


def status_of(problem: Problem) -> int:
    return next(STATUSES[kind] for kind in type(problem).__mro__ if kind in STATUSES)


class _Error(msgspec.Struct, omit_defaults=True):
    reason: str
    field: str | None = None


class ErrorBody(msgspec.Struct):
    """The body of every failure."""

    errors: list[_Error]


_encode = msgspec.json.Encoder().encode


def body_of(reasons: list[Reason]) -> bytes:
    return _encode(ErrorBody([_Error(reason, field) for reason, field in reasons]))
