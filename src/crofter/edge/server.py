"""uvicorn as this server runs it."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from crofter.edge.accepting import Backlog
from crofter.edge.protocol import BoundedProtocol

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 10


class ServerConfig(uvicorn.Config):
    """The settings of uvicorn, and what its protocol needs to know besides."""

    waiting_connections: Backlog | None = None


def configured(app: Any, listening: socket.socket | None = None, **more: Any) -> uvicorn.Config:
    """The settings of uvicorn; ``more`` adds to them. ``listening``: where its connections come from."""
    config = ServerConfig(
        app,
        http=BoundedProtocol,
        ws="none",
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
        config.waiting_connections = Backlog(listening)
    return config
