"""Reads the file of a dialect, and refuses one that could not be served as it is meant."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, cast

import msgspec
from msgspec import Raw, Struct

from crofter.dialect import DialectError
from crofter.dialect.lines import Lines
from crofter.dialect.paths import Paths, taken_apart
from crofter.dialect.rules import EVERY, Rule, steps
from crofter.dialect.shapes import objects_at
from crofter.dialect.vocabulary import vocabulary
from crofter.dialect.words import OWN, Words
from crofter.edge.endpoint import Endpoint

_WORD = re.compile(r"[a-z]{2,32}")
METHODS = ("GET", "POST", "PUT", "DELETE")


class Alias(NamedTuple):
    """A path that callers send, and the one of the interface that it stands for; both with the version."""

    path: str
    to: str


class Dialect(Struct):
    """A parsed dialect file, ready for use."""

    words: Words | None
    paths: Paths
    rules: dict[str, list[Rule]]
    """Rules by the names of the endpoints whose responses they change."""
    aliases: list[Alias] = []


def load(file: str, endpoints: Sequence[Endpoint]) -> Dialect:
    """The dialect of a file, or DialectError."""
    try:
        text = Path(file).read_text()
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else len(Path(file).read_text().splitlines())
        raise DialectError(f"{file}:{number}: not TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DialectError(f"{file}:1: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return _Checked(file, Lines(text), endpoints).dialect(document)


class _Checked:
    def __init__(self, file: str, lines: Lines, endpoints: Sequence[Endpoint]) -> None:
        self._file, self._lines, self._endpoints = file, lines, endpoints

    def _refuse(self, reason: str, *where: str | int) -> NoReturn:
        raise DialectError(f"{self._file}:{self._lines.of(*where)}: {reason}")

    def dialect(self, document: Mapping[str, Any]) -> Dialect:
        self._known(document, ("words", "answers", "aliases"))
        words = self._words(document.get("words", {}))
        paths = Paths(_templates(self._endpoints), words)
        rules: dict[str, list[Rule]] = {}
        added: set[tuple[str, tuple[str, ...]]] = set()
        for place, entry in enumerate(self._tables(document, "answers")):
            self._answer(entry, ("answers", place), words, rules, added)
        aliases: list[Alias] = []
        for place, entry in enumerate(self._tables(document, "aliases")):
            aliases += self._alias(entry, ("aliases", place), paths)
        return Dialect(words, paths, rules, aliases)

    def _known(self, entry: Mapping[str, Any], names: Sequence[str], *where: str | int) -> None:
        for name in entry:
            if name not in names:
                self._refuse(f"there is no {name} here, only {', '.join(names)}", *where, name)

    def _tables(self, document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
        entries = document.get(name, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self._refuse(f"{name} are tables, each under [[{name}]]", name)
        return entries

    def _text(self, entry: Mapping[str, Any], name: str, *where: str | int) -> str:
        value = entry.get(name)
        if not isinstance(value, str) or not value:
            self._refuse(f"{name} is missing" if value is None else f"{name} is a text", *where, name)
        return value

    def _words(self, table: Any) -> Words | None:
        if not isinstance(table, dict):
            self._refuse("words is a table, under [words]", "words")
        self._known(table, (OWN,), "words")
        if OWN not in table:
            return None
        word = self._text(table, OWN, "words")
        if not _WORD.fullmatch(word):
            self._refuse(f"a word has 2 to 32 small letters and nothing else, and {word!r} has not", "words", OWN)
        if word in (taken := vocabulary(self._endpoints)) or f"{word}s" in taken or f"{word}s" == OWN:
            self._refuse(f"{word!r} is a word of the interface already", "words", OWN)
        return Words(word)

    def _answer(
        self,
        entry: Mapping[str, Any],
        where: tuple[str, int],
        words: Words | None,
        rules: dict[str, list[Rule]],
        added: set[tuple[str, tuple[str, ...]]],
    ) -> None:
        self._known(entry, ("path", "method", "field", "add", "list", "while", "value"), *where)
        matching = self._matching(entry, where)
        field = self._text(entry, "field", *where)
        taken = steps(field)
        if taken is None:
            self._refuse(f"{field!r} is no field: names with dots between them, [] for every item", *where, "field")
        does = self._does(entry, where)
        known = [endpoint for endpoint in matching if does == "add" or _has(endpoint, taken, added)]
        if not known:
            self._refuse(f"no answer at this path has a field {field}", *where, "field")
        shown = tuple(name if words is None else words.outward(name) for name in taken)
        value = Raw(b"null") if does == "list" else self._value(entry, where, "add" if does == "add" else "value")
        for endpoint in known:
            added.add((endpoint.name, taken))
            rules.setdefault(endpoint.name, []).append(Rule(shown, taken, does, value, entry.get("while", "")))

    def _matching(self, entry: Mapping[str, Any], where: tuple[str, int]) -> list[Endpoint]:
        path = self._text(entry, "path", *where)
        method = entry.get("method")
        if method is not None and method not in METHODS:
            self._refuse(f"method is one of {', '.join(METHODS)}", *where, "method")
        pattern = "/".join(taken_apart(path))
        matching = [
            endpoint
            for endpoint in self._endpoints
            if method in (None, endpoint.method)
            and any(fnmatchcase("/".join(taken_apart(own)), pattern) for own in (*_addresses(endpoint), endpoint.path))
        ]
        if not matching:
            self._refuse(f"the interface has no {path}", *where, "path")
        return matching

    def _does(self, entry: Mapping[str, Any], where: tuple[str, int]) -> Literal["add", "list", "while"]:
        named = [name for name in ("add", "list", "while") if name in entry]
        if len(named) != 1:
            self._refuse("an answer has one of add, list and while", *where, *named[1:2])
        if named == ["list"] and entry["list"] is not True:
            self._refuse("list is true, or not there", *where, "list")
        if named == ["while"]:
            action = self._text(entry, "while", *where)
            if action not in {action for endpoint in self._endpoints for action in endpoint.events}:
                self._refuse(f"no event has the action {action}", *where, "while")
        if ("value" in entry) != (named == ["while"]):
            self._refuse("value and while go together", *where, "value")
        return cast("Literal['add', 'list', 'while']", named[0])

    def _value(self, entry: Mapping[str, Any], where: tuple[str, int], name: str) -> Raw:
        if _has_moments(entry[name]):
            self._refuse(f"{name} is JSON, which has no dates: write it as a text", *where, name)
        return Raw(msgspec.json.encode(entry[name]))

    def _alias(self, entry: Mapping[str, Any], where: tuple[str, int], paths: Paths) -> list[Alias]:
        self._known(entry, ("path", "to"), *where)
        path, to = self._text(entry, "path", *where), self._text(entry, "to", *where)
        for name, value in (("path", path), ("to", to)):
            if not re.fullmatch(r"(/([A-Za-z0-9._~-]+|\{[A-Za-z0-9_]+\}))+", value):
                self._refuse(f"{value!r} is no path", *where, name)
        if taken_apart(path).count("{}") != taken_apart(to).count("{}"):
            self._refuse("path and to have as many parameters as each other", *where, "path")
        # A path may be written without the version, as in the description; then the rule holds for both versions.
        versions = [""] if paths.leads_somewhere(to) else ["/v4", "/v4beta"]
        leading = [version for version in versions if paths.leads_somewhere(version + to)]
        if not leading:
            self._refuse(f"the interface has no {to}", *where, "to")
        for version in leading:
            if paths.hides(version + path) or taken_apart(version + path)[0] in MOUNTED:
                self._refuse(f"{path} is a path already, which the alias would hide", *where, "path")
            paths.alias(version + path, version + to)
        return [Alias(version + path, version + to) for version in leading]


MOUNTED = (
    *("health", "version", "metrics", "openapi.json", "docs", "console", "login", "oauth", ".well-known"),
    *("uploads", "lish", "_sandbox", "{}", "favicon.ico", ""),
)
"""Other served paths: health checks, the login service and similar."""


def _addresses(endpoint: Endpoint) -> list[str]:
    versions = ("v4beta",) if endpoint.beta else ("v4", "v4beta")
    return [f"/{version}/{endpoint.path}" for version in versions]


def _templates(endpoints: Sequence[Endpoint]) -> list[str]:
    return [address for endpoint in endpoints for address in _addresses(endpoint)]


def _has(endpoint: Endpoint, field: tuple[str, ...], added: set[tuple[str, tuple[str, ...]]]) -> bool:
    """True if the response has the field, or a rule added the field or a parent of it before."""
    if any((endpoint.name, field[:end]) in added for end in range(1, len(field) + 1)):
        return True
    return bool(objects_at(endpoint.answers, [name for name in field if name != EVERY]))


def _has_moments(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_moments(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_has_moments(inner) for inner in value)
    return isinstance(value, (date, datetime, time))
