"""Whether a password of root is strong enough."""

from __future__ import annotations

from crofter.errors import Invalid

WEAK = "Password does not meet strength requirement"
ENOUGH = 2
"""Of zxcvbn's 0 to 4: not guessed in ten million tries."""


def check(password: str, field: str, *known: str) -> None:
    """Refuse a password that is easily guessed; ``known`` are words that a guesser would try first."""
    from zxcvbn import zxcvbn  # noqa: PLC0415 - its dictionaries take a moment to load

    if not 7 <= len(password) <= 128:
        raise Invalid("Length must be 7-128 characters", field=field)
    if zxcvbn(password, user_inputs=[word for word in known if word], max_length=128)["score"] < ENOUGH:
        raise Invalid(WEAK, field=field)
