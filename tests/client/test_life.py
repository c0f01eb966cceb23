"""The life of an instance on the command line, with a server in a process of its own: in a pipe and in a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import served

DEPLOYED = (
    "--type=g6-standard-1",
    "--region=eu-west",
    "--image=compute/debian11",
    "--root-pass=correct horse battery staple",
)


class Ada:
    """A user with an account on a server, and a shell."""

    def __init__(self, server: served.Process, home: Path) -> None:
        self.sandbox = server.client(None)
        token = self.sandbox.post("/_sandbox/accounts", json={}).json()["token"]
        self.variables = {"CROFTER_URL": server.url, "CROFTER_TOKEN": token, "XDG_CONFIG_HOME": str(home)}

    def runs(self, *words: str) -> subprocess.CompletedProcess[str]:
        return served.run(*words, env=self.variables)

    def sees(self, *words: str) -> Any:
        done = self.runs(*words, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def hurries(self) -> None:
        """Work takes a moment instead of seconds."""
        assert self.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0.3}}).status_code == 200

    def sandboxed(self, path: str, **body: Any) -> None:
        answer = self.sandbox.post(f"/_sandbox/{path}", json=body)
        assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def server() -> Iterator[served.Process]:
    with served.serving("--data", ":memory:", "--log", "off") as process:
        yield process


@pytest.fixture
def ada(server: served.Process, tmp_path: Path) -> Iterator[Ada]:
    made = Ada(server, tmp_path)
    yield made
    made.sandboxed("reset")
    made.sandbox.close()


class Terminal:
    """A program in a terminal of its own, and what it has written there."""

    def __init__(self, ada: Ada, *words: str) -> None:
        self.shown = ""
        ours, theirs = pty.openpty()
        self._ours = ours
        variables = served.environment(**ada.variables, COLUMNS="100", LINES="30", TERM="xterm")
        self.program = subprocess.Popen(
            [served.CROFTER, *words], env=variables, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)

    def until(self, words: str | None, seconds: float = 60) -> str:
        """Return the output when the words appear, or at the end."""
        end = time.monotonic() + seconds
        while words is None or words not in self.shown:
            ready, _, _ = select.select([self._ours], [], [], max(end - time.monotonic(), 0))
            assert ready, self.shown
            try:
                piece = os.read(self._ours, 65536)
            except OSError:  # the other side is closed
                piece = b""
            if not piece:
                break
            self.shown += piece.decode()
        return self.shown

    def ended(self) -> int:
        self.until(None)
        os.close(self._ours)
        return self.program.wait(60)


def test_a_life_in_a_pipe(ada: Ada) -> None:
    """Run commands in a pipe: each waits for its work, reports progress on standard error and prints the result on
    standard output.
    """
    ada.hurries()
    made = ada.runs("instances", "create", "--label", "web-1", *DEPLOYED, "--wait", "-o", "json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["status"] == "running"  # the state at the end, not at the response
    stderr_lines = made.stderr.splitlines()
    assert [line for line in stderr_lines if line.endswith(": finished")] == [
        "event 1 compute_create web-1: finished",
        "event 2 compute_boot web-1: finished",
    ]
    assert "\x1b" not in made.stdout + made.stderr
    for words, status in (
        (("reboot", "1"), "running"),
        (("shutdown", "1"), "offline"),
        (("resize", "1", "--type", "g6-standard-2", "--no-allow-auto-disk-resize"), "offline"),
        (("boot", "1"), "running"),
        (("migrate", "1", "--region", "us-east"), "running"),
    ):
        done = ada.runs("instances", *words, "--wait")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert "finished" in done.stderr
        assert ada.sees("instances", "view", "1")["status"] == status
    disk = ada.sees("disks", "create", "1", "--label", "extra", "--size", "100", "--wait")
    assert disk["status"] == "ready"
    assert ada.runs("disks", "delete", "1", str(disk["id"]), "--wait").returncode == 0
    assert ada.runs("instances", "delete", "1", "--wait").returncode == 0
    assert ada.runs("instances", "view", "1").returncode == 1


def test_in_a_pipe_nothing_waits_unless_told_to(ada: Ada) -> None:
    made = ada.runs("instances", "create", "--label", "web-1", *DEPLOYED, "-o", "json")
    assert json.loads(made.stdout)["status"] == "provisioning"
    assert made.stderr == ""
    assert ada.runs("events", "wait", "1").returncode == 0
    ada.runs("events", "wait", "2")
    assert ada.sees("instances", "view", "1")["status"] == "running"


def test_a_life_in_a_terminal(ada: Ada) -> None:
    """There a command waits by itself, with a bar that is drawn in place, and shows what has become of it."""
    terminal = Terminal(ada, "instances", "create", "--label", "web-1", *DEPLOYED)
    assert terminal.ended() == 0, terminal.shown
    assert re.search(r"compute_create web-1 +\[#+\.+\] +\d+ % started", terminal.shown)
    assert re.search(r"\x1b\[\d+A", terminal.shown)
    assert re.search(r"status +running\r\n", terminal.shown)
    for words in (("reboot", "1"), ("shutdown", "1"), ("delete", "1")):
        terminal = Terminal(ada, "instances", *words)
        assert terminal.ended() == 0, terminal.shown
        assert "100 % finished" in terminal.shown
    assert ada.sees("instances", "list")["results"] == 0


def test_work_that_fails_has_a_code_of_its_own(ada: Ada) -> None:
    refusing = {"*": {"seconds": 0.2}, "compute_create": {"fail": "The host ran out of space."}}
    assert ada.sandbox.put("/_sandbox/transitions", json=refusing).status_code == 200
    done = ada.runs("instances", "create", "--label", "web-1", *DEPLOYED, "--wait", "-o", "id")
    assert done.returncode == 4, done.stderr
    assert "compute_create web-1: failed" in done.stderr
    assert done.stdout == "1\n"


def test_who_has_waited_long_enough_is_told_how_to_go_on(ada: Ada) -> None:
    ada.sandboxed("clock/freeze")
    done = ada.runs("instances", "create", "--label", "web-1", *DEPLOYED, "--wait", "--wait-timeout", "0.5", "-o", "id")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == "crofter: not over after 0.5 s; to go on waiting: crofter events wait 1"
    assert done.stdout == "1\n"


def test_an_interrupt_ends_the_wait_and_not_the_work(ada: Ada) -> None:
    ada.sandboxed("clock/freeze")
    terminal = Terminal(ada, "instances", "create", "--label", "web-1", *DEPLOYED)
    terminal.until("compute_create web-1")
    terminal.program.send_signal(signal.SIGINT)
    assert terminal.ended() == 130
    assert "it goes on: crofter events wait 1" in terminal.shown
    assert "Traceback" not in terminal.shown
    ada.sandboxed("clock/thaw")
    assert ada.runs("events", "wait", "1").returncode == 0


def test_events_are_shown_as_they_come(ada: Ada) -> None:
    terminal = Terminal(ada, "events", "stream", "--after", "0")
    ada.sees("tags", "create", "--label", "garden")
    terminal.until("tag_create  notification  garden")
    terminal.program.send_signal(signal.SIGINT)
    assert terminal.ended() == 130


def test_a_reader_that_has_seen_enough_is_no_error(ada: Ada) -> None:
    command = f"{served.CROFTER} types list --all -o json | head -n 1"
    variables = served.environment(**ada.variables)
    done = subprocess.run(["bash", "-c", command], env=variables, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize("words", ["--help", "types --help", "types list --help", "admin --help", "openapi"])
def test_a_reader_that_ends_early_is_no_error(words: str) -> None:
    command = f"{served.CROFTER} {words} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=served.environment(), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")
