"""Checks of ticket attachments: the content must match the file name."""

from __future__ import annotations

from crofter.drivers import pictures
from crofter.errors import Invalid, Unavailable

FIELD = "file"
LARGEST = 5 * 1024 * 1024
FRAME = 64 * 1024
"""Maximum size of the form around the file."""
MOST_PIXELS = 40_000_000
PICTURES: dict[str, pictures.Kind] = {
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
_NOT_IN_TEXT = tuple(sorted({chr(code) for code in range(32)} - set("\t\n\r\f\b\x1b")))
"""Control characters, but for those that a log may hold."""


def check_size(form: bytes) -> None:
    if len(form) > LARGEST + FRAME:
        raise _too_large()


def checked(filename: str, data: bytes) -> str:
    """The name, if the content is what it says; or Invalid."""
    extension = filename.rpartition(".")[2].lower() if "." in filename else ""
    if extension not in EXTENSIONS:
        listed = ", ".join(f".{known}" for known in EXTENSIONS)
        raise Invalid(f"Must be a file with one of the extensions {listed}", field=FIELD)
    if len(data) > LARGEST:
        raise _too_large()
    if not data:
        raise Invalid("The file is empty", field=FIELD)
    fits = _is_picture(data, PICTURES[extension]) if extension in PICTURES else _CHECKS[extension](data)
    if not fits:
        raise Invalid(f"The file is not what .{extension} stands for", field=FIELD)
    return filename


def _too_large() -> Invalid:
    return Invalid("The file must not be larger than 5 MB", field=FIELD)


def _is_picture(data: bytes, kind: pictures.Kind) -> bool:
    try:
        return pictures.decodes(data, kind, most_pixels=MOST_PIXELS)
    except pictures.Crowded:
        raise Unavailable from None


def _is_document(data: bytes) -> bool:
    return data.startswith(b"%PDF-") and b"%%EOF" in data[-4096:]


def _is_text(data: bytes) -> bool:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return False
    # A search per character is faster than a loop over the text, and lets other threads run in between.
    return not any(character in text for character in _NOT_IN_TEXT)


_CHECKS = {"pdf": _is_document, "txt": _is_text}
