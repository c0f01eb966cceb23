"""Scopes of tokens: which there are, and which cover which."""

from __future__ import annotations

READ, WRITE = "read_only", "read_write"
EVERYTHING = "*"
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


def parse(text: str) -> list[str]:
    """The scopes of a list separated by spaces, commas or plus signs, each once; ValueError names an unknown one."""
    asked = list(dict.fromkeys(text.replace(",", " ").replace("+", " ").split()))
    for scope in asked:
        resource, _, level = scope.partition(":")
        if scope != EVERYTHING and not (resource in RESOURCES and level in (READ, WRITE)):
            raise ValueError(scope)
    return asked


def within(asked: list[str], held: frozenset[str]) -> bool:
    """Whether everything that is asked for is covered by something that is held."""
    return EVERYTHING in held or all(
        scope in held or (scope.endswith(f":{READ}") and f"{scope.partition(':')[0]}:{WRITE}" in held)
        for scope in asked
    )
