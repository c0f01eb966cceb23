"""Shapes of JSON by type: which strings in it are words of the interface."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

from crofter.shapes import WordMark

NOTHING = WordMark()


class Shape:
    """A value of some type. What has no shape is what people wrote, and left as it is."""

    __slots__ = ("fields", "item", "mark", "names")

    def __init__(self, mark: WordMark | None = None, item: Shape | None = None, *, names: bool = False) -> None:
        self.mark = mark
        """Where words of the interface are, if it is a text."""
        self.item = item
        """Each item of a list, or each value under a key that is free."""
        self.names = names
        """True if the keys are names of the interface."""
        self.fields: dict[str, Shape | None] = {}

    def child(self, name: str) -> Shape | None:
        return self.fields.get(name) if self.names else self.item

    def walk(self, seen: set[int] | None = None) -> Iterator[tuple[str, Shape | None]]:
        """Yield every nested field with its name."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        for name, shape in self.fields.items():
            yield name, shape
            if shape is not None:
                yield from shape.walk(seen)
        if self.item is not None:
            yield from self.item.walk(seen)


class Reader:
    """Reads types into shapes. ``anything``: what stands where a type says ``Any`` and means an object."""

    def __init__(self, anything: Iterable[Any] = ()) -> None:
        self._structs: dict[type, Shape] = {}
        self._anything = tuple(anything)

    def of(self, *annotations: Any) -> Shape | None:
        """Return the shape of a union of types."""
        read = Shape(names=True)
        for info in (info for annotation in annotations for info in plain_types(annotation)):
            shape = self._read(info, None)
            if shape is not None and not shape.names:
                return shape
            if shape is not None:
                read.fields |= shape.fields
        return read if read.fields else None

    def _read(self, info: inspect.Type, mark: WordMark | None) -> Shape | None:
        if isinstance(info, inspect.Metadata):
            return self._read(info.type, (info.extra or {}).get("word", mark))
        if isinstance(info, inspect.StructType):
            return self._struct(info)
        if isinstance(info, (inspect.ListType, inspect.SetType, inspect.VarTupleType)):
            item = self._read(info.item_type, mark)
            return Shape(mark, item) if item is not None else None
        if isinstance(info, inspect.DictType):
            value = self._read(info.value_type, None)
            return Shape(item=value) if value is not None else None
        if isinstance(info, inspect.UnionType):
            return self._union(info, mark)
        if isinstance(info, inspect.LiteralType):
            return Shape(WordMark(anywhere=True)) if any("ompute" in str(value) for value in info.values) else None
        return Shape(mark) if isinstance(info, (inspect.StrType, inspect.RawType)) and mark is not None else None

    def _union(self, info: inspect.UnionType, mark: WordMark | None) -> Shape | None:
        shapes = [shape for option in info.types if (shape := self._read(option, mark)) is not None]
        return shapes[0] if shapes else None

    def _struct(self, info: inspect.StructType) -> Shape:
        known = self._structs.get(info.cls)
        if known is None:
            known = self._structs[info.cls] = Shape(names=True)
            for field in info.fields:
                free = isinstance(field.type, inspect.AnyType)
                known.fields[field.encode_name] = (
                    self.of(*self._anything) if free and self._anything else self._read(field.type, None)
                )
        return known


class FilterShape(Shape):
    """``X-Filter``: fields by their names, also dotted, and operators inside and around them."""

    __slots__ = ()

    def __init__(self, item: Shape | None) -> None:
        super().__init__(names=True)
        self.item = self
        for name, shape in _dotted(item):
            self.fields[name] = None if shape is None or shape.mark is None else Operand(shape.mark)
        self.fields |= {"+and": self, "+or": self, "+order_by": Shape(WordMark(anywhere=True))}


class Operand(Shape):
    """The operand of a filter: a plain value, or operators with values."""

    __slots__ = ()

    def __init__(self, mark: WordMark) -> None:
        super().__init__(mark, self)


def _dotted(shape: Shape | None, before: str = "") -> Iterator[tuple[str, Shape | None]]:
    for name, inner in shape.fields.items() if shape is not None else ():
        yield before + name, inner
        if not before and inner is not None and inner.names:
            yield from _dotted(inner, f"{name}.")


def plain_types(annotation: Any) -> list[inspect.Type]:
    """Return the types of a body or response; several for a union."""
    if annotation is None or annotation is type(None):
        return []
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [info for option in typing.get_args(annotation) for info in plain_types(option)]
    return [inspect.type_info(annotation)]


def objects_at(annotation: Any, names: Iterable[str]) -> list[inspect.Type]:
    """Return the types at a path of fields. A list has the fields of its items."""
    reached = [part for info in plain_types(annotation) for part in _objects(info)]
    for name in names:
        if any(isinstance(part, (inspect.AnyType, inspect.DictType)) for part in reached):
            return reached
        inside = [part for part in reached if isinstance(part, inspect.StructType)]
        types_of = [field.type for part in inside for field in part.fields if field.encode_name == name]
        reached = [part for info in types_of for part in _objects(info)]
    return reached


def everything_in(annotation: Any) -> list[inspect.Type]:
    """Every type in an answer, however deep, that is no list and no union."""
    waiting, seen = [part for info in plain_types(annotation) for part in _objects(info)], set()
    for part in waiting:  # the list grows during the loop
        if isinstance(part, inspect.StructType) and part.cls not in seen:
            seen.add(part.cls)
            waiting += [inner for field in part.fields for inner in _objects(field.type)]
    return waiting


def _objects(info: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the types with fields: the type itself, or the types inside."""
    if isinstance(info, inspect.Metadata):
        yield from _objects(info.type)
    elif isinstance(info, (inspect.ListType, inspect.SetType, inspect.VarTupleType)):
        yield from _objects(info.item_type)
    elif isinstance(info, inspect.UnionType):
        for option in info.types:
            yield from _objects(option)
    else:
        yield info
