"""A real server in a process of its own, which may be killed and started again on the same data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
from httpx2 import Client

TOKEN = "the-token-that-outlives-the-process"
SECRET = "5" * 64


class Served:
    """``crofter serve`` on a folder or a database."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self._words = ["--data", str(folder)] if database is None else ["--database", database]
        self._environment = {**os.environ, "CROFTER_BOOTSTRAP_TOKEN": TOKEN, "CROFTER_SECRET_KEY": SECRET}
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "crofter", "serve", "--port", "0", "--log", "off", *self._words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environment)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.url = next(word for word in line.split() if word.startswith("http"))
        self.client: Client = httpx2.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60, verify=False
        )

    def kill(self) -> None:
        """As a power cut would, for the process."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self.client.close()

    def stop(self) -> int:
        """Asked politely; the exit status."""
        self.client.close()
        self._process.terminate()
        return self._process.wait(20)

    def settle(self) -> None:
        assert self.client.post("/_sandbox/settle", json={}).status_code == 200

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self.client.request(method, path, json=body or None)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()
