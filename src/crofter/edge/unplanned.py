"""Operations that servers of this family may offer and this one does not, with a clear refusal."""

from __future__ import annotations

REASONS = {
    "databases": "Not found: this server offers no managed databases, and none are planned.",
    "lke": "Not found: this server offers no Kubernetes clusters, and none are planned.",
    "object-storage": "Not found: this server offers no object storage, and none is planned.",
}
"""Refusals by the first path segment after the version."""


def reason(raw_path: bytes) -> str | None:
    """Why there is nothing at a path that leads nowhere, if that is on purpose."""
    words = [word for word in raw_path.decode("latin-1").split("/") if word]
    return REASONS.get(words[1]) if len(words) > 1 and words[0] in ("v4", "v4beta") else None
