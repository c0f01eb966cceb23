"""The ceiling: the same server answering recorded bytes, which is as cheap as this server can be."""

from __future__ import annotations

import asyncio
import pickle
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from crofter.edge.server import configured

Recorded = dict[tuple[str, bytes], tuple[int, list[tuple[bytes, bytes]], bytes]]
ADDED_BY_SERVER = (b"date",)


def app(recorded: Recorded) -> Any:
    """An application that knows a few paths and what to answer to each."""
    answers = {
        key: (
            {"type": "http.response.start", "status": status, "headers": headers},
            {"type": "http.response.body", "body": body},
        )
        for key, (status, headers, body) in recorded.items()
    }

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await lifespan(receive, send)
        start, body = answers[scope["method"], scope["raw_path"]]
        await send(start)
        await send(body)
        return None

    return answer


async def lifespan(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def serve(application: Any) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"serves on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    server = uvicorn.Server(configured(application))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[listening]))


if __name__ == "__main__":
    serve(app(pickle.loads(Path(sys.argv[1]).read_bytes())))
