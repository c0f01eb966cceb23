"""Strict JSON from bytes: the one reader of all that is sent to the server as JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import msgspec

from crofter.errors import Invalid

MAX_DEPTH = 32
MAX_CONTAINERS = 20_000
"""Lists and objects in a body."""
MAX_SIMPLE = 4096
"""Bytes of a body that is read the quick way. That way has no bound on the length of a number but this one."""
INT64 = range(-(2**63), 2**63)
MAX_EXACT = 2**53
"""Up to here a number with a point stands for one integer and no other."""
BAD_JSON = "Invalid JSON"

_decode = msgspec.json.Decoder().decode


class _HugeNumber:
    """A number beyond 64 bits: no integer of the interface."""


def read_object(raw: bytes) -> dict[str, Any]:
    """Return the body, which must be a JSON object."""
    sent = read_json(raw)
    if not isinstance(sent, dict):
        raise Invalid("Must be of type Object")
    return sent


def read_json(raw: bytes) -> Any:
    """JSON without its liberties: no NaN, no doubled keys, no lone surrogates, no NUL, bounded depth."""
    if not raw.strip():
        return {}
    simple = _simple_object(raw)
    if simple is not None:
        return simple
    if _too_much(raw):
        raise Invalid(BAD_JSON)
    try:
        value = (_strict_with_long_numbers if _LONG_NUMBER.search(raw) else _strict)(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Invalid(BAD_JSON) from error
    if b"\\u" in raw and not _clean(value):
        raise Invalid(BAD_JSON)
    return value


def _simple_object(raw: bytes) -> dict[str, Any] | None:
    """A short object of texts, numbers and flags, as most bodies are, at a fraction of the cost. None: look closely.

    Without escapes each quote opens or closes a text, so that a doubled key shows in their number.
    """
    if len(raw) > MAX_SIMPLE or b"\\" in raw:
        return None
    try:
        value = _decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # its errors are ValueErrors since 0.21 only
        return None
    if type(value) is not dict:
        return None
    texts = len(value)
    for item in value.values():
        kind = type(item)
        if kind is str:
            texts += 1
        elif not (kind is bool or (kind is int and item in INT64)):
            return None
    return value if raw.count(b'"') == 2 * texts else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("doubled key")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _integer(digits: str) -> int | _HugeNumber:
    if len(digits) < 19:
        return int(digits)
    if len(digits) > 20 or (number := int(digits)) not in INT64:
        return _HugeNumber()
    return number


def _number(digits: str) -> int | float:
    """``2.0`` is the integer 2, as JSON schemas have it: some languages know no other way to write one."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < MAX_EXACT else number


_strict = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_number).decode
_strict_with_long_numbers = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_integer, parse_float=_number
).decode
"""To look at each number takes longer than all the rest, so only bodies with a long one are read so."""
_LONG_NUMBER = re.compile(rb"\d{19}")
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"')
_TO_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _too_much(raw: bytes) -> bool:
    """True if the JSON is nested too deeply or has too many lists and objects. Checked before parsing."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    left = _STRINGS.sub(b"", raw).translate(_TO_BRACKETS, _NO_BRACKETS)
    if len(left) > 2 * MAX_CONTAINERS:
        return True
    for _ in range(MAX_DEPTH):
        left = left.replace(b"[]", b"")  # the innermost ones
    return bool(left)


def _clean(value: Any) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            if "\x00" in item or (not item.isprintable() and _lone_surrogate(item)):
                return False
        elif isinstance(item, dict):
            todo.extend(item.keys())
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
    return True


def _lone_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
