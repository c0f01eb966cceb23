"""The headers of every answer."""

from __future__ import annotations

from functools import cache, lru_cache

from crofter import SPEC_VERSION
from crofter.context import Actor
from crofter.edge.endpoint import Endpoint
from crofter.edge.limits import RateLimitStatus
from crofter.edge.perform import Answer
from crofter.edge.problems import MethodNotAllowed
from crofter.errors import ScopeMissing, Unauthenticated, Unavailable, UnderWay

Header = tuple[bytes, bytes]

COMMON: tuple[Header, ...] = (
    (b"x-spec-version", SPEC_VERSION.encode()),
    (b"cache-control", b"private, max-age=0, s-maxage=0, no-cache, no-store"),
    (b"vary", b"Authorization, X-Filter"),
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"HEAD, GET, OPTIONS, POST, PUT, DELETE"),
    (
        b"access-control-allow-headers",
        b"Authorization, Origin, X-Requested-With, Content-Type, Accept, X-Filter, "
        b"Idempotency-Key, Prefer, If-Match, If-None-Match, Last-Event-ID",
    ),
    (
        b"access-control-expose-headers",
        b"X-OAuth-Scopes, X-Accepted-OAuth-Scopes, X-Status, ETag, X-Request-Id, X-RateLimit-Limit, "
        b"X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Event-Id, Idempotent-Replayed",
    ),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-xss-protection", b"1; mode=block"),
    (b"content-security-policy", b"default-src 'none'"),
)
SECURE: tuple[Header, ...] = (*COMMON, (b"strict-transport-security", b"max-age=31536000"))
JSON = b"application/json"
UNAVAILABLE_FOR = 1
"""Seconds after which a caller who met a busy server, or a request of its own under way, should come back."""


def build(
    endpoint: Endpoint | None, answer: Answer, rate_status: RateLimitStatus, request_id: str, secure: bool
) -> list[Header]:
    """Return all headers of a response as a list."""
    problem = answer.problem
    wait = UNAVAILABLE_FOR if isinstance(problem, (Unavailable, UnderWay)) else rate_status.seconds
    built: list[Header] = [
        (b"content-type", answer.content_type.encode() if answer.content_type else JSON),
        (b"x-oauth-scopes", _scopes(answer.actor)),
        (b"x-accepted-oauth-scopes", _accepted(endpoint)),
        (b"x-ratelimit-limit", b"%d" % rate_status.limit),
        (b"x-ratelimit-remaining", b"%d" % rate_status.remaining),
        (b"x-ratelimit-reset", b"%d" % rate_status.reset),
        (b"retry-after", b"%d" % (answer.retry_after or wait)),
        (b"x-request-id", request_id.encode()),
        *(SECURE if secure else COMMON),
    ]
    if problem is not None:
        if isinstance(problem, ScopeMissing) and endpoint is not None:
            challenge = f'Bearer error="insufficient_scope", scope="{endpoint.scope}"'
            built.append((b"www-authenticate", challenge.encode()))
        elif isinstance(problem, Unauthenticated):
            built.append((b"www-authenticate", b"Bearer"))
        elif isinstance(problem, MethodNotAllowed):
            built.append((b"allow", problem.allowed.encode()))
    if endpoint is not None and endpoint.deprecated:
        built.append((b"warning", f'299 compute-api "Deprecated: use {endpoint.deprecated}"'.encode()))
        built.append((b"deprecation", b"true"))
    if answer.headers:
        replaced = {name for name, _ in answer.headers}
        built = [header for header in built if header[0] not in replaced] + answer.headers
    return built


def _scopes(actor: Actor | None) -> bytes:
    return b"unknown" if actor is None else _held(actor.scopes)


@lru_cache(maxsize=4096)
def _held(scopes: frozenset[str]) -> bytes:
    return b"*" if "*" in scopes else " ".join(sorted(scopes)).encode()


@cache
def _accepted(endpoint: Endpoint | None) -> bytes:
    if endpoint is None or not endpoint.scopes:
        return b"*"
    return ",".join(endpoint.scopes).encode()
