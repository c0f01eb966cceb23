"""A whole cloud for tests: a real server on loopback, with its worker, clock and sandbox API."""

from __future__ import annotations

import asyncio
import socket
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import httpx2
import uvicorn
import uvloop

from crofter import assembly, cli
from crofter.catalogue import files
from crofter.config import load
from crofter.db import deadlines, pool, postgres, sqlite
from crofter.drivers.probes import client as probe_client
from crofter.edge import group_reads, turns, write_queue
from crofter.edge.server import configured
from tests import disguise, loopback
from tests.recorder import Record, Watch

ADMIN = "the-token-of-the-first-user"

RECORD = Record()
"""Responses and events of all clouds of this process."""
_watches: list[Watch] = []
_wrong: list[str] = []

# A slow test machine must not cause refusals; tests of timeouts set their own values.
sqlite.WRITE_WAIT = write_queue.MAX_QUEUE_SECONDS = write_queue.CROWDED_SECONDS = 20.0
turns.MAX_WAIT_SECONDS = group_reads.MAX_QUEUE_SECONDS = deadlines.CALLER_SECONDS = deadlines.TOLD_SECONDS = 20.0
postgres.LOCK_TIMEOUT = "5s"
pool.WAIT_SECONDS = 20.0
# Longer than any test's probe: a cached result would be returned after the test changed its service.
probe_client.SLOW = 2.9
# Every reset reads the catalogue, and most of the time it takes goes into its TOML, which is the same each time.
files.parsed = lru_cache(files.parsed)
# Cached, because commands in the test process build the parser each time.
cli.parser = lru_cache(cli.parser)


def inspect() -> list[str]:
    """Where writes since the last time have left other events than their endpoints declare, in all clouds."""
    wrong = [*_wrong, *(line for watch in _watches for line in watch.inspect())]
    _wrong.clear()
    return wrong


class _Server(uvicorn.Server):
    """Without signal handlers, which only a main thread may set."""

    def capture_signals(self) -> Any:
        from contextlib import nullcontext

        return nullcontext()


class Cloud:
    """``alice`` owns one account, ``mallory`` another; both see the same server."""

    def __init__(
        self,
        database: str | None = None,
        *,
        disguised: Path | Literal["run"] | None = "run",
        **settings: Any,
    ) -> None:
        self._disguised = disguise.FILE if disguised == "run" else disguised
        flags = {"data": ":memory:", "database": database, "log": "off", "bootstrap_token": ADMIN, "mode": "sandbox"}
        if self._disguised is not None:
            flags["dialect"] = str(self._disguised)
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        self.application = assembly.build(load({**flags, "port": port, **settings}, {}))
        self.runtime = self.application.runtime
        self.url = f"http://127.0.0.1:{port}"
        self.watch = Watch(self.application.app, RECORD)
        _watches.append(self.watch)
        self._server = _Server(configured(self.watch, listening))
        self._thread = threading.Thread(target=self._serve, args=(listening,), daemon=True)
        self._thread.start()
        self._clients: list[httpx2.Client] = []
        self.admin = self.client(ADMIN)
        self.sandbox = self.client(None)
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            self._thread.join(0.005)

    def _serve(self, listening: socket.socket) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._server.serve(sockets=[listening]))

    def client(self, token: str | None, **headers: str) -> httpx2.Client:
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        transport = loopback.Loopback() if self._disguised is None else disguise.Disguised(self._disguised)
        client = loopback.Client(self.url, headers, transport)
        self._clients.append(client)
        return client

    def account(self, **options: Any) -> dict[str, str]:
        """A new account: euuid, username, token."""
        answer = self.sandbox.post("/_sandbox/accounts", json=options)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def person(self, **options: Any) -> httpx2.Client:
        """A client of the first user of a new account."""
        return self.client(self.account(**options)["token"])

    def token(self, username: str, scopes: str = "*", **options: Any) -> str:
        answer = self.sandbox.post("/_sandbox/tokens", json={"username": username, "scopes": scopes, **options})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["token"])

    def reset(self) -> None:
        for client in self._clients:
            if client not in (self.admin, self.sandbox):
                client.close()
        self._clients = [self.admin, self.sandbox]
        _wrong.extend(self.watch.inspect())
        assert self.sandbox.post("/_sandbox/reset").status_code == 200

    def freeze(self) -> None:
        assert self.sandbox.post("/_sandbox/clock/freeze").status_code == 200

    def advance(self, seconds: float) -> int:
        answer = self.sandbox.post("/_sandbox/clock/advance", json={"seconds": seconds})
        assert answer.status_code == 200, answer.text
        return int(answer.json()["operations"])

    def settle(self) -> int:
        answer = self.sandbox.post("/_sandbox/settle", json={})
        assert answer.status_code == 200, answer.text
        return int(answer.json()["operations"])

    def fault(self, kind: str, **more: Any) -> None:
        """Make something go wrong."""
        answer = self.sandbox.post("/_sandbox/faults", json={"kind": kind, **more})
        assert answer.status_code == 200, answer.text

    def close(self) -> None:
        _wrong.extend(self.watch.inspect())
        _watches.remove(self.watch)
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self.application.app.parts.hub.close()
        self._thread.join(15)
        self.runtime.database.close()
