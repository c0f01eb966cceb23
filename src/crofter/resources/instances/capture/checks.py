"""Looking through a gzip file while it arrives: whether it is one, and how much is in it."""

from __future__ import annotations

import hashlib
import zlib

from crofter.errors import Invalid

MB = 1024 * 1024
MOST_UNPACKED = 6144
"""Maximum size of an image in MB."""
PIECE = 4 * MB
"""Bytes that are unpacked at once: what a few of them unpack to is up to who sends them."""
_GZIP = 16 + zlib.MAX_WBITS

NOT_GZIP = "The file is not gzip."
TRUNCATED = "The file is not complete."
EMPTY = "The file is empty."
TOO_LARGE = f"An image can have at most {MOST_UNPACKED} MB."


class GzipMeter:
    """Measures what is in a file. Nothing of what it unpacks is kept."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(_GZIP)
        self._begun = False
        self._unpacked = 0
        self._hash = hashlib.sha256()

    def feed(self, content: bytes) -> None:
        """The next bytes of the file; Invalid as soon as it cannot be an image."""
        while content:
            if self._unpacker.eof:
                content = content.lstrip(b"\0")  # padding, as tapes and block devices have it
                if not content:
                    return
                self._unpacker = zlib.decompressobj(_GZIP)
            self._begun = True
            content = self._unpack(content)

    def _unpack(self, content: bytes) -> bytes:
        """Unpack a piece. Return the bytes after the end of the compressed part."""
        while True:
            try:
                piece = self._unpacker.decompress(content, PIECE)
            except zlib.error:
                raise Invalid(NOT_GZIP) from None
            self._unpacked += len(piece)
            if self._unpacked > MOST_UNPACKED * MB:
                raise Invalid(TOO_LARGE)
            self._hash.update(piece)
            content = self._unpacker.unconsumed_tail
            if self._unpacker.eof or not (content or len(piece) == PIECE):
                return self._unpacker.unused_data

    def end(self) -> tuple[int, str]:
        """The file has ended: the MB that it unpacks to, and the SHA-256 of that."""
        if not self._begun:
            raise Invalid(EMPTY)
        if not self._unpacker.eof:
            raise Invalid(TRUNCATED)
        if not self._unpacked:
            raise Invalid(EMPTY)
        return -(-self._unpacked // MB), self._hash.hexdigest()
