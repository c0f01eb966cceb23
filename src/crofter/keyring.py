"""Keys and what they protect: sealed values, hashed tokens."""

from __future__ import annotations

import hashlib
import hmac
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from crofter.dice import Dice

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN_PREFIXES = {"personal": "ccp_", "access": "cca_", "refresh": "ccr_", "secret": "ccs_"}
SHOWN = 16
"""How many characters of a token may be shown after it was made."""


class Keyring:
    """The master key of the house. Everything secret at rest is sealed or hashed with keys derived from it."""

    def __init__(self, master: bytes, dice: Dice) -> None:
        if len(master) < 32:
            raise ValueError("the secret key must have at least 32 bytes")
        self._dice = dice
        self._pepper = self._derive(master, b"tokens")
        self._sealing = self._derive(master, b"sealing")

    @staticmethod
    def _derive(master: bytes, purpose: bytes) -> bytes:
        return hmac.digest(master, b"crofter " + purpose, "sha256")

    def digest(self, token: str) -> bytes:
        """What is stored of a token, and what it is looked up by."""
        return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), key=self._pepper, digest_size=32).digest()

    def seal(self, value: bytes, place: str) -> bytes:
        """Encrypt a value for one place (table, row, column); it opens nowhere else."""
        nonce = self._dice.bytes(12)
        return nonce + self._cipher().encrypt(nonce, value, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        return self._cipher().decrypt(sealed[:12], sealed[12:], place.encode())

    def _cipher(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow to import, rarely used

        return AESGCM(self._sealing)


def new_token(dice: Dice, kind: str) -> str:
    """A token that secret scanners recognise: prefix, 178 random bits, checksum."""
    body = TOKEN_PREFIXES[kind] + dice.letters(30, _ALPHABET)
    return body + _checksum(body)


def well_formed(token: str) -> bool:
    """Whether the checksum of a token that the house made is right."""
    return len(token) == 40 and hmac.compare_digest(_checksum(token[:34]).encode(), token[34:].encode())


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _ALPHABET[digit] + digits
    return digits


def read_master(path: Path, dice: Dice) -> bytes:
    """The key in a file that only its owner reads; made on the first start."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(dice.hex(64) + "\n")
    return from_text(path.read_text())


def from_text(value: str) -> bytes:
    """A key as people write it: 64 hexadecimal characters, or any phrase of 32 characters and more."""
    value = value.strip()
    try:
        return bytes.fromhex(value) if len(value) == 64 else hashlib.sha256(_long(value)).digest()
    except ValueError:
        return hashlib.sha256(_long(value)).digest()


def _long(value: str) -> bytes:
    if len(value) < 32:
        raise ValueError("the secret key must have at least 32 characters")
    return value.encode()
