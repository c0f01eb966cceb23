"""Configuration of uvicorn for this server."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from crofter.edge.accepting import Backlog
from crofter.edge.protocol import BoundedProtocol
from crofter.edge.sockets import MAX_MESSAGE, PING_SECONDS
from crofter.edge.unread import bound_sending

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 10


class ServerConfig(uvicorn.Config):
    """The settings of uvicorn, and what its protocol needs to know besides."""

    waiting_connections: Backlog | None = None


def _socket_protocol(**connection: Any) -> Any:
    """Loaded when the first web socket opens: most processes never have one."""
    from crofter.edge.socket_protocol import BoundedSocket  # noqa: PLC0415

    return BoundedSocket(**connection)


def configured(app: Any, listening: socket.socket | None = None, **more: Any) -> uvicorn.Config:
    """The settings of uvicorn; ``more`` adds to them. ``listening``: where its connections come from."""
    config = ServerConfig(
        app,
        http=BoundedProtocol,
        ws=_socket_protocol,  # type: ignore[arg-type]
        ws_max_size=MAX_MESSAGE,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_per_message_deflate=False,  # a few bytes could become gigabytes
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        **more,
    )
    if listening is not None:
        bound_sending(listening)
        config.waiting_connections = Backlog(listening)
    return config
