"""Rules for answers: what other versions of the family show, and this one does not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

EVERY = "[]"
OBJECT, LIST = b"{["
_STEP = re.compile(r"([A-Za-z0-9_-]+)((?:\[\])*)")
_objects = msgspec.json.Decoder(dict[str, Raw])
_lists = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.Encoder().encode


class Rule(Struct, frozen=True):
    """An entry of ``[[answers]]``."""

    field: tuple[str, ...]
    """Path of the field in the response."""
    own: tuple[str, ...]
    """In the interface's own words."""
    does: Literal["add", "list", "while"]
    value: Raw = Raw(b"null")
    action: str = ""


def steps(field: str) -> tuple[str, ...] | None:
    """``data[].ipv6`` as names and ``[]``; None if it is no field."""
    taken: list[str] = []
    for part in field.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            return None
        taken += [match[1], *[EVERY] * match[2].count(EVERY)]
    return tuple(taken) if taken[-1] != EVERY else None


class Tree:
    """The rules of one endpoint by the fields that they are about, so that each object is read once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.actions = tuple(dict.fromkeys(rule.action for rule in rules if rule.action))
        always = [rule for rule in rules if rule.does != "while"]
        self._idle = Tree(always) if always and self.actions else None
        """The other rules, for when nothing is under way: objects that only these rules are about are not read then."""
        self._root = _Branch()
        for rule in rules:
            branch = self._root
            for depth, name in enumerate(rule.field[:-1]):
                branch = branch.below.setdefault(name, _Branch())
                branch.made |= rule.does == "add" and EVERY not in rule.field[depth:]
            branch.rules.append(rule)

    def apply(self, body: bytes, path: str, under_way: Mapping[str, Set[str]]) -> bytes:
        """``path`` is that of the request; below it are the objects of a list, by their ids."""
        if self.actions and not under_way:
            return body if self._idle is None else self._idle.apply(body, path, under_way)
        return bytes(self._root.apply(Raw(body), _Place(path, under_way)))


class _Place:
    """Position of the current object."""

    __slots__ = ("address", "path", "under_way")

    def __init__(self, path: str, under_way: Mapping[str, Set[str]]) -> None:
        self.path = self.address = path
        self.under_way = under_way

    def enter(self, fields: Mapping[str, Raw]) -> _Place:
        if "id" not in fields:
            return self
        number = bytes(fields["id"]).decode().strip('"')
        inner = _Place(self.path, self.under_way)
        inner.address = self.path if self.path.endswith(f"/{number}") else f"{self.path}/{number}"
        return inner


class _Branch:
    """Changes of the rules to the fields of an object and of its children."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.below: dict[str, _Branch] = {}
        self.made = False
        """True if the rule creates a missing object."""

    def apply(self, value: Raw, place: _Place) -> Raw:
        if EVERY in self.below:
            return self._each(value, place)
        if memoryview(value)[0] != OBJECT:
            return value
        fields = _objects.decode(value)
        place = place.enter(fields)
        for name, branch in self.below.items():
            if name in fields or branch.made:
                fields[name] = branch.apply(fields.get(name, Raw(b"{}")), place)
        for rule in self.rules:
            _apply(rule, fields, place)
        return Raw(_encode(fields))

    def _each(self, value: Raw, place: _Place) -> Raw:
        if memoryview(value)[0] != LIST:
            return value
        inner = self.below[EVERY]
        return Raw(_encode([inner.apply(item, place) for item in _lists.decode(value)]))


def _apply(rule: Rule, fields: dict[str, Any], place: _Place) -> None:
    name = rule.field[-1]
    if rule.does == "add":
        fields.setdefault(name, rule.value)
    elif name not in fields:
        return
    elif rule.does == "list":
        shown = bytes(fields[name])
        if not shown.startswith(b"["):
            fields[name] = Raw(b"[]" if shown == b"null" else b"[" + shown + b"]")
    elif place.address in place.under_way.get(rule.action, ()):
        fields[name] = rule.value
