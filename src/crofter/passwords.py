"""Passwords of people: hashed with argon2id at a cost that is a setting, one at a time."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from crofter.context import Runtime
from crofter.errors import TooMany
from crofter.rng import Rng

MIN_LENGTH = 8
MAX_LENGTH = 128
_GUESSABLE = 2
"""The least score, out of four, of a password that is not among the first ten million guesses."""
_PIECES = (10, 16)
"""Characters that are judged at a time. Of 128 that look like letters, zxcvbn takes seconds to try each meaning.

Longer pieces do better justice to words; what makes them slow is found strong in the shorter ones already.
"""
_WORD = 3
"""Minimum length of a word that makes a password guessable."""
_READABLE = "abcdefghijkmnpqrstuvwxyz23456789"
_QUEUE = 20
"""How many may wait for their turn. Hashing is the one request that costs much and that strangers can send."""


class Passwords:
    """``cheap`` is for sandboxes and tests, where guessing is no threat and start-up time is."""

    def __init__(self, *, cheap: bool = False, memory: int | None = None, passes: int | None = None) -> None:
        memory, passes = memory or (1 if cheap else 19), passes or (1 if cheap else 2)
        self._hasher = PasswordHasher(passes, memory * 1024, 1)
        self._slots = threading.BoundedSemaphore(1 + _QUEUE)
        self._turn = threading.Lock()
        self._nobody: str | None = None

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        if not self._slots.acquire(blocking=False):
            raise TooMany
        try:
            with self._turn:
                yield
        finally:
            self._slots.release()

    def hash(self, password: str) -> str:
        with self._waiting():
            return self._hasher.hash(password)

    def verify(self, kept: str | None, password: str) -> bool:
        """Return True if ``password`` matches the hash. A missing hash takes as long and never matches."""
        with self._waiting():
            try:
                return self._hasher.verify(kept or self._dummy(), password) and kept is not None
            except (VerificationError, InvalidHashError):
                return False

    def outdated(self, kept: str) -> bool:
        """True if the hash was made with other cost parameters."""
        return self._hasher.check_needs_rehash(kept)

    def _dummy(self) -> str:
        if self._nobody is None:
            self._nobody = self._hasher.hash("nobody")
        return self._nobody


def of(runtime: Runtime) -> Passwords:
    """The server's own, shared so that there is one queue."""
    return runtime.passwords


def weakness(password: str, *known: str) -> str | None:
    """Why a new password is refused; ``known`` are words that a guesser would try first."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        return f"Length must be {MIN_LENGTH}-{MAX_LENGTH} characters"
    advice = guessable(password, *known, "crofter")
    return None if advice is None else advice.rstrip(".") + ". Use a few words that do not belong together."


def guessable(password: str, *known: str) -> str | None:
    """Why it is easy to guess, or None. A password is as strong as its strongest piece, at least."""
    from zxcvbn import zxcvbn  # noqa: PLC0415 - its word lists are slow to load

    words = sorted((word for word in known if len(word) >= _WORD), key=len, reverse=True)
    for word in words:  # the rest is what must be guessed; a part of a word would not be recognised
        password = re.sub(re.escape(word), "", password, flags=re.IGNORECASE)
    warning = ""
    for piece in (password[start : start + size] for size in _PIECES for start in range(0, len(password), size)):
        judged = zxcvbn(piece, user_inputs=words)
        if judged["score"] >= _GUESSABLE:
            return None
        warning = warning or judged["feedback"]["warning"]
    return warning or "This password is too easy to guess"


def readable(rng: Rng) -> str:
    """A password that a person can type from a screen: four groups of five, 98 bits."""
    return "-".join(rng.letters(5, _READABLE) for _ in range(4))
