"""From the record of a command to the flags that it takes, and from flags to a request."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from crofter.client import paging
from crofter.client.exits import USAGE, Stop
from crofter.client.formats import FORMS
from crofter.client.tree import Command

GENERAL = frozenset(
    "all ca columns data desc file filter filter-json help idempotency-key limit null order-by output page page-size "
    "plan profile to url wait wait-timeout".split()
)
"""Flags that mean the same everywhere. A field of that name is given as ``--field-NAME``, or in ``--data``."""
WAIT_SECONDS = 600


def parser_of(command: Command) -> argparse.ArgumentParser:
    words = command["help"] + (f"\n\n{command['more']}" if command.get("more") else "")
    built = argparse.ArgumentParser(
        prog=" ".join(["crofter", *command["words"]]),
        usage=_plain(" ".join(["crofter", *command["words"], *command["args"], "[FLAGS]"])),
        description=_plain(words),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for at, name in enumerate(command["args"]):
        several = "+" if command.get("own") else None
        built.add_argument(f"arg{at}", metavar=name, nargs=several)
    _add_fields(built, command)
    _add_listing(built, command)
    _add_sending(built, command)
    _add_general(built, file=command.get("answer") == "file")
    return built


def flag_of(name: str) -> str:
    """``--root-pass`` for ``root_pass``, ``--alerts.cpu`` for a field of a field."""
    spelled = name.replace("_", "-").lower() if name.islower() else name.replace("_", "-")
    return f"--field-{spelled}" if spelled in GENERAL else f"--{spelled}"


def _plain(text: str) -> str:
    return text.replace("``", "").replace("`", "").replace("%", "%%")


def _add_fields(built: argparse.ArgumentParser, command: Command) -> None:
    fields = built.add_argument_group("fields") if command.get("fields") else built
    for field in command.get("fields", ()):
        notes = [field.get("help", "")]
        if field.get("required"):
            notes.append("Required.")
        if field.get("choices"):
            notes.append(f"One of {', '.join(map(str, field['choices']))}.")
        if field.get("many"):
            notes.append("Can be given several times.")
        _add_field(fields, field, _plain(" ".join(filter(None, notes))))
    for parameter in command.get("query", ()):
        built.add_argument(
            flag_of(parameter["name"]),
            dest=f"query:{parameter['name']}",
            type=_READERS[parameter["type"]],
            metavar=_METAVARS[parameter["type"]],
            help=_plain(parameter.get("help", "")),
        )
    if command.get("file"):
        built.add_argument("--file", required=True, metavar="PATH", help=f"what to send ({', '.join(command['file'])})")


def _add_field(group: Any, field: dict[str, Any], words: str) -> None:
    flag, dest, kind = flag_of(field["name"]), f"field:{field['name']}", field["type"]
    if kind == "bool" and not field.get("many"):
        group.add_argument(flag, dest=dest, action=argparse.BooleanOptionalAction, default=None, help=words)
        return
    action = "append" if field.get("many") else "store"
    group.add_argument(flag, dest=dest, action=action, type=_READERS[kind], metavar=_METAVARS[kind], help=words)


def _add_listing(built: argparse.ArgumentParser, command: Command) -> None:
    if not command.get("list"):
        return
    group = built.add_argument_group("which items")
    paging.add_flags(group)
    if known := command.get("filters"):
        words = f"FIELD=VALUE, also with != < <= > >= and ~= (contains). Fields: {', '.join(known)}."
        group.add_argument("--filter", action="append", default=[], metavar="TERM", help=words)
        group.add_argument("--filter-json", type=_json, metavar="JSON", help="a whole X-Filter")
        group.add_argument("--order-by", metavar="FIELD", help="in this order")
        group.add_argument("--desc", action="store_true", help="and from the greatest to the least")


def _add_sending(built: argparse.ArgumentParser, command: Command) -> None:
    group = built.add_argument_group("how it is done")
    if command.get("body"):
        group.add_argument(
            "--data", type=_json, metavar="JSON", help="the body as JSON, @FILE, or - for standard input"
        )
        group.add_argument("--null", action="append", default=[], metavar="FIELD", help="send null for this field")
    if command.get("method", "GET") != "GET":
        group.add_argument("--plan", action="store_true", help="only say what would be done, and what it would cost")
    if command.get("key"):
        group.add_argument(
            "--idempotency-key", metavar="KEY", help="do it once, however often it is sent with this key"
        )
    if command.get("events"):
        words = "wait until it is done (the default on a terminal)"
        group.add_argument("--wait", action=argparse.BooleanOptionalAction, default=None, help=words)
    if command.get("events") or command.get("own"):
        words = f"seconds to wait at most ({WAIT_SECONDS})"
        group.add_argument("--wait-timeout", type=float, default=WAIT_SECONDS, metavar="SECONDS", help=words)


def _add_general(built: argparse.ArgumentParser, *, file: bool) -> None:
    group = built.add_argument_group("everywhere")
    if file:
        group.add_argument("--to", metavar="PATH", help="file to write; else standard output")
    else:
        group.add_argument("-o", "--output", choices=FORMS, help="form of the answer (table)")
        group.add_argument("--columns", metavar="A,B", help="which fields a table or CSV shows")
    add_place(group)


def add_place(group: Any) -> None:
    group.add_argument("--url", help="address of the cloud ($CROFTER_URL)")
    group.add_argument("--profile", metavar="NAME", help="a profile of the settings file ($CROFTER_PROFILE)")
    group.add_argument("--ca", metavar="PATH", help="certificates that are trusted ($CROFTER_CA)")


# ---- values ---------------------------------------------------------------------------------------------------------


def _json(text: str) -> Any:
    """Parse JSON, given as text or as a file name."""
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text[1:]}: {error.strerror}") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"this is not JSON: {error}") from error


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError("true or false")
    return text == "true"


def _any(text: str) -> Any:
    """Numbers, true, false and null as such, and all else as the text that it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, (dict, list)) else value


