"""Minimal server for comparison of the start: uvicorn and Starlette with one route."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def regions(_request: Any) -> JSONResponse:
    return JSONResponse({"data": []})


class Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets is not None
        print(f"serves on http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)


if __name__ == "__main__":
    application = Starlette(routes=[Route("/v4/regions", regions)])
    listening = socket.create_server(("127.0.0.1", 0))
    asyncio.run(Server(uvicorn.Config(application, log_level="warning")).serve(sockets=[listening]))
