"""The checksum that secret scanners verify, worked out apart from the code that makes tokens."""

from __future__ import annotations

import zlib

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def has_checksum(token: str) -> bool:
    """True if the last six characters are the CRC of the rest in base 62."""
    value = sum(DIGITS.index(digit) * 62**place for place, digit in enumerate(reversed(token[34:])))
    return len(token) == 40 and value == zlib.crc32(token[:34].encode())
