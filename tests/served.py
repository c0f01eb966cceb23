"""`crofter serve` in a process of its own, as people start it."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import httpx2

import crofter
from crofter.cli import main
from crofter.db import known_statements
from tests.loopback import PATIENCE

CROFTER = str(Path(sys.executable).with_name("crofter"))
TOKEN = "a-token-that-was-set-by-hand"
BYTECODE = str(Path(tempfile.gettempdir()) / "crofter-tests-bytecode")
"""Kept between starts, so that not each of them compiles everything anew."""


def environment(**more: str) -> dict[str, str]:
    """Ours, without what would change the settings or slow the start."""
    left = {name: value for name, value in os.environ.items() if not name.startswith("CROFTER_")}
    # Of a make around the tests: another one would print its level.
    for name in ("PYTHONDONTWRITEBYTECODE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        left.pop(name, None)
    return {**left, "PYTHONPYCACHEPREFIX": BYTECODE, **more}


def write_statements() -> None:
    """Update the prepared statements, as `make` does after a change of the source, without those of tests."""
    sources = max(file.stat().st_mtime for file in Path(crofter.__file__).parent.rglob("*.py"))
    file = known_statements.FILE
    if not file.exists() or file.stat().st_mtime < sources:
        subprocess.run([sys.executable, "-m", "crofter.statements"], check=True)


def run(
    *flags: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, typed: str | None = None
) -> subprocess.CompletedProcess[str]:
    """A command that is expected to end by itself."""
    return subprocess.run(
        [CROFTER, *flags],
        env=environment(**(env or {})),
        cwd=cwd,
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_here(*flags: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command that ends before it serves, in this process: a start of another one costs a second."""
    out, err = io.StringIO(), io.StringIO()
    hangup = signal.getsignal(signal.SIGHUP)
    try:
        with (
            mock.patch.dict(os.environ, environment(**(env or {})), clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            main(flags)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=err)  # like the interpreter at its end
    finally:
        signal.signal(signal.SIGHUP, hangup)
    return subprocess.CompletedProcess(flags, code, out.getvalue(), err.getvalue())


class Patient(httpx2.HTTPTransport):
    """Transport that retries after ``Retry-After``: with tests on every core a server is occasionally busy."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        for _ in range(20):
            answer = super().handle_request(request)
            if answer.status_code != 503:
                break
            answer.close()
            time.sleep(float(answer.headers["retry-after"]))
        return answer


class Log:
    """Standard error of a process. Readers reopen the file, because the process moves its own position."""

    def __init__(self) -> None:
        self.file = tempfile.NamedTemporaryFile("a")  # noqa: SIM115 - it lives as long as the process

    def read(self) -> str:
        """Return the completed lines."""
        text = Path(self.file.name).read_text(encoding="utf-8")
        return text[: text.rfind("\n") + 1]

    def close(self) -> None:
        self.file.close()


class Process:
    """A server that has announced its address."""

    def __init__(self, *flags: str, env: Mapping[str, str] | None = None, program: Sequence[str] = (CROFTER,)) -> None:
        command = [*program, "serve", "--port", "0", *flags]
        variables = environment(**{"CROFTER_BOOTSTRAP_TOKEN": TOKEN, **(env or {})})
        self._log = Log()
        self._process = subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=self._log.file, text=True
        )
        self.output: list[str] = []
        self.url = ""
        self._speaking = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()
        assert self._speaking.wait(PATIENCE), "it never said a word"
        assert self.url, self.log()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append(line.rstrip("\n"))
            if match := re.search(r"serves on (https?://\S+)", line):
                self.url = match[1]
                self._speaking.set()
        self._speaking.set()

    @property
    def id(self) -> int:
        return self._process.pid

    def client(self, token: str | None = TOKEN, *, patient: bool = False) -> httpx2.Client:
        """``patient``: for a test that has no business with refusals."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        transport = Patient(verify=False) if patient else None
        return httpx2.Client(base_url=self.url, headers=headers, timeout=PATIENCE, verify=False, transport=transport)

    def log(self) -> str:
        return self._log.read()

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def ended(self, seconds: float = PATIENCE) -> int:
        return self._process.wait(seconds)

    def close(self) -> None:
        if self._process.poll() is None:
            self.terminate()
            try:
                self.ended()
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._log.close()


@contextmanager
def serving(
    *flags: str, env: Mapping[str, str] | None = None, program: Sequence[str] = (CROFTER,)
) -> Iterator[Process]:
    process = Process(*flags, env=env, program=program)
    try:
        yield process
    finally:
        process.close()
