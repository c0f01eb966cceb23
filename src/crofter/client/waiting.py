"""Waiting for what a request has started, by its events, with progress on standard error."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO
from urllib.parse import quote

from crofter.client.exits import FAILED, INTERRUPTED, OK, TIMEOUT, UNREACHABLE, Stop
from crofter.client.formats import cell
from crofter.client.transport import Refused, Session

EVENTS = "/v4/account/events"
OVER = ("finished", "failed", "notification")
FIRST_PAUSE, MAX_PAUSE = 0.1, 1.0
Event = dict[str, Any]


class Plain:
    """A line for each change, for logs and pipes."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._said: dict[int, str] = {}

    def show(self, events: list[Event]) -> None:
        for event in events:
            line = f"event {event['id']} {_title(event)}: {_state(event)}"
            if event["status"] != "notification" and self._said.get(event["id"]) != line:
                self._said[event["id"]] = line
                print(line, file=self._to, flush=True)


class Bars:
    """A bar for each event, drawn again in place."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._drawn = 0

    def show(self, events: list[Event]) -> None:
        columns = shutil.get_terminal_size().columns
        lines = [_bar(event)[: columns - 1] for event in events if event["status"] != "notification"]
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._to.write(up + "".join(f"\r\x1b[K{line}\n" for line in lines))
        self._to.flush()
        self._drawn = len(lines)


def display() -> Plain | Bars:
    return Bars(sys.stderr) if sys.stderr.isatty() else Plain(sys.stderr)


def _title(event: Event) -> str:
    entity = event.get("entity") or {}
    return f"{event['action']} {cell(entity.get('label') or entity.get('id'))}".rstrip()


def _state(event: Event) -> str:
    if event["status"] == "started" and event.get("percent_complete") is not None:
        return f"started {event['percent_complete']} %"
    message = f" ({cell(event['message'])})" if event["status"] == "failed" and event.get("message") else ""
    return f"{event['status']}{message}"


def _bar(event: Event) -> str:
    percent = 100 if event["status"] == "finished" else event.get("percent_complete") or 0
    filled = percent // 5
    left = event.get("time_remaining")
    more = f", {left} left" if left and event["status"] not in OVER else ""
    return (
        f"{_title(event):<36} [{'#' * filled}{'.' * (20 - filled)}] {percent:>3} % {_state(event).split(' ')[0]}{more}"
    )


def newest(session: Session) -> int:
    """The number of the last event: what comes later has a greater one."""
    listed = session.get(f"{EVENTS}?page_size=1")["data"]
    return int(listed[0]["id"]) if listed else 0


def started_by(session: Session, after: int, actions: list[str], names: set[str]) -> Callable[[], list[Event]]:
    """Return a function that fetches the events that a request may have caused, by action and object."""
    terms = [{"action": action} for action in actions]
    wanted = json.dumps(terms[0] if len(terms) == 1 else {"+or": terms})

    def ask() -> list[Event]:
        listed = session.get(f"{EVENTS}?after={after}&page_size=500", {"X-Filter": wanted})["data"]
        return [event for event in listed if not names or names & _objects(event)]

    return ask


def _objects(event: Event) -> set[str]:
    entities = (event.get("entity"), event.get("secondary_entity"))
    return {str(entity[key]) for entity in entities if entity for key in ("id", "label") if entity.get(key) is not None}


def these(session: Session, ids: list[str]) -> Callable[[], list[Event]]:
    return lambda: [session.get(f"{EVENTS}/{quote(id, safe='')}") for id in ids]


def until_over(ask: Callable[[], list[Event]], seconds: float) -> int:
    """Show the events until all are over. The code says whether one has failed; the work goes on if we do not wait."""
    shown, end, pause = display(), time.monotonic() + seconds, FIRST_PAUSE
    events: list[Event] = []
    try:
        while True:
            late = time.monotonic() + pause > end
            try:
                events = ask()
            except Stop as stop:
                if late or not _passes(stop):
                    raise
            else:
                shown.show(events)
                if not _running(events):
                    return FAILED if any(event["status"] == "failed" for event in events) else OK
                if late:
                    raise Stop(TIMEOUT, f"not over after {seconds:g} s; to go on waiting: {_again(events)}")
            time.sleep(pause)
            pause = min(pause * 1.5, MAX_PAUSE)
    except KeyboardInterrupt:
        raise Stop(INTERRUPTED, f"no longer waiting, but it goes on: {_again(events)}") from None


def _passes(stop: Stop) -> bool:
    """True if the server is overloaded or unreachable for the moment: waiting continues."""
    return stop.code == UNREACHABLE or (isinstance(stop, Refused) and stop.answer.status in (429, 503))


def _running(events: list[Event]) -> list[Event]:
    return [event for event in events if event["status"] not in OVER]


def _again(events: list[Event]) -> str:
    return " ".join(["crofter events wait", *(str(event["id"]) for event in _running(events))])
