"""uvicorn as this server runs it."""

from __future__ import annotations

from typing import Any

import uvicorn

from crofter.edge.protocol import BoundedProtocol

KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 10


def configured(app: Any, **more: Any) -> uvicorn.Config:
    """The settings of uvicorn; ``more`` adds to them."""
    return uvicorn.Config(
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
