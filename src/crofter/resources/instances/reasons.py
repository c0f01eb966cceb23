"""Refusing a body for everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crofter.errors import Invalid, Reason
from crofter.shapes import Body


def refuse(body: Body, reasons: Iterable[Reason], further: Callable[[], Iterable[Reason]] = tuple[Reason, ...]) -> None:
    """Refuse for all these reasons at once, in the order of the body's fields, if there are any.

    Then for the ``further`` ones too, which are looked for only then.
    """
    wrong = list(reasons)
    if wrong:
        wrong += further()
        positions = {name: position for position, name in enumerate(body.__struct_fields__)}
        raise Invalid.all(sorted(wrong, key=lambda reason: positions.get(reason.head, -1)))
