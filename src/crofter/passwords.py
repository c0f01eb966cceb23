"""Passwords of people: hashed with argon2id, at a cost that is a setting."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from crofter.dice import Dice

_READABLE = "abcdefghijkmnpqrstuvwxyz23456789"


class Passwords:
    """``cheap`` is for sandboxes and tests, where guessing is no threat and start-up time is."""

    def __init__(self, *, cheap: bool) -> None:
        self._hasher = PasswordHasher(1, 1024, 1) if cheap else PasswordHasher(2, 19 * 1024, 1)

    def hash(self, password: str) -> str:
        return self._hasher.hash(password)

    def verify(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (VerificationError, InvalidHashError):
            return False


def readable(dice: Dice) -> str:
    """A password that a person can type from a screen: four groups of five, 98 bits."""
    return "-".join(dice.letters(5, _READABLE) for _ in range(4))
