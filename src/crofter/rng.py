"""The server's only source of randomness, so that a seeded server replays to the same bytes."""

from __future__ import annotations

import random
import secrets
import threading
import uuid
from typing import Any


class Rng:
    """Random bytes: from the operating system, or from a seed in tests and replays."""

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed
        self._seeded = None if seed is None else random.Random(seed)
        self._lock = threading.Lock()

    def restart(self) -> None:
        """Start the seeded sequence over, as at a first start."""
        if self._seed is not None:
            self._seeded = random.Random(self._seed)

    def start(self, times: int) -> None:
        """Go on differently at each start on the same data: what was drawn before must not be drawn again."""
        if self._seed is not None and times > 1:
            self._seeded = random.Random(f"{self._seed}/{times}")

    def state(self) -> list[Any] | None:
        """Where a seeded sequence is, as JSON can hold it."""
        return None if self._seeded is None else list(self._seeded.getstate())

    def go_on(self, state: list[Any] | None) -> None:
        """Go on from such a place."""
        if self._seeded is not None and state is not None:
            version, internal, gauss = state
            self._seeded.setstate((version, tuple(internal), gauss))

    def bytes(self, count: int) -> bytes:
        if self._seeded is None:
            return secrets.token_bytes(count)
        with self._lock:
            return self._seeded.randbytes(count)

    def hex(self, count: int) -> str:
        """``count`` lower-case hexadecimal characters."""
        return self.bytes((count + 1) // 2).hex()[:count]

    def below(self, limit: int) -> int:
        """A fair number in ``range(limit)``."""
        size = (limit.bit_length() + 7) // 8 or 1
        ceiling = (1 << (8 * size)) // limit * limit
        while (number := int.from_bytes(self.bytes(size), "big")) >= ceiling:
            pass
        return number % limit

    def letters(self, count: int, alphabet: str) -> str:
        return "".join(alphabet[self.below(len(alphabet))] for _ in range(count))

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self.bytes(16), version=4))
