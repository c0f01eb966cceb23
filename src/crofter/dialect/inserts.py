"""Fields that are added to every object of a type, without reading the answer: what comes first in it marks each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from crofter.dialect.rules import EVERY, Rule
from crofter.dialect.shapes import everything_in, objects_at
from crofter.dialect.words import Words


class Inserts:
    """Rules that add a field and can be applied by position; ``rest`` holds the other rules."""

    def __init__(self, rules: Iterable[Rule], answers: Any, words: Words | None) -> None:
        self.rest: list[Rule] = []
        self._firsts = _unmistakable(answers)
        added: dict[bytes, dict[str, Any]] = {}
        for rule in rules:
            place = self._place(rule, answers) if self._commutes(rule) else None
            if place is None:
                self.rest.append(rule)
                continue
            first, depth = place
            shown = first if words is None else words.outward(first)
            _add(added.setdefault(f'{{"{shown}":'.encode(), {}), rule.field[depth:], msgspec.json.decode(rule.value))
        self._pairs = [(mark, msgspec.json.encode(fields)[:-1] + b"," + mark[1:]) for mark, fields in added.items()]

    def _commutes(self, rule: Rule) -> bool:
        """True if no rule before, which is followed after the inserts, is about the same field or what is in it."""
        return all(any(map(str.__ne__, rule.field, other.field)) for other in self.rest)

    def _place(self, rule: Rule, answers: Any) -> tuple[str, int] | None:
        """The first field of the objects that a rule adds to, and where in ``rule.field`` the name that it adds is."""
        if rule.does != "add":
            return None
        objects: list[inspect.Type] = []
        depth = len(rule.own)
        while not objects and depth and rule.own[depth - 1] != EVERY:
            depth -= 1
            objects = objects_at(answers, [name for name in rule.own[:depth] if name != EVERY])
        if len(objects) != 1 or not isinstance(objects[0], inspect.StructType):
            return None
        names = [field.encode_name for field in objects[0].fields]
        return (names[0], depth) if names[0] in self._firsts and rule.own[depth] not in names else None

    def apply(self, body: bytes) -> bytes:
        for mark, instead in self._pairs:
            body = body.replace(mark, instead)
        return body


def _add(fields: dict[str, Any], names: Sequence[str], value: Any) -> None:
    """Add a value where none is, and the objects on the way to it."""
    *outer, last = names
    for name in outer:
        fields = fields.setdefault(name, {})
        if not isinstance(fields, dict):
            return
    fields.setdefault(last, value)


def _unmistakable(answers: Any) -> set[str]:
    """The first fields of objects of one type in an answer, and of no other object in it."""
    parts = everything_in(answers)
    if any(isinstance(part, (inspect.AnyType, inspect.DictType)) for part in parts):
        return set()
    structs = {part.cls: part for part in parts if isinstance(part, inspect.StructType) and part.fields}
    firsts = [struct.fields[0].encode_name for struct in structs.values()]
    return {name for name in firsts if firsts.count(name) == 1}
