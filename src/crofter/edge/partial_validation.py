"""Saying everything at once: what the rules find amiss with the part of a body that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as shape

from crofter.edge import bodies
from crofter.errors import Invalid, Problem, Reason
from crofter.shapes import Body

_BLANKS: dict[type[shape.Type], Callable[[], Any]] = {
    shape.StrType: str,
    shape.IntType: int,
    shape.ListType: list,
    shape.DictType: dict,
}
MOST_ITEMS = 1000
"""Maximum number of list items checked separately when an item is wrong."""
_ITEM = re.compile(r"\w+\[(\d+)\]")


class _Part(NamedTuple):
    """Valid part of a list or object. Its items are independent, so these can be checked."""

    items: list[Any] | dict[str, Any]
    places: list[int] = []  # where the items of a list were sent


def all_reasons(read: bodies.Read[Body], problem: Invalid, attempt: Callable[[Body], object]) -> Invalid:
    """The problem, with what the handler says to the rest of the body.

    The handler is really run, on a body of which only the right part was sent. That is safe, since a refusal
    ends the transaction and leaves nothing of it behind; and it needs no second form of any rule.
    """
    parts = _parts(read, problem.reasons)
    wrong = {reason.head for reason in problem.reasons} - parts.keys()
    try:
        rest = _remainder(read, wrong, parts)
        if rest is None:
            return problem
        attempt(rest)
    except Problem as more:
        unreported = [reason for reason in more.reasons if reason.field is not None and reason.head not in wrong]
        further = [_as_sent(reason, parts) for reason in unreported]
        if isinstance(more, Invalid) and further:
            return Invalid.all(read.in_order([*problem.reasons, *further]))
    except Exception:
        pass  # no rule expects a body with blanks; what is known to be wrong is said in any case
    return problem


def _parts(read: bodies.Read[Body], reasons: Sequence[Reason]) -> dict[str, _Part]:
    """Return, by name, the valid parts of lists and objects with some wrong items."""
    names = {reason.head for reason in reasons} - {reason.field for reason in reasons}
    parts = {
        field.encode_name: _part(kind, read.sent.get(field.encode_name))
        for field, kind in _fields(read.body)
        if field.encode_name in names
    }
    return {name: part for name, part in parts.items() if part.items}


def _part(kind: shape.Type | None, sent: Any) -> _Part:
    if isinstance(sent, (list, dict)) and len(sent) > MOST_ITEMS:
        return _Part({})
    if isinstance(kind, shape.ListType) and isinstance(sent, list):
        places = [place for place, item in enumerate(sent) if _right(kind.item_type, item)]
        return _Part([sent[place] for place in places], places)
    if isinstance(kind, shape.DictType) and isinstance(sent, dict):
        return _Part({name: item for name, item in sent.items() if _right(kind.value_type, item)})
    return _Part({})


def _right(kind: shape.Type, item: Any) -> bool:
    return next(bodies.check(kind, item, ""), None) is None


def _as_sent(reason: Reason, parts: Mapping[str, _Part]) -> Reason:
    """Return the reason with the position at which its item was sent."""
    item = _ITEM.match(reason.field or "")
    if item is None or reason.head not in parts:
        return reason
    place = parts[reason.head].places[int(item[1])]
    return Reason(reason.reason, f"{reason.head}[{place}]{item.string[item.end() :]}")


def _remainder(read: bodies.Read[Body], wrong: Set[str], parts: Mapping[str, _Part]) -> Body | None:
    """A body of all that is right. What is wrong is blank, so that rules on what goes together see that it was sent."""
    values: dict[str, Any] = {}
    sent = read.sent | {name: part.items for name, part in parts.items()}
    for field, kind in _fields(read.body):
        name = field.encode_name
        if name in sent and name not in wrong:
            values[field.name] = msgspec.convert(sent[name], field.type)
        elif kind is not None and (field.required or name in sent):
            values[field.name] = _BLANKS[type(kind)]()
        elif field.required:
            return None
    return read.body(**values)


@cache
def _fields(body: type[Body]) -> list[tuple[msgspec.structs.FieldInfo, shape.Type | None]]:
    """Each field, and the type of what can stand in its place when it cannot be read."""
    info = shape.type_info(body)
    assert isinstance(info, shape.StructType)
    return list(zip(msgspec.structs.fields(body), (_blank(field.type) for field in info.fields), strict=True))


def _blank(kind: shape.Type) -> shape.Type | None:
    kind = bodies.bare(kind)
    if isinstance(kind, shape.UnionType):
        return next((blank for blank in map(_blank, kind.types) if blank is not None), None)
    return kind if type(kind) in _BLANKS else None
