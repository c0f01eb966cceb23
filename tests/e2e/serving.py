"""A real server in a process of its own, which may be killed and started again on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from httpx2 import Client

from tests.served import Process

SECRET = "5" * 64


class Served:
    """``crofter serve`` on a folder or a database, from one start to the next."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self._flags = ("--data", str(folder)) if database is None else ("--database", database)
        self.start()

    def start(self) -> None:
        self._process = Process("--log", "off", *self._flags, env={"CROFTER_SECRET_KEY": SECRET})
        self.url = self._process.url
        self.client: Client = self._process.client()

    def another(self) -> Client:
        """Return another client for concurrent use."""
        return self._process.client()

    def kill(self) -> None:
        """Kill the process, as a power cut would."""
        self._process.kill()
        self.client.close()
        self._process.close()

    def stop(self) -> int:
        """Stop the process with a signal and return its exit status."""
        self.client.close()
        self._process.terminate()
        status = self._process.ended(60)
        self._process.close()
        return status

    def settle(self) -> None:
        assert self.client.post("/_sandbox/settle", json={}).status_code == 200

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self.client.request(method, path, json=body or None)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()
