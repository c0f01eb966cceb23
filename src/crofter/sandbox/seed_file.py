"""Reading a seed: accounts and what they have, as YAML or JSON, with the line where each thing begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from crofter.sandbox.seed import SeedAccount, SeedBody, SeedError
from crofter.sandbox.shapes import NewAccount

_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("bool", "int", "float", "null")}
"""YAML types of unquoted scalars that are not strings. A date stays a string, as in JSON."""


def read(file: str, resources: set[str]) -> list[SeedAccount]:
    """The accounts in the order of the file, or SeedError. ``resources``: what lists may be called."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SeedError(file, 1, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if text.lstrip().startswith(("{", "[")):
        text = text.replace("\t", " ")  # JSON may be indented so, and has none inside its texts
    try:
        return _Reader(file, text, resources).accounts()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = getattr(error, "problem", None) or "it is neither YAML nor JSON"
        raise SeedError(file, mark.line + 1 if mark else 1, str(reason)) from error
    except RecursionError as error:
        raise SeedError(file, 1, "it is nested too deeply") from error


class _Reader:
    def __init__(self, file: str, text: str, resources: set[str]) -> None:
        self._file = file
        self._resources = resources
        self._loader = yaml.SafeLoader(text)

    def accounts(self) -> list[SeedAccount]:
        top = self._loader.get_single_node()
        if top is None:
            raise SeedError(self._file, 1, "it must be a mapping with accounts")
        accounts: list[SeedAccount] = []
        for key, value in self._pairs(top, "it must be a mapping with accounts"):
            if key.value != "accounts":
                raise self._wrong(key, f"there is nothing called {key.value}; there is: accounts")
            accounts = [self._account(node) for node in self._items(value, "accounts must be a list")]
        return accounts

    def _account(self, node: Any) -> SeedAccount:
        fields: dict[str, Any] = {}
        bodies: list[SeedBody] = []
        for key, value in self._pairs(node, "an account must be a mapping"):
            name = str(key.value)
            if name in NewAccount.__struct_fields__:
                fields[name] = self._value(value)
                continue
            resource = name.replace("_", "-")
            if resource not in self._resources:
                words = ", ".join([*NewAccount.__struct_fields__, *sorted(self._resources)])
                raise self._wrong(key, f"an account has nothing called {name}; there is: {words}")
            for item in self._items(value, f"{name} must be a list"):
                if not isinstance(item, yaml.MappingNode):
                    raise self._wrong(item, f"each of {name} must be a mapping")
                bodies.append(SeedBody(_line(item), resource, self._value(item)))
        return SeedAccount(_line(node), fields, bodies)

    def _pairs(self, node: Any, otherwise: str) -> list[tuple[Any, Any]]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(node, otherwise)
        self._loader.flatten_mapping(node)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._wrong(key, "a key must be a text")
            if key.value in seen:
                raise self._wrong(key, f"{key.value} is there twice")
            seen.add(key.value)
        return list(node.value)

    def _items(self, node: Any, otherwise: str) -> list[Any]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._wrong(node, otherwise)
        return list(node.value)

    def _value(self, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return {_whole(key.value): self._value(value) for key, value in self._pairs(node, "")}
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item) for item in node.value]
        return self._loader.construct_object(node) if node.tag in _PLAIN else _whole(node.value)

    def _wrong(self, node: Any, reason: str) -> SeedError:
        return SeedError(self._file, _line(node), reason)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _whole(text: str) -> str:
    """JSON writes what is beyond 16 bits as two halves, which YAML takes for two characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
