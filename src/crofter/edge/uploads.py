"""Files that are sent as ``multipart/form-data``: taken apart within bounds, named harmlessly."""

from __future__ import annotations

import unicodedata

from msgspec import Struct
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from crofter.errors import Invalid

MOST_PARTS = 16
LONGEST_NAME = 100
_FORBIDDEN = set('<>:"/\\|?*%')
"""Characters with a special meaning in file systems or headers."""


class Part(Struct):
    """A field of a form."""

    name: str = ""
    filename: str | None = None
    content: bytes = b""


def file_named(content_type: str, content: bytes, field: str) -> Part:
    """The part of this name, which must be there, and once: of two, others might read the other."""
    named = [part for part in parts(content_type, content, field) if part.name == field]
    if not named:
        raise Invalid(f"{field} is required", field=field)
    if len(named) > 1:
        raise Invalid(f"{field} must be sent once", field=field)
    return named[0]


def parts(content_type: str, content: bytes, field: str) -> list[Part]:
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if not boundary:
        raise Invalid("The form has no boundary", field=field)
    reader = _Reader()
    try:
        parser = MultipartParser(boundary, reader.callbacks())  # type: ignore[arg-type]
        parser.write(content)
        parser.finalize()
    except (FormParserError, UnicodeError) as error:
        raise Invalid("The form cannot be read", field=field) from error
    if not reader.ended:
        raise Invalid("The form is not complete", field=field)
    return reader.parts


class _Reader:
    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.ended = False
        self._field = b""
        self._value = b""
        self._pieces: list[bytes] = []

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._part_begins,
            "on_part_data": lambda data, start, end: self._pieces.append(data[start:end]),
            "on_part_end": self._part_ends,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_ends,
            "on_end": self._ends,
        }

    def _part_begins(self) -> None:
        if len(self.parts) == MOST_PARTS:
            raise FormParserError("too many parts")
        self.parts.append(Part())
        self._pieces = []

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_ends(self) -> None:
        if self._field.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            part = self.parts[-1]
            part.name = options.get(b"name", b"").decode("utf-8", "replace")
            if b"filename" in options:
                part.filename = options[b"filename"].decode("utf-8", "replace")
        self._field = self._value = b""

    def _part_ends(self) -> None:
        self.parts[-1].content = b"".join(self._pieces)

    def _ends(self) -> None:
        self.ended = True


def harmless(filename: str) -> str:
    """A file's name without its path, without what cannot be seen, and not too long."""
    base = unicodedata.normalize("NFC", filename).replace("\\", "/").rpartition("/")[2]
    kept = "".join(
        "_" if character in _FORBIDDEN else character
        for character in base
        if unicodedata.category(character)[0] not in "CZ" or character == " "
    ).strip(" .")
    stem, dot, extension = kept.rpartition(".")
    if not dot:
        return kept[:LONGEST_NAME]
    return f"{stem.strip(' .')[: LONGEST_NAME - 1 - len(extension)] or 'file'}.{extension}"
