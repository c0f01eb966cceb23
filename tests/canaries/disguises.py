"""Canaries: secrets that are recognised in any encoding."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

SHORT = 10
"""A secret of fewer characters turns up by chance, so it counts only as a word of its own, in texts."""
ZEROES = bytes(256)


class Canary(Struct, frozen=True):
    name: str
    """Where it was sent, or what showed it: ``create_disk root_pass``, ``login session``."""
    value: str
    core: str
    """Part to search for, without public parts such as a token's first characters."""
    also: tuple[bytes, ...] = ()
    """Other forms that this one is known in, to be looked for as they are."""

    @property
    def short(self) -> bool:
        return len(self.core) < SHORT


def disguises(core: str) -> dict[str, bytes]:
    """Return the encoded forms of a secret by name; the core is plain ASCII."""
    plain = core.encode()
    grouped = re.findall("....", core)
    return {
        "as it is": plain,
        "in upper case": core.upper().encode(),
        "in lower case": core.lower().encode(),
        "backwards": core[::-1].encode(),
        "in UTF-16": core.encode("utf-16-le")[:-1],
        "in hexadecimal": plain.hex().encode(),
        "in hexadecimal, upper case": plain.hex().upper().encode(),
        **{f"in base64, {shift} into it": _base64(plain, shift) for shift in range(3)},
        "in base32": base64.b32encode(plain[: len(plain) // 5 * 5]),
        "percent-encoded": "".join(f"%{byte:02X}" for byte in plain).encode(),
        "percent-encoded, lower case": "".join(f"%{byte:02x}" for byte in plain).encode(),
        "escaped for JSON": "".join(f"\\u{byte:04x}" for byte in plain).encode(),
        "escaped for JSON, upper case": "".join(f"\\u{byte:04X}" for byte in plain).encode(),
        "escaped for HTML": "".join(f"&#{byte};" for byte in plain).encode(),
        "escaped for HTML, in hexadecimal": "".join(f"&#x{byte:x};" for byte in plain).encode(),
        "in groups of four": " ".join(grouped).encode(),
        "in groups with dashes": "-".join(grouped).encode(),
        "in rot13": codecs.encode(core, "rot13").encode(),
    }


def _base64(plain: bytes, shift: int) -> bytes:
    """Return the base64 characters that depend on these bytes alone, in either alphabet."""
    padded = bytes(shift) + plain
    encoded = base64.b64encode(padded[: len(padded) // 3 * 3])
    return encoded[4 if shift else 0 :]


class Seen(NamedTuple):
    """A canary that was found, the place, and the disguise."""

    canary: str
    place: str
    disguise: str


def found(canaries: Iterable[Canary], places: Mapping[str, bytes]) -> Iterator[Seen]:
    """Every canary that is somewhere."""
    searched = {name: content.replace(ZEROES, b"") for name, content in places.items()}
    for canary in canaries:
        if canary.short:
            word = re.compile(rb"(?<![0-9A-Za-z.:-])" + canary.core.encode() + rb"(?![0-9A-Za-z.:-])")
            yield from (
                Seen(canary.name, place, "as a word")
                for place, content in searched.items()
                if _is_text(place) and word.search(content)
            )
            continue
        for disguise, pattern in (
            *disguises(canary.core).items(),
            *(("in another form", form) for form in canary.also),
        ):
            for place, content in searched.items():
                if pattern in content or ((b"+" in pattern or b"/" in pattern) and _urlsafe(pattern) in content):
                    yield Seen(canary.name, place, disguise)


def _urlsafe(pattern: bytes) -> bytes:
    return pattern.translate(bytes.maketrans(b"+/", b"-_"))


def _is_text(place: str) -> bool:
    return not place.startswith("file ")
