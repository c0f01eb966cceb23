"""Pictures from strangers: decoded within limits, and kept as PNG with nothing in it but the picture."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from crofter.errors import Invalid

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF"}
MAX_BYTES = 512 * 1024
MAX_PIXELS = 4_000_000
SIDE = 512
"""What a picture is shrunk to if it would take more than MAX_BYTES as PNG."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_END_OF_JPEG = b"\xff\xd9"
_END_OF_GIF = b"\x3b"
_PURE = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
"""Chunks without which there is no picture. All others say something beside it."""


def cleaned(content: bytes, content_type: str) -> bytes:
    """The picture as PNG, or Invalid. A PNG that is a picture and nothing else stays as it was sent."""
    kind = FORMATS[content_type]
    if not _ends_where_it_ends(content, kind):
        raise Invalid("The image has something behind its end")
    image = _decoded(content, kind)
    if kind == "PNG" and _pure(content):
        return content
    encoded = _encoded(image)
    if len(encoded) > MAX_BYTES:
        image.thumbnail((SIDE, SIDE))
        encoded = _encoded(image)
    return encoded


def _decoded(content: bytes, kind: str) -> Image:
    from PIL import Image  # noqa: PLC0415 - slow to import, rarely used

    try:
        with Image.open(BytesIO(content), formats=[kind]) as opened:
            # Known from the header, before anything is unpacked: a bomb is refused unexploded.
            if opened.width * opened.height > MAX_PIXELS:
                raise Invalid(f"The image has more than {MAX_PIXELS} pixels")
            opened.load()
            return opened.copy()
    except Invalid:
        raise
    except Exception as error:  # whatever a decoder stumbles over is the sender's doing
        raise Invalid("The image cannot be decoded") from error


def _encoded(image: Image) -> bytes:
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGB")
    transparency = image.info.get("transparency") if image.mode in ("P", "L", "RGB", "1") else None
    image.info = {} if transparency is None else {"transparency": transparency}
    target = BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def _ends_where_it_ends(content: bytes, kind: str) -> bool:
    """Whether nothing follows the picture: an archive or a program that is hidden behind one."""
    if kind == "PNG":
        chunks = list(_chunks(content))
        return bool(chunks) and chunks[-1][0] == b"IEND" and chunks[-1][2] == len(content)
    return content.endswith(_END_OF_JPEG if kind == "JPEG" else _END_OF_GIF)


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes, int]]:
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


def _pure(content: bytes) -> bool:
    """Whether a PNG that has been decoded holds the picture and nothing else."""
    chunks = list(_chunks(content))
    if chunks[-1][1] or any(name not in _PURE for name, _, _ in chunks):
        return False
    inflating = zlib.decompressobj()
    left = MAX_PIXELS * 8 + 65536  # as much as the biggest picture, at 16 bits for each of four colours, can take
    packed = b"".join(body for name, body, _ in chunks if name == b"IDAT")
    size = len(inflating.decompress(packed, left))
    return inflating.eof and not inflating.unused_data and size == _size(chunks[0][1])


def _size(header: bytes) -> int:
    """How many bytes the pixels of a PNG take, each row with a byte for its filter; 0 where rows are interlaced."""
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colours]
    return 0 if interlaced else height * (1 + (width * channels * depth + 7) // 8)
