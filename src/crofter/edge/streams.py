"""Answers without an end: Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from crofter.context import Context
from crofter.edge.hub import Hub, Waiter
from crofter.edge.perform import Answer, Performer
from crofter.edge.problems import body_of
from crofter.errors import Problem, Reason
from crofter.results import Frame, Stream

HEARTBEAT = 15.0


def frame(item: Frame) -> bytes:
    number, name, data = item
    start = f"id: {number}\nevent: {name}\ndata: " if number is not None else f"event: {name}\ndata: "
    return start.encode() + data + b"\n\n"


def fetch(performer: Performer, stream: Stream, presented: str, position: Any) -> tuple[list[Frame], Any] | None:
    """Return the new items since ``position``; None once the token is invalid."""
    runtime = performer.runtime
    try:
        with runtime.database.read() as db:
            actor = performer.access.authenticate(runtime, db, presented)
            return None if actor is None else stream.fetch(Context(runtime, db, actor), position)
    except Problem:
        return [], position  # the store is away for a moment; the next look finds what was missed


async def run(
    stream: Stream,
    fetch_new: Callable[[Any], Awaitable[tuple[list[Frame], Any] | None]],
    hub: Hub,
    waiter: Waiter,
    receive: Callable[[], Awaitable[Any]],
    send: Callable[[Any], Awaitable[None]],
) -> None:
    """Send the existing items, then new ones, until client, token or server are gone."""
    gone = asyncio.ensure_future(disconnected(receive))
    position = stream.start
    try:
        gone.add_done_callback(lambda _gone: waiter.wake())
        await send(_chunk(b": open\n\n"))
        while not gone.done() and not hub.closing:
            fetched = await fetch_new(position)
            if fetched is None:
                break
            frames, position = fetched
            await send(_chunk(b"".join(map(frame, frames)) if frames else b": still here\n\n"))
            if not frames or len(frames) < 100:
                await waiter.wait(min(hub.poll, HEARTBEAT))
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


def _chunk(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def disconnected(receive: Callable[[], Awaitable[Any]]) -> None:
    """Until the client hangs up; what it still sends of its request is not that."""
    while (await receive())["type"] != "http.disconnect":
        pass


def forced(status: int) -> Answer:
    """Return the response of an injected HTTP fault."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Fault"
    body = b"{}" if status < 400 else body_of([Reason(phrase)])
    return Answer(status, body, retry_after=1 if status in (429, 503) else None)
