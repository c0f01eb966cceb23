"""The commands that there are, from the file that is generated from the endpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crofter.client.exits import USAGE, Stop

Command = dict[str, Any]
FILE = Path(__file__).with_name("commands.json")


def load() -> list[Command]:
    commands: list[Command] = json.loads(FILE.read_text(encoding="utf-8"))
    return [*commands, *OWN]


OWN: list[Command] = [
    {
        "words": ["events", "wait"],
        "args": ["EVENT"],
        "own": "wait",
        "help": "Wait until events are over; several can be named.",
    },
]
"""Commands that are no operation of their own."""


def below(commands: list[Command], words: list[str]) -> list[str]:
    """The words that can come next, in the order of the file."""
    depth = len(words)
    words_below = [
        command["words"][depth]
        for command in commands
        if command["words"][:depth] == words and len(command["words"]) > depth
    ]
    return list(dict.fromkeys(words_below))


def find(commands: list[Command], arguments: list[str]) -> tuple[list[str], Command | None]:
    """Return the leading words that name a group or a command, and the command if there is one."""
    words: list[str] = []
    for word in arguments:
        nearer = [command for command in commands if command["words"][: len(words) + 1] == [*words, word]]
        if not nearer:
            break
        words.append(word)
        if len(nearer) == 1 and nearer[0]["words"] == words:
            return words, nearer[0]
    return words, None


def unknown(word: str, known: list[str], before: list[str]) -> Stop:
    """Return the error for an unknown command, with the closest known name."""
    import difflib  # noqa: PLC0415 - half of the time that --help takes

    near = difflib.get_close_matches(word, known, 1, 0.5) or [name for name in known if name.startswith(word)][:1]
    meant = f"; did you mean {' '.join(['crofter', *before, near[0]])}?" if near else ""
    return Stop(USAGE, f"there is no command {' '.join([*before, word])!r}{meant}")


def item_path(commands: list[Command], created: Command) -> str | None:
    """Where the object is that a command has created, without the part that names it."""
    views = (
        command
        for command in commands
        if command.get("method") == "GET" and command["path"].count("{") == len(command["args"])
    )
    for view in views:
        parent, _, last = view["path"].rpartition("/")
        if parent == created["path"] and last.startswith("{"):
            return str(parent)
    return None
