"""Passwords as Linux keeps them: SHA-512 crypt. Python has none since 3.13, and a command would show in lists."""

from __future__ import annotations

import hashlib
import secrets

_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ROUNDS = 5000
_ORDER = (
    (0, 21, 42), (22, 43, 1), (44, 2, 23), (3, 24, 45), (25, 46, 4), (47, 5, 26), (6, 27, 48), (28, 49, 7),
    (50, 8, 29), (9, 30, 51), (31, 52, 10), (53, 11, 32), (12, 33, 54), (34, 55, 13), (56, 14, 35), (15, 36, 57),
    (37, 58, 16), (59, 17, 38), (18, 39, 60), (40, 61, 19), (62, 20, 41),
)  # fmt: skip


def crypted(password: str, salt: str | None = None) -> str:
    """``$6$…``, with a new salt unless one is given."""
    salt = salt or "".join(secrets.choice(_ALPHABET) for _ in range(16))
    word, pepper = password.encode(), salt.encode()
    inner = hashlib.sha512(word + pepper + word).digest()
    mixed = hashlib.sha512(word + pepper + _stretched(inner, len(word)))
    bits = len(word)
    while bits:
        mixed.update(inner if bits & 1 else word)
        bits >>= 1
    digest = mixed.digest()
    word_sum = _stretched(hashlib.sha512(word * len(word)).digest(), len(word))
    salt_sum = _stretched(hashlib.sha512(pepper * (16 + digest[0])).digest(), len(pepper))
    for turn in range(_ROUNDS):
        parts = word_sum if turn % 2 else digest
        if turn % 3:
            parts += salt_sum
        if turn % 7:
            parts += word_sum
        digest = hashlib.sha512(parts + (digest if turn % 2 else word_sum)).digest()
    text = "".join(_letters(digest[a] << 16 | digest[b] << 8 | digest[c], 4) for a, b, c in _ORDER)
    return f"$6${salt}${text}{_letters(digest[63], 2)}"


def _stretched(digest: bytes, length: int) -> bytes:
    return (digest * (length // len(digest) + 1))[:length]


def _letters(value: int, count: int) -> str:
    return "".join(_ALPHABET[value >> 6 * place & 63] for place in range(count))
