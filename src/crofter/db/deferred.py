"""Expressions of SQLAlchemy that are remembered, and carried out when they are needed."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from enum import Enum
from hashlib import blake2b
from typing import Any

_NOT_YET = object()
_evaluating = threading.RLock()
"""Held meanwhile: two requests with the first filters of a process would make the same table twice."""


class Indescribable(Exception):
    """An expression with a part that is not the same in every run."""


class Deferred:
    """An expression: what makes it, and of what parts."""

    __slots__ = ("_make", "_parts", "_result")

    def __init__(self, make: Callable[..., Any], *parts: Any) -> None:
        self._make = make
        self._parts = parts
        self._result: Any = _NOT_YET

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Deferred(getattr, self, name)

    def __getitem__(self, key: Any) -> Deferred:
        return Deferred(operator.getitem, self, key)

    def __call__(self, *values: Any, **named: Any) -> Deferred:
        return Deferred(call, self, values, named)

    # An unevaluated expression has no known attributes or items.
    __iter__ = None
    __contains__ = None
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("whether an expression holds is known to the database only")

    def __str__(self) -> str:
        raise TypeError("an expression has no text before it is carried out")

    def _evaluated(self) -> Any:
        return self._make(*(evaluate(part) for part in self._parts))

    def _description(self, seen: dict[int, int]) -> Iterator[str]:
        yield f"({self._make.__name__}"
        for part in self._parts:
            yield from _described(part, seen)
        yield ")"


def call(function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*values, **named)


def _operation(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Deferred]:
    return lambda left, right: Deferred(make, left, right)


def _reflected(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Deferred]:
    return lambda right, left: Deferred(make, left, right)


def _on_one(make: Callable[[Any], Any]) -> Callable[[Any], Deferred]:
    return lambda operand: Deferred(make, operand)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Deferred, f"__{_name}__", _operation(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or"):
    setattr(Deferred, f"__{_name}__", _operation(getattr(operator, f"__{_name}__")))
    setattr(Deferred, f"__r{_name}__", _reflected(getattr(operator, f"__{_name}__")))
for _name in ("neg", "invert"):
    setattr(Deferred, f"__{_name}__", _on_one(getattr(operator, _name)))


def is_call_of(part: Any, word: Any) -> bool:
    """True if the part is a call of ``word``, or the bare word where that means the same."""
    return part is word or (isinstance(part, Deferred) and part._make is call and part._parts[0] is word)


def values_of(part: Deferred) -> tuple[Any, ...]:
    """Return the positional arguments of a call."""
    values: tuple[Any, ...] = part._parts[1]
    return values


def named_of(part: Deferred) -> dict[str, Any]:
    """Return the keyword arguments of a call."""
    named: dict[str, Any] = part._parts[2]
    return named


def evaluate(part: Any) -> Any:
    """Build the SQLAlchemy expression, once."""
    if isinstance(part, Deferred):
        if part._result is _NOT_YET:
            with _evaluating:
                if part._result is _NOT_YET:
                    part._result = part._evaluated()
        return part._result
    if type(part) in (tuple, list):
        return type(part)(evaluate(inner) for inner in part)
    if type(part) is dict:
        return {evaluate(key): evaluate(value) for key, value in part.items()}
    return part


def digest(expression: Any) -> bytes:
    """The same in every run for expressions that were said in the same words."""
    return blake2b("\0".join(_described(expression, {})).encode(), digest_size=16).digest()


def _described(part: Any, seen: dict[int, int]) -> Iterator[str]:
    """Yield an expression as text. A part used twice differs from two equal parts: aliases have no other name."""
    if isinstance(part, Deferred):
        if id(part) in seen:
            yield f"#{seen[id(part)]}"
            return
        seen[id(part)] = len(seen)
        yield from part._description(seen)
    elif isinstance(part, (tuple, list)):
        yield "["
        for inner in part:
            yield from _described(inner, seen)
        yield "]"
    elif isinstance(part, dict):
        yield from _described([inner for pair in part.items() for inner in pair], seen)
    elif part is None or isinstance(part, (str, int, float, bytes, Enum)):
        yield repr(part)
    else:
        raise Indescribable(type(part).__name__)
