"""``crofter api METHOD PATH``: any request, as it is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from crofter.client import formats, profiles
from crofter.client.exits import OK, USAGE, Stop, guarded
from crofter.client.flags import add_place
from crofter.client.run import JSON
from crofter.client.transport import Refused, Session


def parser() -> argparse.ArgumentParser:
    words = "Send any request, and print the answer as it comes."
    built = argparse.ArgumentParser(prog="crofter api", description=words, allow_abbrev=False)
    built.add_argument("method", metavar="METHOD", type=str.upper, help="GET, POST, PUT or DELETE")
    built.add_argument("path", metavar="PATH", help="for example /v4/account/events?page_size=25")
    built.add_argument("--data", metavar="JSON", help="the body, @FILE, or - for standard input")
    built.add_argument(
        "--header", action="append", default=[], metavar="'NAME: VALUE'", help="can be given several times"
    )
    built.add_argument("-o", "--output", choices=formats.FORMS, help="else the answer is printed byte by byte")
    built.add_argument("--columns", metavar="A,B", help="which fields a table or CSV shows")
    add_place(built)
    return built


def run(arguments: list[str]) -> int:
    asked = parser().parse_args(arguments)
    return guarded(lambda: _done(asked), as_json=True)


def _done(asked: argparse.Namespace) -> int:
    if not asked.path.startswith("/"):
        raise Stop(USAGE, f"{asked.path!r} is no path: it begins with a slash")
    body = _body(asked.data)
    headers = dict(JSON) if body is not None else {}
    for line in asked.header:
        name, colon, value = line.partition(":")
        if not colon:
            raise Stop(USAGE, f"--header {line!r}: must be NAME: VALUE")
        headers[name.strip()] = value.strip()
    answer = Session(profiles.place(asked.url, asked.profile, asked.ca)).call(asked.method, asked.path, headers, body)
    if not answer.good:
        raise Refused(answer)
    if asked.output:
        columns = [name.strip() for name in (asked.columns or "").split(",") if name.strip()]
        sys.stdout.write(formats.rendered(answer.json(), asked.output, columns, bool(columns)))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(answer.body)
        if sys.stdout.isatty():
            sys.stdout.buffer.write(b"\n")
    return OK


def _body(given: str | None) -> bytes | None:
    if given == "-":
        return sys.stdin.buffer.read()
    if given is None or not given.startswith("@"):
        return None if given is None else given.encode()
    try:
        return Path(given[1:]).read_bytes()
    except OSError as error:
        raise Stop(USAGE, f"{given[1:]}: {error.strerror}") from error
