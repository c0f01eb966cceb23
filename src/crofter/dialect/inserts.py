"""Fields that are added to every object of a type, without reading the answer: what comes first in it marks each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from crofter.dialect.rules import EVERY, Rule
from crofter.dialect.shapes import everything_in, objects_at
from crofter.dialect.words import Words


class Inserts:
    """Of the rules that add a field, those which can be followed so; ``rest`` are all others."""

    def __init__(self, rules: Iterable[Rule], answers: Any, words: Words | None) -> None:
        self.rest: list[Rule] = []
        self._firsts = _unmistakable(answers)
        added: dict[bytes, list[bytes]] = {}
        for rule in rules:
            first = self._first(rule, answers) if not self.rest else None  # in the order of the file
            if first is None:
                self.rest.append(rule)
                continue
            shown = first if words is None else words.outward(first)
            field = msgspec.json.encode(rule.field[-1]) + b":" + bytes(rule.value)
            fields = added.setdefault(f'{{"{shown}":'.encode(), [])
            if not any(known.startswith(msgspec.json.encode(rule.field[-1]) + b":") for known in fields):
                fields.append(field)
        self._pairs = [(mark, b"{" + b",".join((*fields, mark[1:]))) for mark, fields in added.items()]

    def _first(self, rule: Rule, answers: Any) -> str | None:
        """The first field of the objects that a rule adds one to."""
        objects = objects_at(answers, [name for name in rule.own[:-1] if name != EVERY])
        if rule.does != "add" or len(objects) != 1 or not isinstance(objects[0], inspect.StructType):
            return None
        names = [field.encode_name for field in objects[0].fields]
        return names[0] if names[0] in self._firsts and rule.own[-1] not in names else None

    def apply(self, body: bytes) -> bytes:
        for mark, instead in self._pairs:
            body = body.replace(mark, instead)
        return body


def _unmistakable(answers: Any) -> set[str]:
    """The first fields of objects of one type in an answer, and of no other object in it."""
    parts = everything_in(answers)
    if any(isinstance(part, (inspect.AnyType, inspect.DictType)) for part in parts):
        return set()
    structs = {part.cls: part for part in parts if isinstance(part, inspect.StructType) and part.fields}
    firsts = [struct.fields[0].encode_name for struct in structs.values()]
    return {name for name in firsts if firsts.count(name) == 1}
