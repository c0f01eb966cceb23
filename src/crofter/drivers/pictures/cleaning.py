"""Decoding pictures within limits, and making of them a PNG with nothing in it but the picture."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from PIL import Image

from crofter.drivers.pictures import png
from crofter.drivers.pictures.wire import Task, Unfit

SIDE = 512
"""Side length to which a picture is reduced if its PNG would be too large."""

_END_OF_JPEG = b"\xff\xd9"
_END_OF_GIF = b"\x3b"


def warm_up() -> None:
    """Do everything once with pictures of one's own: libraries load what they need when they first need it."""
    for kind in ("PNG", "JPEG", "GIF", "TIFF", "MPO"):
        target = BytesIO()
        Image.new("RGB", (2, 2)).save(target, kind)
        image = _decoded(Task("JPEG" if kind == "MPO" else kind, 4), target.getvalue())  # type: ignore[arg-type]
        image.thumbnail((1, 1))
        _encoded(image.convert("CMYK"))


def perform(task: Task, content: bytes) -> bytes:
    """Check that a picture can be decoded, or return the picture as clean PNG. Raises Unfit."""
    if not task.clean:
        _decoded(task, content, small=True)
        return b""
    image = _decoded(task, content)
    if not _ends_where_it_ends(content, task.kind):
        raise Unfit("The image has something behind its end")
    if task.kind == "PNG" and _pure(content, task.most_pixels):
        return content
    encoded = _encoded(image)
    if len(encoded) > task.most_bytes:
        image.thumbnail((SIDE, SIDE))
        encoded = _encoded(image)
    return encoded


def _decoded(task: Task, content: bytes, *, small: bool = False) -> Image.Image:
    try:
        with Image.open(BytesIO(content), formats=[task.kind]) as opened:
            # Known from the header, before anything is unpacked: a bomb is refused unexploded.
            if opened.width * opened.height > task.most_pixels:
                raise Unfit(f"The image has more than {task.most_pixels} pixels")
            if small:
                opened.draft("L", (256, 256))  # a JPEG shows as well in a small size whether it is good
            opened.load()
            return opened if small else opened.copy()
    except Unfit:
        raise
    except Exception as error:  # any decoder error is caused by the input
        raise Unfit("The image cannot be decoded") from error


def _encoded(image: Image.Image) -> bytes:
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGB")
    transparency = image.info.get("transparency") if image.mode in ("P", "L", "RGB", "1") else None
    image.info = {} if transparency is None else {"transparency": transparency}
    target = BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


def _ends_where_it_ends(content: bytes, kind: str) -> bool:
    """True if no data follows the picture, such as a hidden archive or program."""
    if kind == "PNG":
        chunks = list(png.chunks(content))
        return bool(chunks) and chunks[-1][0] == b"IEND" and chunks[-1][2] == len(content)
    return content.endswith(_END_OF_JPEG if kind == "JPEG" else _END_OF_GIF)


def _pure(content: bytes, most_pixels: int) -> bool:
    """True if a decoded PNG contains the picture and nothing else."""
    chunks = list(png.chunks(content))
    if not png.plain(content):
        return False
    inflating = zlib.decompressobj()
    left = most_pixels * 8 + 65536  # size of the largest picture with four channels of 16 bits
    packed = b"".join(body for name, body, _ in chunks if name == b"IDAT")
    size = len(inflating.decompress(packed, left))
    return inflating.eof and not inflating.unused_data and size == _size(chunks[0][1])


def _size(header: bytes) -> int:
    """How many bytes the pixels of a PNG take, each row with a byte for its filter; 0 where rows are interlaced."""
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colours]
    return 0 if interlaced else height * (1 + (width * channels * depth + 7) // 8)
