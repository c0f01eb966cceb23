"""Translation of a word of the interface into the dialect's word and back, in every spelling."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

OWN = "compute"
HELD = "\ue000"
"""Put inside the interface's own word where a caller sends it: in a dialect it names nothing."""


def _spelled(word: str) -> tuple[str, str, str]:
    return word, word.capitalize(), word.upper()


def _pattern(word: str) -> str:
    """The word by itself, in the plural, or as a part of a name: ``word_id``, ``wordId``, ``listWords``."""
    lower, capital, upper = _spelled(word)
    return rf"(?<![A-Za-z]){lower}(?=s?(?![a-z]))|{capital}(?=s?(?![a-z]))|(?<![A-Za-z]){upper}(?=S?(?![A-Za-z]))"


class Words:
    """From the interface's words to the dialect's, and back."""

    def __init__(self, word: str) -> None:
        self.word = word
        outward = dict(zip(_spelled(OWN), _spelled(word), strict=True))
        inward = {theirs: own for own, theirs in outward.items()} | {own: own[:4] + HELD + own[4:] for own in outward}
        encoded = {own.encode(): theirs.encode() for own, theirs in outward.items()}
        own = re.compile(_pattern(OWN))
        own_bytes = re.compile(_pattern(OWN).encode())
        either = re.compile(f"{_pattern(OWN)}|{_pattern(word)}")
        self.marks: tuple[bytes, ...] = (b"ompute", b"COMPUTE", *(spelling.encode() for spelling in inward))
        """Byte sequences of which each text to translate contains at least one, unless it uses escapes."""

        @lru_cache(4096)
        def to_dialect(text: bytes) -> bytes:
            return own_bytes.sub(lambda match: encoded[match[0]], text)

        self.outward_bytes = to_dialect
        self._outward: Callable[[str], str] = lambda text: own.sub(lambda match: outward[match[0]], text)
        self._inward: Callable[[str], str] = lambda text: either.sub(lambda match: inward[match[0]], text)

    def outward(self, text: str) -> str:
        """Translate a text of the interface for callers."""
        return self._outward(text).replace(HELD, "") if HELD in text else self._outward(text)

    def inward(self, text: str) -> str:
        """A text of the interface that a caller sent. The interface's own word is none in a dialect."""
        return self._inward(text)

    def spelling(self, *, capital: bool) -> tuple[str, str]:
        """The interface's word, and the dialect's."""
        return (OWN.capitalize(), self.word.capitalize()) if capital else (OWN, self.word)
