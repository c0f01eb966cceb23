"""Saying everything at once: what the rules find amiss with the part of a body that can be read."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect as shape

from crofter.edge import bodies
from crofter.errors import Invalid, Problem
from crofter.shapes import Body

_BLANKS: dict[type[shape.Type], Callable[[], Any]] = {
    shape.StrType: str,
    shape.IntType: int,
    shape.ListType: list,
    shape.DictType: dict,
}


def all_reasons(read: bodies.Read[Body], problem: Invalid, attempt: Callable[[Body], object]) -> Invalid:
    """The problem, with what the handler says to the rest of the body.

    The handler is really run, on a body of which only the right part was sent. That is safe, since a refusal
    ends the transaction and leaves nothing of it behind; and it needs no second form of any rule.
    """
    wrong = {reason.head for reason in problem.reasons}
    rest = _remainder(read, wrong)
    if rest is None:
        return problem
    try:
        attempt(rest)
    except Problem as more:
        found = [reason for reason in more.reasons if reason.field is not None and reason.head not in wrong]
        if isinstance(more, Invalid) and found:
            return Invalid.all(read.in_order([*problem.reasons, *found]))
    except Exception:
        pass  # no rule expects a body with blanks; what is known to be wrong is said in any case
    return problem


def _remainder(read: bodies.Read[Body], wrong: Set[str]) -> Body | None:
    """A body of all that is right. What is wrong is blank, so that rules on what goes together see that it was sent."""
    values: dict[str, Any] = {}
    for field, blank in _fields(read.body):
        name = field.encode_name
        if name in read.sent and name not in wrong:
            values[field.name] = msgspec.convert(read.sent[name], field.type)
        elif blank is not None and (field.required or name in read.sent):
            values[field.name] = blank()
        elif field.required:
            return None
    return read.body(**values)


@cache
def _fields(body: type[Body]) -> list[tuple[msgspec.structs.FieldInfo, Callable[[], Any] | None]]:
    """Each field, and what makes something to stand in its place when it cannot be read."""
    info = shape.type_info(body)
    assert isinstance(info, shape.StructType)
    return list(zip(msgspec.structs.fields(body), (_blank(field.type) for field in info.fields), strict=True))


def _blank(kind: shape.Type) -> Callable[[], Any] | None:
    kind = bodies.bare(kind)
    if isinstance(kind, shape.UnionType):
        return next((made for made in map(_blank, kind.types) if made is not None), None)
    return _BLANKS.get(type(kind))
