"""From the path that a caller sends to the interface's own, aliases included."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote

from crofter.dialect.words import OWN, Words

ANY = "{}"
"""Any segment, of a path that has been taken apart."""


def taken_apart(path: str) -> list[str]:
    """Return the segments of a described path, with a placeholder for each parameter."""
    return [ANY if segment.startswith("{") else segment for segment in path.strip("/").split("/")]


class _Node:
    __slots__ = ("children", "is_rest", "name", "target")

    def __init__(self, name: str = "") -> None:
        self.name = name
        """Name of the segment in the interface."""
        self.children: dict[str, _Node] = {}
        self.is_rest = False
        """True if an id with slashes follows, which may begin with a word of the interface."""
        self.target: list[str] | None = None
        """Segments of the path that an alias replaces."""


class Paths:
    """Paths of the interface, in the words of the dialect."""

    def __init__(self, templates: Iterable[str], words: Words | None) -> None:
        self._words = words
        self._root = _Node()
        self._aliases: tuple[str, ...] = ()
        """Common beginnings of the aliased paths."""
        front = "" if words is None else words.word
        self._front, self._own_front = f"/v4/{front}/", f"/v4/{OWN}/"
        for template in templates:
            self._add(template)

    def _add(self, template: str) -> None:
        node = self._root
        for segment in template.strip("/").split("/"):
            if segment.endswith(":path}"):
                node.is_rest = True
                return
            name = ANY if segment.startswith("{") else segment
            called = name if self._words is None else self._words.outward(name)
            node = node.children.setdefault(called, _Node(name))

    def alias(self, path: str, to: str) -> None:
        """Let a path that callers send, and all below it, lead to one of the interface's own."""
        self._aliases += (path.partition("{")[0],)
        node = self._root
        for segment in taken_apart(path):
            node = node.children.setdefault(segment, _Node(segment))
        node.target = taken_apart(to)
        reached = self._root
        for name in node.target:
            reached = next(child for child in reached.children.values() if child.name == name)
        node.children = reached.children
        node.is_rest = reached.is_rest

    def leads_somewhere(self, path: str) -> bool:
        """True if the interface has an endpoint at this path or below."""
        node: _Node | None = self._root
        for name in taken_apart(path):
            node = next((child for child in node.children.values() if child.name == name), None) if node else None
        return node is not None

    def hides(self, path: str) -> bool:
        """True if a path, or one below, is routed without an alias for the path."""
        nodes = [self._root]
        for segment in taken_apart(path):
            if any(node.is_rest for node in nodes):
                return True
            nodes = [node.children[name] for node in nodes for name in _matching(node, segment)]
        return bool(nodes)

    def own(self, raw: bytes) -> bytes:
        """The path in the interface's own words; one that leads nowhere leads nowhere still."""
        sent = raw.decode("latin-1")
        aliased = sent.startswith(self._aliases) if self._aliases else False
        if not aliased and "%" not in sent:
            if (words := self._words) is None:
                return raw
            # Most paths have the word once, and there.
            rest = sent.removeprefix(self._front)
            if not (OWN in rest or words.word in rest):
                return raw if len(rest) == len(sent) else (self._own_front + rest).encode("latin-1")
        segments = sent[1:].split("/")
        return self._walked(segments).encode("latin-1") if unquote(segments[0]) in self._root.children else raw

    def _walked(self, segments: list[str]) -> str:
        node, written = self._root, [""]
        values: list[str] = []
        last = len(segments) - 1
        for place, segment in enumerate(segments):
            plain = unquote(segment) if "%" in segment else segment
            child = node.children.get(plain) if plain != ANY else None
            if child is not None:
                written.append(child.name)
            elif not plain and place in (1, last):
                written.append(segment)
                continue
            elif plain and (child := node.children.get(ANY)) is not None:
                written.append(segment)
                values.append(segment)
            else:
                return "/".join((*written, *self._rest(node, segments[place:])))
            node = child
            if node.target is not None:
                filled = iter(values)
                written = ["", *(next(filled) if name == ANY else name for name in node.target)]
        return "/".join(written)

    def _rest(self, node: _Node, segments: list[str]) -> list[str]:
        """Return the remaining segments unchanged: an id with slashes, or an unknown path."""
        if self._words is None:
            return segments
        plain = "/".join(unquote(segment) for segment in segments)
        changed = self._words.inward(plain) if node.is_rest else self._words.outward(plain)
        return segments if changed == plain else quote(changed).split("/")


def _matching(node: _Node, segment: str) -> list[str]:
    if segment == ANY:
        return list(node.children)
    return [name for name in (segment, ANY) if name in node.children]
