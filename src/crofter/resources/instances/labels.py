"""Labels of instances."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

_ALLOWED = re.compile(r"[A-Za-z0-9._-]+")
_DOUBLED = re.compile(r"--|__|\.\.")


def complaint(label: str) -> str | None:
    """Return the problem of a label, or None."""
    if not _ALLOWED.fullmatch(label):
        return "Must only use ASCII letters, numbers, dashes, underscores and periods"
    if not (label[0].isalnum() and label[-1].isalnum()):
        return "Must begin and end with a letter or a number"
    if _DOUBLED.search(label):
        return "Must not have two dashes, underscores or periods in a row"
    return None


InstanceLabel = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=64,
        description="Name of the instance.",
        extra={"check": complaint},
        extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]$"},
    ),
]
