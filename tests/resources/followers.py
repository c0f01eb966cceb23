"""Clients that follow the event log: by a cursor, and by a stream."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2


class Frame(NamedTuple):
    id: str | None
    name: str
    data: dict[str, Any]


def frames(lines: Iterator[str]) -> Iterator[Frame]:
    """Server-Sent Events, taken apart; comments are passed over."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Frame(fields.get("id"), fields["event"], json.loads(fields["data"]))
            fields = {}


@contextmanager
def stream(client: httpx2.Client, *, last_event_id: int | None = None, **asked: Any) -> Iterator[Iterator[Frame]]:
    """The frames of a stream that has been opened."""
    headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
    with client.stream("GET", "/v4/account/events/stream", params=asked, headers=headers, timeout=60) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        lines = answer.iter_lines()
        assert next(lines) == ": open"
        yield frames(lines)


class Follower:
    """Collects the ids of events after one in a thread, until it has seen ``enough`` of them."""

    def __init__(self, client: httpx2.Client, enough: int, after: int = 0) -> None:
        self.ids: list[int] = []
        self._client = client
        self._enough = enough
        self._after = after
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.follow()
        except BaseException as failure:  # raised again by `join`
            self.failure = failure

    def follow(self) -> None:
        raise NotImplementedError

    def join(self, timeout: float = 60) -> list[int]:
        self._thread.join(timeout)
        if self.failure is not None:
            raise self.failure
        return self.ids


class ByCursor(Follower):
    def follow(self) -> None:
        last = self._after
        while len(self.ids) < self._enough:
            answer = self._client.get("/v4/account/events", params={"after": last, "wait": 20}, timeout=60)
            assert answer.status_code == 200, answer.text
            self.ids += [item["id"] for item in answer.json()["data"]]
            last = self.ids[-1] if self.ids else last


class ByStream(Follower):
    def follow(self) -> None:
        with stream(self._client, after=self._after) as received:
            for frame in received:
                if frame.name == "event":
                    self.ids.append(frame.data["id"])
                if len(self.ids) >= self._enough:
                    return


def eventually(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Until something that another thread does has happened."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it never happened")
