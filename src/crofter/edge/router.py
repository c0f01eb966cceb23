"""From a path to an endpoint: a tree of segments, the same cost for the last route as for the first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from crofter.edge.endpoint import Endpoint

INT64 = 2**63


class Node:
    __slots__ = ("children", "endpoints", "parameter", "rest")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.parameter: Node | None = None
        self.rest: Node | None = None
        """A parameter that may hold slashes, such as the id of an image."""
        self.endpoints: dict[str, Endpoint] = {}


class Match:
    __slots__ = ("allowed", "endpoint", "values")

    def __init__(self, endpoint: Endpoint | None, values: dict[str, Any], allowed: tuple[str, ...]) -> None:
        self.endpoint = endpoint
        self.values = values
        self.allowed = allowed


class Router:
    """Every operation under ``/v4`` and ``/v4beta``; those in beta under ``/v4beta`` only."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._roots = {"v4": Node(), "v4beta": Node()}
        for endpoint in endpoints:
            for version, root in self._roots.items():
                if version == "v4beta" or not endpoint.beta:
                    self._add(root, endpoint)

    def _add(self, node: Node, endpoint: Endpoint) -> None:
        for segment in endpoint.path.split("/"):
            if segment.startswith("{") and segment.endswith(":path}"):
                node.rest = node = node.rest or Node()
            elif segment.startswith("{"):
                node.parameter = node = node.parameter or Node()
            else:
                node = node.children.setdefault(segment, Node())
        if endpoint.method in node.endpoints:
            raise TypeError(f"{endpoint.method} {endpoint.path} is declared twice")
        node.endpoints[endpoint.method] = endpoint

    def match(self, method: str, raw_path: bytes) -> Match | None:
        """The endpoint of a path; without one but with ``allowed``, the method is wrong; None: no such path."""
        version, *segments = raw_path.decode("latin-1").removeprefix("/").split("/")
        root = self._roots.get(version) if raw_path.startswith(b"/") else None
        if root is None:
            return None
        if segments and not segments[-1]:
            segments.pop()  # a single trailing slash
        if segments and not segments[0]:
            segments = segments[1:]  # a doubled slash after the version
        try:
            parts = [unquote_to_bytes(part).decode() if "%" in part else part for part in segments]
        except UnicodeDecodeError:
            return None
        reached = self._walk(root, parts, 0, [])
        if reached is None:
            return None
        node, texts = reached
        endpoint = node.endpoints.get("GET" if method == "HEAD" else method)
        if endpoint is None:
            return Match(None, {}, _allowed(node))
        values = _values(endpoint, texts)
        return None if values is None else Match(endpoint, values, ())

    def serves(self, method: str, path: str) -> bool:
        """True if an operation of the interface has this method and path."""
        match = self.match(method, path.encode("latin-1", "replace"))
        return match is not None and match.endpoint is not None

    def _walk(self, node: Node, parts: list[str], position: int, texts: list[str]) -> tuple[Node, list[str]] | None:
        if position == len(parts):
            return (node, texts) if node.endpoints else None
        part = parts[position]
        child = node.children.get(part)
        if child is not None and (reached := self._walk(child, parts, position + 1, texts)):
            return reached
        if node.parameter is not None and part:
            reached = self._walk(node.parameter, parts, position + 1, [*texts, part])
            if reached:
                return reached
        if node.rest is not None and part:
            return node.rest, [*texts, "/".join(parts[position:])]
        return None


def _values(endpoint: Endpoint, texts: list[str]) -> dict[str, Any] | None:
    """The parts of the path in their types; an id that cannot be one names nothing."""
    values: dict[str, Any] = {}
    for (name, kind), part in zip(endpoint.parts.items(), texts, strict=True):
        if kind is int:
            if not (part.isascii() and part.isdigit() and len(part) < 20):
                return None
            number = int(part)
            if number >= INT64:
                return None
            values[name] = number
        elif "\x00" in part:
            return None
        else:
            values[name] = part
    return values


def _allowed(node: Node) -> tuple[str, ...]:
    methods = set(node.endpoints) | {"OPTIONS"}
    if "GET" in methods:
        methods.add("HEAD")
    return tuple(sorted(methods))
