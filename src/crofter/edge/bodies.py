"""From JSON to a body: every problem at once, in the interface's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect as shape

from crofter.edge import literal_order
from crofter.edge.json_reader import read_object
from crofter.errors import Invalid, Reason
from crofter.shapes import Body

B = TypeVar("B", bound=Body)

MOST_REASONS = 100
"""Maximum number of reasons per body. Thousands of wrong items are usually one mistake."""
UNKNOWN = "Unknown field"
_INDEX = re.compile(r"\[(\d+)\]")


class Read(Generic[B]):
    """A body as it was sent, and every reason why it cannot be what it should; in the order of the fields."""

    def __init__(self, raw: bytes, body: type[B], read_only: Set[str] = frozenset()) -> None:
        """``read_only``: names that a body which refuses unknown fields ignores all the same."""
        sent = read_object(raw)
        self.body: type[B] = body
        self._plan = _plan(body)
        if read_only and self._plan.info.forbid_unknown_fields:
            sent = {name: value for name, value in sent.items() if name not in read_only}
        if b"null" in raw:
            sent = _without_nulls(self._plan.info, sent)
        self.sent = sent
        self._decoded: B | None = None
        self.reasons: list[Reason] = []
        try:
            self._decoded = msgspec.convert(sent, body, strict=True)
        except msgspec.ValidationError as error:
            self.reasons = list(islice(_struct(self._plan.info, sent, ""), MOST_REASONS)) or [Reason(str(error))]
            return
        for name, field, own in self._plan.checks:
            value = sent.get(name)
            if value is not None and (own is None or own(value) is not None):
                self.reasons += islice(check(field, value, name), MOST_REASONS)

    @property
    def fields(self) -> list[str]:
        """The names of what was sent, as far as the body knows them."""
        return [name for name in self._plan.names if name in self.sent]

    def value(self, further: Callable[[dict[str, Any], Set[str]], Iterable[Reason]] | None = None) -> B:
        """The body, or Invalid with every reason; ``further`` ones are found in what is of the right shape."""
        reasons = self.reasons
        if further is not None:
            wrong = {reason.field for reason in reasons if reason.field is not None}
            reasons = self.in_order([*reasons, *further(_without(self.sent, wrong), wrong)])
        if reasons:
            raise Invalid.all(reasons)
        assert self._decoded is not None
        return self._decoded

    def in_order(self, reasons: Iterable[Reason]) -> list[Reason]:
        """Sort reasons by the order of their fields."""
        return sorted(reasons, key=lambda reason: _place(self._plan.info, reason.field))


def decode(raw: bytes, body: type[B]) -> B:
    """The body, or Invalid with every reason in the order of the fields."""
    return Read(raw, body).value()


def _without(sent: dict[str, Any], wrong: Set[str], path: str = "") -> dict[str, Any]:
    """Return the body without the fields that are already known to be wrong."""
    kept: dict[str, Any] = {}
    for name, value in sent.items():
        here = f"{path}{name}"
        if here not in wrong:
            kept[name] = _without(value, wrong, f"{here}.") if isinstance(value, dict) else value
    return kept


def _place(info: shape.Type, path: str | None) -> tuple[int, ...]:
    """Where a field stands in its struct, and the struct in the one around it; and which item of a list it is."""
    info = bare(info)
    if path is None or not isinstance(info, shape.StructType):
        return ()
    name, _, rest = path.partition(".")
    for position, field in enumerate(info.fields):
        if field.encode_name == name.partition("[")[0]:
            return (position, *map(int, _INDEX.findall(name)), *_place(field.type, rest or None))
    return (len(info.fields),)


def _without_nulls(kind: shape.Type, value: Any) -> Any:
    """An explicit null for a field that has none is the same as leaving it out, however deep it is."""
    if isinstance(kind, shape.Metadata):
        return _without_nulls(kind.type, value)
    if isinstance(kind, shape.UnionType):
        holding = (shape.StructType, shape.ListType, shape.DictType)
        fitting = [option for option in kind.types if isinstance(bare(option), holding)]
        return _without_nulls(fitting[0], value) if fitting else value
    if isinstance(kind, shape.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in kind.fields}
        return {
            name: _without_nulls(fields[name], inner) if name in fields else inner
            for name, inner in value.items()
            if inner is not None or name not in fields or _nullable(fields[name])
        }
    if isinstance(kind, shape.ListType) and isinstance(value, list):
        return [_without_nulls(kind.item_type, item) for item in value]
    if isinstance(kind, shape.DictType) and isinstance(value, dict):
        return {name: _without_nulls(kind.value_type, inner) for name, inner in value.items()}
    return value


class _Plan:
    """Data about a body type that decoding needs, computed once."""

    def __init__(self, body: type[Body]) -> None:
        info = shape.type_info(body)
        assert isinstance(info, shape.StructType)
        literal_order.learn(body)
        self.info = info
        self.names = [field.encode_name for field in info.fields]
        self.checks = [
            (field.encode_name, field.type, _own_check(field.type)) for field in info.fields if _has_check(field.type)
        ]


@cache
def _plan(body: type[Body]) -> _Plan:
    return _Plan(body)


def _nullable(kind: shape.Type) -> bool:
    if isinstance(kind, shape.Metadata):
        return _nullable(kind.type)
    if isinstance(kind, shape.UnionType):
        return kind.includes_none
    return isinstance(kind, (shape.NoneType, shape.AnyType))


def _has_check(kind: shape.Type) -> bool:
    """True if a type, or a type inside it, has a check of its own."""
    if isinstance(kind, shape.Metadata):
        return "check" in (kind.extra or {}) or _has_check(kind.type)
    if isinstance(kind, shape.UnionType):
        return any(_has_check(option) for option in kind.types)
    if isinstance(kind, shape.ListType):
        return _has_check(kind.item_type)
    if isinstance(kind, shape.StructType):
        return any(_has_check(field.type) for field in kind.fields)
    return False


def _own_check(kind: shape.Type) -> Callable[[Any], str | None] | None:
    """The check of a plain text, which is all that is left to do once it has been decoded."""
    options = kind.types if isinstance(kind, shape.UnionType) else (kind,)
    (only, *others) = [option for option in options if not isinstance(option, shape.NoneType)]
    if others or not isinstance(only, shape.Metadata) or not isinstance(only.type, shape.StrType):
        return None
    return (only.extra or {}).get("check")


def _struct(info: shape.StructType, sent: dict[str, Any], path: str) -> Iterator[Reason]:
    for field in info.fields:
        name = field.encode_name
        here = f"{path}.{name}" if path else name
        value = sent.get(name)
        if name not in sent or (value is None and not _nullable(field.type)):
            if field.required:
                yield Reason(f"{name} is required", here)
        else:
            yield from check(field.type, value, here)
    if info.forbid_unknown_fields:
        known = {field.encode_name for field in info.fields}
        yield from (Reason(UNKNOWN, f"{path}.{name}" if path else name) for name in sent if name not in known)


_NAMES: dict[type[shape.Type], tuple[str, tuple[type, ...]]] = {
    shape.IntType: ("Integer", (int,)),
    shape.FloatType: ("Number", (int, float)),
    shape.StrType: ("String", (str,)),
    shape.BoolType: ("Boolean", (bool,)),
    shape.ListType: ("Array", (list,)),
    shape.DictType: ("Object", (dict,)),
    shape.StructType: ("Object", (dict,)),
    shape.LiteralType: ("String", (str,)),
}


_ANYTHING = ("Object", (object,))


def _name(kind: shape.Type) -> tuple[str, tuple[type, ...]]:
    """Return the name of a type and its Python types; a choice consists of strings or of numbers."""
    if isinstance(kind, shape.LiteralType) and isinstance(kind.values[0], int):
        return _NAMES[shape.IntType]
    return _NAMES.get(type(kind), _ANYTHING)


def _fits(kind: shape.Type, value: Any) -> bool:
    wanted = _name(kind)
    if wanted is _ANYTHING:
        return True
    return isinstance(value, wanted[1]) and (isinstance(value, bool) == (bool in wanted[1]))


def check(kind: shape.Type, value: Any, path: str, extra: dict[str, Any] | None = None) -> Iterator[Reason]:
    """Every reason why ``value`` is not of this type."""
    if isinstance(kind, shape.Metadata):
        yield from check(kind.type, value, path, {**(extra or {}), **(kind.extra or {})})
        return
    if isinstance(kind, shape.UnionType):
        if value is None and kind.includes_none:
            return
        options = [option for option in kind.types if not isinstance(option, shape.NoneType)]
        fitting = [option for option in options if _fits(bare(option), value)]
        if fitting:
            yield from check(fitting[0], value, path, extra)
        else:
            names = " or ".join(dict.fromkeys(_name(bare(option))[0] for option in options))
            yield Reason(f"Must be of type {names}", path)
        return
    if not _fits(kind, value):
        yield Reason(f"Must be of type {_name(kind)[0]}", path)
        return
    reason = _bounds(kind, value)
    if reason is not None:
        yield Reason((extra or {}).get("reason", reason), path)
    elif isinstance(kind, shape.StructType):
        yield from _struct(kind, value, path)
    elif isinstance(kind, shape.ListType):
        for position, item in enumerate(value):
            yield from check(kind.item_type, item, f"{path}[{position}]")
    elif isinstance(kind, shape.DictType):
        for name, item in value.items():
            yield from check(kind.value_type, item, f"{path}.{name}")
    elif extra and "check" in extra:
        own: Callable[[Any], str | None] = extra["check"]
        if (complaint := own(value)) is not None:
            yield Reason(complaint, path)


def bare(kind: shape.Type) -> shape.Type:
    return bare(kind.type) if isinstance(kind, shape.Metadata) else kind


def _bounds(kind: Any, value: Any) -> str | None:
    """Why a value of the right type is out of bounds, if it is."""
    if isinstance(kind, (shape.IntType, shape.FloatType)):
        low, high = kind.ge, kind.le
        if (low is not None and value < low) or (high is not None and value > high):
            return _span("Must be", low, high, "")
        if kind.gt is not None and value <= kind.gt:
            return f"Must be more than {kind.gt:g}"
        if kind.lt is not None and value >= kind.lt:
            return f"Must be less than {kind.lt:g}"
    elif isinstance(kind, shape.StrType):
        if _outside(len(value), kind):
            return _span("Length must be", kind.min_length, kind.max_length, " characters")
        if kind.pattern is not None and not _matches(kind.pattern, value):
            return f"Must match {kind.pattern}"
    elif isinstance(kind, (shape.ListType, shape.DictType)):
        if _outside(len(value), kind):
            return _span("Must have", kind.min_length, kind.max_length, " items")
    elif isinstance(kind, shape.LiteralType) and value not in kind.values:
        return "Must be one of " + ", ".join(str(option) for option in literal_order.in_order(kind.values))
    return None


def _outside(length: int, kind: Any) -> bool:
    return length < (kind.min_length or 0) or (kind.max_length is not None and length > kind.max_length)


def _span(start: str, low: Any, high: Any, end: str) -> str:
    if high is None:
        return f"{start} at least {low}{end}"
    if low is None and end == "":
        return f"{start} at most {high}"
    return f"{start} {low or 0}-{high}{end}"


@cache
def _compiled(pattern: str) -> Any:
    return re.compile(pattern)


def _matches(pattern: str, value: str) -> bool:
    return _compiled(pattern).search(value) is not None