_READERS: dict[str, Any] = {"int": int, "float": float, "bool": _boolean, "str": str, "any": _any, "json": _json}
_METAVARS = {"int": "N", "float": "N", "bool": "BOOL", "str": "TEXT", "any": "VALUE", "json": "JSON"}


# ---- parsing --------------------------------------------------------------------------------------------------------


def parse(command: Command, arguments: list[str]) -> dict[str, Any]:
    """Parse the arguments of a command. The key ``inside`` holds parts of fields that have no flag."""
    built = parser_of(command)
    known = built._option_string_actions
    maps = {flag_of(field["name"]): field["name"] for field in command.get("fields", ()) if field["type"] == "json"}
    left: list[str] = []
    inside: list[tuple[str, Any]] = []
    rest = iter(arguments)
    for word in rest:
        flag, equals, value = word.partition("=")
        spelled = flag.replace("_", "-") if flag.startswith("--") else flag
        root, dot, path = flag.partition(".")
        owner = maps.get(root.replace("_", "-"))
        if spelled not in known and dot and owner is not None:
            inside.append((f"{owner}.{path}", _any(value if equals else next(rest, ""))))
        else:
            left.append(spelled + equals + value if flag.startswith("--") else word)
    return {**vars(built.parse_args(left)), "inside": inside}


def body_of(command: Command, asked: dict[str, Any]) -> Any:
    """``--data`` first, then what the flags say."""
    if not command.get("body"):
        return None
    body = {} if asked["data"] is None else asked["data"]
    given = [
        (field["name"], _listed(asked[f"field:{field['name']}"]))
        for field in command.get("fields", ())
        if asked.get(f"field:{field['name']}") is not None
    ]
    changes = [*given, *asked["inside"], *((name.replace("-", "_"), None) for name in asked["null"])]
    if changes and not isinstance(body, dict):
        raise Stop(USAGE, "--data must be an object if there are flags for fields, too")
    for name, value in sorted(changes, key=lambda change: change[0].count(".")):
        _put(body, name.split("."), value)
    return body


def _listed(value: Any) -> Any:
    return [] if value == [""] else value


def _put(body: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = body.get(name)
        body[name] = inner if isinstance(inner, dict) else {}
        body = body[name]
    body[path[-1]] = value


OPERATORS = (
    ("!=", "+neq"),
    (">=", "+gte"),
    ("<=", "+lte"),
    ("~=", "+contains"),
    (">", "+gt"),
    ("<", "+lt"),
    ("=", None),
)


def filter_of(command: Command, asked: dict[str, Any]) -> dict[str, Any] | None:
    """The X-Filter that the terms make together."""
    terms = [_term(command, text) for text in asked.get("filter") or ()]
    if asked.get("filter_json") is not None:
        terms.append(asked["filter_json"])
    made: dict[str, Any] = {}
    if terms:
        made = dict(terms[0]) if len(terms) == 1 else {"+and": terms}
    if asked.get("order_by"):
        made |= {"+order_by": asked["order_by"], "+order": "desc" if asked["desc"] else "asc"}
    return made or None


def _term(command: Command, text: str) -> dict[str, Any]:
    signs = [(text.find(sign), -len(sign), sign, name) for sign, name in OPERATORS if sign in text]
    if not signs or min(signs)[0] == 0:
        raise Stop(USAGE, f"--filter {text}: must be FIELD=VALUE")
    at, _, sign, name = min(signs, key=lambda candidate: candidate[:2])
    field, value = text[:at], text[at + len(sign) :]
    reader = _READERS[command.get("filters", {}).get(field, "any")]
    try:
        read = reader(value)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise Stop(USAGE, f"--filter {text}: {value!r} is not of the type of {field}") from error
    return {field: read if name is None else {name: read}}
