"""Whether a password of root is strong enough."""

from __future__ import annotations

from crofter import passwords
from crofter.errors import Invalid

WEAK = "Password does not meet strength requirement"


def check(password: str, field: str, *known: str) -> None:
    """Refuse a password that is easily guessed; ``known`` are words that a guesser would try first."""
    if not 7 <= len(password) <= 128:
        raise Invalid("Length must be 7-128 characters", field=field)
    if passwords.guessable(password, *known) is not None:
        raise Invalid(WEAK, field=field)
