"""Which files may be attached to a ticket: those whose content is what their name says."""

from __future__ import annotations

import io
import threading

from crofter.edge.uploads import harmless
from crofter.errors import Invalid

FIELD = "file"
LARGEST = 5 * 1024 * 1024
FRAME = 64 * 1024
"""What the form around the file may take."""
MOST_PIXELS = 40_000_000
PICTURES = {
    "gif": "GIF",
    "jpg": "JPEG",
    "jpeg": "JPEG",
    "pjpg": "JPEG",
    "pjpeg": "JPEG",
    "tif": "TIFF",
    "tiff": "TIFF",
    "png": "PNG",
}
EXTENSIONS = (*PICTURES, "pdf", "txt")
_IN_TEXT = "\t\n\r\f\b\x1b"
"""Control characters that a log may hold."""
_one_at_a_time = threading.Lock()
"""A picture takes much more room than its file, so that only one is unfolded at any time."""


def check_size(form: bytes) -> None:
    if len(form) > LARGEST + FRAME:
        raise _too_large()


def checked(filename: str | None, data: bytes) -> str:
    """The name under which the file is kept, or Invalid."""
    name = harmless(filename or "")
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    if extension not in EXTENSIONS:
        listed = ", ".join(f".{one}" for one in EXTENSIONS)
        raise Invalid(f"Must be a file with one of the extensions {listed}", field=FIELD)
    if len(data) > LARGEST:
        raise _too_large()
    if not data:
        raise Invalid("The file is empty", field=FIELD)
    fits = _is_picture(data, PICTURES[extension]) if extension in PICTURES else _CHECKS[extension](data)
    if not fits:
        raise Invalid(f"The file is not what .{extension} stands for", field=FIELD)
    return name


def _too_large() -> Invalid:
    return Invalid("The file must not be larger than 5 MB", field=FIELD)


def _is_picture(data: bytes, kind: str) -> bool:
    from PIL import Image  # noqa: PLC0415 - slow to import, rarely used

    try:
        with _one_at_a_time, Image.open(io.BytesIO(data), formats=(kind,)) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                return False
            picture.draft("L", (256, 256))  # a JPEG is as good small
            picture.load()
    except Exception:  # whatever a decoder stumbles over, the file is not a good one
        return False
    return True


def _is_document(data: bytes) -> bool:
    return data.startswith(b"%PDF-") and b"%%EOF" in data[-4096:]


def _is_text(data: bytes) -> bool:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return not any(character < " " and character not in _IN_TEXT for character in text)


_CHECKS = {"pdf": _is_document, "txt": _is_text}
