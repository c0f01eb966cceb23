"""Structure of PNG files, checked without unpacking."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NEEDED = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
"""Chunks without which there is no picture. All others say something beside it."""


def chunks(content: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """The chunks of a PNG up to its end: name, content, and where it stops. Stops early at a broken one."""
    position = len(_SIGNATURE)
    if not content.startswith(_SIGNATURE):
        return
    while position + 12 <= len(content):
        length, name = struct.unpack_from(">I4s", content, position)
        end = position + 12 + length
        if end > len(content):
            return
        body = content[position + 8 : end - 4]
        if zlib.crc32(name + body) != struct.unpack_from(">I", content, end - 4)[0]:
            return
        yield name, body, end
        if name == b"IEND":
            return
        position = end


def plain(content: bytes) -> bool:
    """True if the file has only the chunks that a picture needs, and no data after its end."""
    parts = list(chunks(content))
    if not parts or parts[0][0] != b"IHDR" or any(name not in _NEEDED for name, _, _ in parts):
        return False
    name, body, end = parts[-1]
    return name == b"IEND" and not body and end == len(content)
