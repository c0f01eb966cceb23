"""A path as it may be written into a log: people paste tokens, passwords and card numbers into addresses."""

from __future__ import annotations

from collections.abc import Iterable, Set

from crofter.edge.endpoint import Endpoint

HIDDEN = "*"
LONGEST_ID = 10
"""More digits than this are no id of ours: a card, a telephone."""
BEARER = "token"
"""A path segment that acts as a credential."""


def words_of(paths: Iterable[str]) -> frozenset[str]:
    """The words that paths are made of, without what stands for a value."""
    return frozenset(word for path in paths for word in path.split("/") if not word.startswith("{"))


def redact_path(path: str, endpoint: Endpoint | None, words: Set[str], *, refused: bool) -> str:
    """Words of the interface stay, and so do numbers that are ids; a name stays if the request found what it names."""
    if endpoint is None:
        return "/".join(word if not word or word in words else HIDDEN for word in path.split("/"))
    if not refused and BEARER not in endpoint.parts:
        return path
    version, _, rest = path.lstrip("/").partition("/")
    shown = (_part(*pair, endpoint) for pair in zip(endpoint.path.split("/"), rest.strip("/").split("/"), strict=False))
    return "/".join(("", version, *shown))


def _part(name: str, value: str, endpoint: Endpoint) -> str:
    if not name.startswith("{"):
        return name
    is_id = endpoint.parts[name.strip("{}").partition(":")[0]] is int and len(value) <= LONGEST_ID
    return value if is_id else HIDDEN
