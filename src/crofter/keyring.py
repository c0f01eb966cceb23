"""Keys and what they protect: sealed values, hashed tokens."""

from __future__ import annotations

import hashlib
import hmac
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from crofter.rng import Rng

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN_PREFIXES = {"personal": "ccp_", "access": "cca_", "refresh": "ccr_", "secret": "ccs_"}
SHOWN = 16
"""How many characters of a token may be shown after it was made."""

# A sealed value: mark, id of the master key, the value's own key wrapped by it, the value.
MARK = b"crf\x01"
ID = 8
NONCE = 12
TAG = 16
KEY = 32
HEADER = len(MARK) + ID
WRAPPED = NONCE + KEY + TAG
OVERHEAD = HEADER + WRAPPED + NONCE + TAG
"""How much longer a value is when it is sealed."""


class Unopenable(Exception):
    """A sealed value that no key at hand opens: moved from its place, altered, or sealed with an unknown key."""


class Keyring:
    """The master keys of the server, and the keys for hashing that outlive them.

    Every value is sealed with a key of its own, and that key is wrapped by the current master. Changing the master
    so means to wrap short keys again, never to touch the values. Former masters open until that is done.
    """

    def __init__(self, master: bytes, rng: Rng, former: tuple[bytes, ...] = ()) -> None:
        if any(len(key) < KEY for key in (master, *former)):
            raise ValueError("the secret key must have at least 32 bytes")
        self._rng = rng
        self._masters = {_derive(key, b"name")[:ID]: _derive(key, b"sealing") for key in (*former, master)}
        self.current = _derive(master, b"name")[:ID]
        """Names the master that new values are sealed with."""
        self.adopt(_derive(master, b"tokens"), _derive(master, b"audit"))

    def adopt(self, pepper: bytes, audit: bytes) -> None:
        """Use these keys for hashing: those that were in force when what is stored was hashed."""
        self.pepper = pepper
        self.audit = audit

    def digest(self, token: str) -> bytes:
        """Return the stored hash of a token, by which it is found."""
        return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), key=self.pepper, digest_size=32).digest()

    def sign(self, content: bytes, purpose: str) -> bytes:
        """Return a MAC that proves that the server wrote the content. ``purpose``: at most 16 letters."""
        return hashlib.blake2b(content, key=self.pepper, digest_size=32, person=purpose.encode()).digest()

    def chain(self, content: bytes) -> bytes:
        """A mark that only the server can make, for records that must not be altered."""
        return hashlib.blake2b(content, key=self.audit, digest_size=32).digest()

    def seal(self, value: bytes, associated_data: str) -> bytes:
        """Encrypt a value for one table, row and column, which the associated data names; it opens nowhere else."""
        key = self._rng.bytes(KEY)
        nonce = self._rng.bytes(NONCE)
        return self._wrap(key) + nonce + _cipher(key).encrypt(nonce, value, associated_data.encode())

    def open(self, sealed: bytes, associated_data: str) -> bytes:
        key = self._unwrap(sealed)
        rest = sealed[HEADER + WRAPPED :]
        try:
            return _cipher(key).decrypt(rest[:NONCE], rest[NONCE:], associated_data.encode())
        except _refusals() as error:
            raise Unopenable(f"not sealed for {associated_data}, or altered") from error

    def rewrap(self, sealed: bytes) -> bytes:
        """The same value under the current master. Needs no associated data."""
        return self._wrap(self._unwrap(sealed)) + sealed[HEADER + WRAPPED :]

    @property
    def header(self) -> bytes:
        """How everything begins that is sealed with the current master."""
        return MARK + self.current

    def _wrap(self, key: bytes) -> bytes:
        nonce = self._rng.bytes(NONCE)
        return self.header + nonce + _cipher(self._masters[self.current]).encrypt(nonce, key, self.header)

    def _unwrap(self, sealed: bytes) -> bytes:
        header, wrapped = sealed[:HEADER], sealed[HEADER : HEADER + WRAPPED]
        master = self._masters.get(header[len(MARK) :])
        if len(sealed) < OVERHEAD or header[: len(MARK)] != MARK or master is None:
            raise Unopenable("sealed with a key that is not at hand")
        try:
            return _cipher(master).decrypt(wrapped[:NONCE], wrapped[NONCE:], header)
        except _refusals() as error:
            raise Unopenable("the key of a sealed value was altered") from error


def _derive(master: bytes, purpose: bytes) -> bytes:
    return hmac.digest(master, b"crofter " + purpose, "sha256")


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow to import, rarely used

    return AESGCM(key)


def _refusals() -> tuple[type[Exception], ...]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415

    return (InvalidTag, ValueError)


def new_token(rng: Rng, kind: str) -> str:
    """A token that secret scanners recognise: prefix, 178 random bits, checksum."""
    body = TOKEN_PREFIXES[kind] + rng.letters(30, _ALPHABET)
    return body + _checksum(body)


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _ALPHABET[digit] + digits
    return digits


# ---- where masters come from ----------------------------------------------------------------------------------------


def read_masters(path: Path, rng: Rng) -> list[bytes]:
    """The keys in a file that only its owner reads, the current one first; made on the first start."""
    if not path.exists():
        write_masters(path, [rng.hex(2 * KEY)])
    return [from_text(line) for line in _lines(path)]


def add_master(path: Path, rng: Rng) -> None:
    """Put a new current key before those of the file; they stay until everything is sealed anew."""
    write_masters(path, [rng.hex(2 * KEY), *_lines(path)])


def drop_former_masters(path: Path) -> None:
    """Keep the current key alone."""
    write_masters(path, _lines(path)[:1])


def write_masters(path: Path, lines: list[str]) -> None:
    """Replace the file in one move, so that no crash leaves half a key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".new")
    written.unlink(missing_ok=True)
    written.touch(mode=0o600)
    with written.open("w") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines() if line.strip()]


def from_text(value: str) -> bytes:
    """A key as people write it: 64 hexadecimal characters, or any phrase of 32 characters and more."""
    value = value.strip()
    try:
        return bytes.fromhex(value) if len(value) == 2 * KEY else hashlib.sha256(_long(value)).digest()
    except ValueError:
        return hashlib.sha256(_long(value)).digest()


def _long(value: str) -> bytes:
    if len(value) < KEY:
        raise ValueError("the secret key must have at least 32 characters")
    return value.encode()
