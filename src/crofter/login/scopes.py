"""Scopes, and what they mean in sentences."""

from __future__ import annotations

from msgspec import Struct

READ, WRITE = "read_only", "read_write"

# Resource: what reading it shows, what writing it changes.
SENTENCES: dict[str, tuple[str, str]] = {
    "account": (
        "See your account: billing, invoices, users, tickets",
        "Change your account: pay, manage users and tokens, open tickets",
    ),
    "computes": (
        "See your instances, their disks and backups",
        "Create, change and delete instances, their disks and backups",
    ),
    "volumes": ("See your volumes", "Create, change and delete volumes"),
    "images": ("See your images", "Create, change and delete images"),
    "stackscripts": ("See your StackScripts", "Create, change and delete StackScripts"),
    "ips": ("See your IP addresses", "Change and move your IP addresses"),
    "domains": ("See your domains and their records", "Change your domains and their records"),
    "nodebalancers": ("See your load balancers", "Create, change and delete load balancers"),
    "firewall": ("See your firewalls", "Create, change and delete firewalls"),
    "databases": ("See your databases", "Create, change and delete databases"),
    "lke": ("See your clusters", "Create, change and delete clusters"),
    "object_storage": ("See your object storage", "Change your object storage and its keys"),
    "longview": ("See your Longview clients", "Create, change and delete Longview clients"),
    "events": ("See what has happened on your account", "Mark events as seen"),
    "maintenance": ("See planned maintenance", "Change planned maintenance"),
}
# What a person worries about, said when it is left out.
WORRIES = {
    "account": "billing, tickets, users",
    "computes": "instances and backups",
    "domains": "domains",
    "volumes": "volumes",
}


class Line(Struct, frozen=True):
    """One line of a consent page."""

    resource: str
    sentence: str
    writes: bool


def parse(text: str) -> list[str] | None:
    """The scopes in a list of them, each once and in the house's order; None if one is unknown."""
    asked = set(text.replace(",", " ").split())
    if "*" in asked:
        return ["*"] if _known(asked - {"*"}) else None
    if not _known(asked):
        return None
    return [
        f"{resource}:{WRITE if f'{resource}:{WRITE}' in asked else READ}"
        for resource in SENTENCES
        if {f"{resource}:{READ}", f"{resource}:{WRITE}"} & asked
    ]


def _known(scopes: set[str]) -> bool:
    return all(
        (parts := scope.partition(":"))[0] in SENTENCES and parts[2] in (READ, WRITE) for scope in scopes
    )


def reduced(scopes: list[str], only_read: set[str]) -> list[str]:
    """The scopes with reading only for the named resources; ``*`` names all of them."""
    if scopes == ["*"]:
        return [f"{resource}:{READ}" for resource in SENTENCES] if "*" in only_read else scopes
    return [
        f"{resource}:{READ}" if (resource := scope.partition(":")[0]) in only_read else scope for scope in scopes
    ]


def within(asked: list[str], held: list[str]) -> bool:
    """Whether every scope that is asked for is covered by one that is held."""
    if held == ["*"]:
        return True
    return all(scope in held or scope.replace(READ, WRITE) in held for scope in asked)


def lines(scopes: list[str]) -> list[Line]:
    if scopes == ["*"]:
        return [Line("*", "Do everything that you may do, on all of your account", True)]
    described = [Line("", "See your name, e-mail address and settings", False)]
    for scope in scopes:
        resource, _, level = scope.partition(":")
        seeing, changing = SENTENCES[resource]
        described.append(Line(resource, changing if level == WRITE else seeing, level == WRITE))
    return described


def left_out(scopes: list[str]) -> list[str]:
    """What the app will not see, in words."""
    if scopes == ["*"]:
        return []
    held = {scope.partition(":")[0] for scope in scopes}
    return [words for resource, words in WORRIES.items() if resource not in held]
