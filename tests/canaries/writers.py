"""How others write a text down: by means of their own, to see that a canary in it is recognised."""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import textwrap
import urllib.parse
from collections.abc import Callable

Write = Callable[[str], bytes]


def _every(template: str) -> Write:
    """Each character on its own, as who escapes too much does it."""
    return lambda text: "".join(template.format(ord(character)) for character in text).encode()


def _in_base64(before: int) -> Write:
    return lambda text: base64.urlsafe_b64encode(b"?" * before + text.encode())


def _in_fours(between: str) -> Write:
    return lambda text: between.join(textwrap.wrap(text, 4)).encode()


WRITERS: dict[str, Write] = {
    "as it is": lambda text: json.dumps({"text": text}).encode(),
    "in upper case": lambda text: text.upper().encode(),
    "in lower case": lambda text: text.lower().encode(),
    "backwards": lambda text: "".join(reversed(text)).encode(),
    "in UTF-16": lambda text: codecs.encode(text, "utf-16-be"),
    "in hexadecimal": lambda text: binascii.hexlify(text.encode()),
    "in hexadecimal, upper case": lambda text: base64.b16encode(text.encode()),
    "in base64, 0 into it": _in_base64(3),
    "in base64, 1 into it": _in_base64(4),
    "in base64, 2 into it": _in_base64(5),
    "in base32": lambda text: base64.b32encode(b"12345" + text.encode()),
    "percent-encoded": _every("%{:02X}"),
    "percent-encoded, lower case": _every("%{:02x}"),
    "escaped for JSON": _every("\\u{:04x}"),
    "escaped for JSON, upper case": _every("\\u{:04X}"),
    "escaped for HTML": _every("&#{};"),
    "escaped for HTML, in hexadecimal": _every("&#x{:x};"),
    "in groups of four": _in_fours(" "),
    "in groups with dashes": _in_fours("-"),
    "in rot13": lambda text: urllib.parse.quote(codecs.encode(text, "rot13")).encode(),
}
"""A writer for each disguise, by name."""


def written(core: str) -> bytes:
    """A text in every disguise, with something before and behind each."""
    return b"\x00..".join(write(core) + b"==" for write in WRITERS.values())
