"""Scopes, and their descriptions in sentences."""

from __future__ import annotations

from msgspec import Struct

from crofter.scopes import EVERYTHING, READ, WRITE, parse

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
# Concerns that the consent page addresses when the scope is absent.
WORRIES = {
    "account": "billing, tickets, users",
    "computes": "instances and backups",
    "domains": "domains",
    "volumes": "volumes",
}


class Line(Struct, frozen=True):
    """A line of a consent page."""

    resource: str
    sentence: str
    writes: bool


def wanted(text: str) -> list[str]:
    """Return the requested scopes, each resource once, in the server's order; ValueError names an unknown scope."""
    asked = set(parse(text))
    if EVERYTHING in asked:
        return [EVERYTHING]
    return [
        f"{resource}:{WRITE if f'{resource}:{WRITE}' in asked else READ}"
        for resource in SENTENCES
        if {f"{resource}:{READ}", f"{resource}:{WRITE}"} & asked
    ]


def reduced(scopes: list[str], only_read: set[str]) -> list[str]:
    """The scopes with reading only for the named resources; ``*`` names all of them."""
    if scopes == [EVERYTHING]:
        return [f"{resource}:{READ}" for resource in SENTENCES] if EVERYTHING in only_read else scopes
    return [f"{resource}:{READ}" if (resource := scope.partition(":")[0]) in only_read else scope for scope in scopes]


def lines(scopes: list[str]) -> list[Line]:
    if scopes == [EVERYTHING]:
        return [Line(EVERYTHING, "Do everything that you may do, on all of your account", True)]
    described = [Line("", "See your name, e-mail address and settings", False)]
    for scope in scopes:
        resource, _, level = scope.partition(":")
        seeing, changing = SENTENCES[resource]
        described.append(Line(resource, changing if level == WRITE else seeing, level == WRITE))
    return described


def left_out(scopes: list[str]) -> list[str]:
    """Return descriptions of the data that the app will not see."""
    if scopes == [EVERYTHING]:
        return []
    held = {scope.partition(":")[0] for scope in scopes}
    return [words for resource, words in WORRIES.items() if resource not in held]
