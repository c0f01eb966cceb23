"""Scopes of tokens: which there are, and which cover which."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

READ, WRITE = "read_only", "read_write"
EVERYTHING = "*"
NO_TOKEN, ANY_TOKEN = "none", "*"
"""Scopes of endpoints that need no token, or no particular scope."""
RESOURCES = (
    "account",
    "databases",
    "domains",
    "events",
    "firewall",
    "images",
    "ips",
    "computes",
    "lke",
    "longview",
    "maintenance",
    "nodebalancers",
    "object_storage",
    "stackscripts",
    "volumes",
)

_SEPARATORS = re.compile(r",|\+|%20")
"""Beside spaces: what clients send that have encoded a list once too often, or not at all."""


def parse(text: str) -> list[str]:
    """The scopes of a list, each once; ValueError names an unknown one."""
    asked = list(dict.fromkeys(_SEPARATORS.sub(" ", text).split()))
    for scope in asked:
        resource, _, level = scope.partition(":")
        if scope != EVERYTHING and not (resource in RESOURCES and level in (READ, WRITE)):
            raise ValueError(scope)
    return asked


@lru_cache(maxsize=4096)
def held(text: str) -> frozenset[str]:
    """The scopes of a token, from the text that is kept of them."""
    return frozenset(text.split())


@lru_cache(maxsize=8192)
def covers(scopes: frozenset[str], wanted: str) -> bool:
    """True if a token's scopes satisfy an endpoint."""
    return wanted in (NO_TOKEN, ANY_TOKEN) or within(wanted.split(), scopes)


def within(asked: Iterable[str], scopes: frozenset[str]) -> bool:
    """True if the held scopes cover all requested ones; read_write covers read_only."""
    return EVERYTHING in scopes or all(
        scope in scopes or (scope.endswith(f":{READ}") and f"{scope.partition(':')[0]}:{WRITE}" in scopes)
        for scope in asked
    )
