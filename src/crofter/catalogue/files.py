"""Reading of catalogue files. All problems are reported together."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from crofter.catalogue.table import CatalogueTable, Entry

BUILT_IN = Path(__file__).parent


class CatalogueError(Exception):
    """The catalogue cannot be used. The text says which file, which entry, and why; one line for each problem."""


def read(targets: Sequence[CatalogueTable], folder: str | None) -> list[list[Entry]]:
    """The entries of each catalogue table: from the operator's folder where it has the file, else the built-in ones."""
    problems = [] if folder is None else _folder_problems(Path(folder), targets)
    entries: list[list[Entry]] = []
    for target in targets:
        own = Path(folder) / target.file if folder is not None else None
        path = own if own is not None and own.exists() else BUILT_IN / target.file
        read, wrong = _entries(target, path)
        entries.append(read)
        problems += [f"{path}: {problem}" for problem in wrong]
    if problems:
        raise CatalogueError("\n".join(problems))
    return entries


def _folder_problems(folder: Path, targets: Sequence[CatalogueTable]) -> list[str]:
    """A folder that is not there, or a misspelt file, would silently leave the built-in catalogue in force."""
    if not folder.is_dir():
        return [f"{folder}: the catalogue folder is not there"]
    known = [target.file for target in targets]
    strays = sorted(path.name for path in folder.glob("*.toml") if path.name not in known)
    return [f"{folder / stray}: no catalogue file has this name; there are {', '.join(known)}" for stray in strays]


def parsed(text: str) -> dict[str, Any]:
    """With decimals, since prices are meant to the last digit."""
    return tomllib.loads(text, parse_float=Decimal)


Read = tuple[list[Entry], list[str]]
"""Entries and the problems found in them."""


def _entries(target: CatalogueTable, path: Path) -> Read:
    try:
        return _entries_of(target, path.read_text(encoding="utf-8"))
    except OSError as error:
        return [], [f"cannot be read: {error.strerror}"]
    except UnicodeDecodeError as error:
        return [], [f"is not TOML: {error}"]


@lru_cache(maxsize=16)
def _entries_of(target: CatalogueTable, text: str) -> Read:
    """Kept, since every reset of a sandbox reads the same text again."""
    try:
        document = parsed(text)
    except tomllib.TOMLDecodeError as error:
        return [], [f"is not TOML: {error}"]
    except RecursionError:
        return [], ["is not TOML: nested too deep"]
    problems: list[str] = []
    strays = sorted(set(document) - {target.name})
    if strays:
        problems.append(f"holds {', '.join(strays)}, which means nothing here; entries stand under [[{target.name}]]")
    listed = document.get(target.name, [])
    if not isinstance(listed, list) or not (listed or target.may_be_empty):
        problems.append(f"has no entries; each stands under [[{target.name}]]")
        return [], problems
    entries = _converted(target, listed, problems)
    if not problems:
        problems += target.problems(entries)
    return sorted(entries, key=target.order) if target.order else entries, problems


def _converted(target: CatalogueTable, listed: list[Any], problems: list[str]) -> list[Entry]:
    entries: list[Entry] = []
    seen: set[str] = set()
    for number, sent in enumerate(listed, 1):
        try:
            entry = msgspec.convert(sent, target.entry)
        except (msgspec.ValidationError, ValueError) as error:
            problems.append(f"{_called(sent, number)}: {_reason(error)}")
            continue
        if entry.id in seen:
            problems.append(f"{_called(sent, number)}: another entry has the same id")
        seen.add(entry.id)
        entries.append(entry)
    return entries


def _called(sent: Any, number: int) -> str:
    name = sent.get("id") if isinstance(sent, dict) else None
    return f"entry {number} ({name})" if isinstance(name, str) and name.isprintable() else f"entry {number}"


_PLAINER = {
    "Object missing required field": "lacks",
    "Object contains unknown field": "has no",
    "Expected": "expected",
    "Invalid": "invalid",
}


def _reason(error: Exception) -> str:
    """``vcpus: expected `int`, got `str```: the field first, as an operator looks for it."""
    text, _, where = str(error).partition(" - at `$")
    for start, plainer in _PLAINER.items():
        if text.startswith(start):
            text = plainer + text.removeprefix(start)
    where = where.strip("`.")
    return f"{where}: {text}" if where else text
