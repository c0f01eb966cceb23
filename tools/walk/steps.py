"""The walk itself: each step does what a part of docs/operating.md says, and looks whether it comes out as written."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tools.ports import free_ports
from tools.walk import places, proxies
from tools.walk.places import CROFTER, ROOT, Process, until

PAGE = (ROOT / "docs" / "operating.md").read_text()
NEW = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian12", "root_pass": "correct-horse-9"}

LINKS = (
    "/login/password?token={}",
    "/lish/{}",
    "/uploads/{}",
    "/v4/account/entity-transfers/{}",
    "/v4beta/account/service-transfers/{}/accept",
)
"""Addresses that hold a secret."""
SECRET = "0123456789abcdef0123456789abcdef"

IMAGE_BYTES = 10_000_000
"""More than a proxy lets through where it expects no image."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def shown_commands() -> set[str]:
    """The first words of each command of crofter that the page shows: ``serve``, ``admin backup``."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("crofter ")]
    return {" ".join(words[1:3] if words[1] == "admin" else words[1:2]) for words in map(str.split, lines)}


def metrics_of_the_page() -> list[str]:
    return re.findall(r"^\| `(crofter_[a-z_]+)", PAGE, re.MULTILINE)


class Walk:
    """An installation in production: two processes that serve, two that work, a proxy with TLS in front."""

    def __init__(self, folder: Path, database: str, say: Any = print, mail: str = "outbox") -> None:
        self.folder, self.database, self.say = folder, database, say
        self.done: set[str] = set()
        """The commands that were given."""
        self._exits = ExitStack()
        (settings,) = [block for block in blocks("toml") if "mode" in block]
        self.config = folder / "crofter.toml"
        self.config.write_text(self._here(settings))
        left = {name: value for name, value in os.environ.items() if not name.startswith("CROFTER_")}
        left.pop("PYTHONDONTWRITEBYTECODE", None)  # every start would compile everything anew
        self.env = {**left, "CROFTER_SECRET_KEY": os.urandom(32).hex(), "CROFTER_DATABASE": database}
        self.env |= {"CROFTER_MAIL": mail, "CROFTER_PASSWORD_MEMORY": "8"}
        self.apis: list[Process] = []
        self.workers: list[Process] = []
        self.ports: list[int] = []

    def _here(self, text: str) -> str:
        """The file of the page, for this machine: every setting of it is kept that does not name a place."""
        text = text.replace("/var/lib/crofter", str(self.folder / "data")).replace("0.0.0.0", "127.0.0.1")
        text = re.sub(r"^(port|mail) = .*\n", "", text, flags=re.MULTILINE)
        assert tomllib.loads(text)["behind_proxy"] is True
        return text

    def command(self, *words: str, code: int = 0) -> Any:
        """A command as an operator types it; what it prints, as JSON where it can."""
        self.done.add(" ".join(words[:2] if words[0] == "admin" else words[:1]))
        flags = ["--config", str(self.config), "--json"]
        ended = subprocess.run([CROFTER, *words, *flags], env=self.env, capture_output=True, text=True, timeout=120)
        assert ended.returncode == code, f"crofter {' '.join(words)}: {ended.stdout}{ended.stderr}"
        return json.loads(ended.stdout) if ended.stdout.startswith(("[", "{")) else ended.stdout

    # ---- the parts of the page, in its order ------------------------------------------------------------------------

    def settings(self) -> None:
        shown = self.command("config", "show", "--origin")
        text = json.dumps(shown)
        for name in re.findall(r"^\| `CROFTER_([A-Z_]+)` \|", PAGE, re.MULTILINE):
            assert name.lower() in text, f"config show does not know {name}"
        assert self.env["CROFTER_SECRET_KEY"] not in text

    def first_start(self) -> None:
        (first,) = self.command("admin", "init", "--as", "the walk")
        self.token = first["token"]
        assert not (self.folder / "data" / "first-login.txt").exists()

    def start(self) -> None:
        for number in (1, 2):
            port = free_ports()
            self.ports.append(port)
            self.apis.append(self._process(f"api{number}", "serve", "--role", "api", "--port", str(port)))
            # in turn: on a slow machine simultaneous starts would time out on the lock
            self.apis[-1].wait_until_ready()
            self.workers.append(self._process(f"worker{number}", "work"))
            self.workers[-1].wait_until_ready()
        until("two workers are seen", lambda: self.apis[0].numbers()["crofter_workers"] == 2)

    def _process(self, name: str, *words: str, **more: str) -> Process:
        self.done.add(words[0])
        process = Process(self.folder, name, *words, "--config", str(self.config), env={**self.env, **more})
        self._exits.callback(process.stop)
        return process

    def proxy(self, program: str | None) -> None:
        """In front of both servers, with TLS."""
        if program is None:
            self.say("there is no proxy: callers go to the first server directly (Debian: apt-get install nginx)")
            self.front = f"http://127.0.0.1:{self.ports[0]}"
            self.http = httpx2.Client(base_url=self.front, timeout=60)
        else:
            files = places.certificate(self.folder)
            self.front = self._exits.enter_context(proxies.serving(program, self.folder, self.ports, files))
            trusted = ssl.create_default_context(cafile=str(files[0]))
            self.http = httpx2.Client(base_url=self.front, verify=trusted, timeout=60)
            for path in ("/metrics", "/health/ready", "/health/live"):
                assert self.http.get(path).status_code == 404
        self.http.headers["Authorization"] = f"Bearer {self.token}"
        self._exits.callback(self.http.close)

    def use(self) -> None:
        """Use the proxy as customers do: an instance, a stream, a file, and their addresses in the log."""
        made = self.http.post("/v4/compute/instances", json=NEW)
        assert made.status_code == 200, made.text
        self.path = f"/v4/compute/instances/{made.json()['id']}"
        until("the instance runs", lambda: self.http.get(self.path).json()["status"] == "running")
        with self.http.stream("GET", "/v4/account/events/stream?after=0") as stream:
            assert "data:" in next(self._pieces(stream))
        self._send_files()
        asked = self.http.get("/v4/regions", headers={"X-Forwarded-For": "203.0.113.9"})
        assert asked.headers["x-request-id"]
        addresses = until("the call is in a log", self._callers)
        if self.front.startswith("https"):
            assert addresses == {"127.0.0.1"}, f"a caller chose its own address: {addresses}"

    def _send_files(self) -> None:
        ticket = self.http.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."}).json()
        where = f"/v4/support/tickets/{ticket['id']}/attachments"
        sent = self.http.post(where, files={"file": ("log.txt", b"x" * 2_000_000)})
        assert sent.status_code in (200, 204), sent.text
        asked = self.http.post("/v4/images/upload", json={"label": "of our own", "region": "us-east"}).json()
        file = gzip.compress(os.urandom(IMAGE_BYTES), compresslevel=0)
        arrived = self.http.put(urlsplit(asked["upload_to"]).path, content=file)
        assert arrived.status_code == 200, arrived.text

    def _callers(self) -> set[str]:
        lines = [line for process in self.apis for line in process.log().splitlines() if '"/v4/regions"' in line]
        return {json.loads(line)["address"] for line in lines}

    @staticmethod
    def _pieces(stream: httpx2.Response) -> Iterator[str]:
        for piece in stream.iter_text():
            if "data:" in piece:
                yield piece

    def watch(self) -> None:
        for process in (*self.apis, *self.workers):
            text = process.ask("/metrics").text
            missing = [name for name in metrics_of_the_page() if name not in text]
            missing = [name for name in missing if process in self.apis or "request" not in name]
            assert not missing, f"{process.name} does not tell {missing}"
            assert process.ask("/health/live").status_code == 200
        ended = [line for process in self.workers for line in process.log().splitlines() if '"kind"' in line]
        assert ended, "no worker has a line for an operation that ended"

    def signals(self) -> None:
        for process in self.apis:
            process.process.send_signal(signal.SIGHUP)
        assert self.http.get("/v4/regions").status_code == 200
        assert all(process.process.poll() is None for process in self.apis)

    def restart(self) -> None:
        """Restart the servers one after another under load. Every request is answered with 200."""
        if not self.front.startswith("https"):
            return
        self._look_up_secrets()
        seen: Counter[int] = Counter()
        ended = Event()
        callers = [Thread(target=self._call_until, args=(ended, seen)) for _ in range(4)]
        for caller in callers:
            caller.start()
        try:
            for at, port in enumerate(self.ports):
                assert self.apis[at].stop() == 0
                self.apis[at] = self._process(f"api{at + 1}-again", "serve", "--role", "api", "--port", str(port))
                self.apis[at].wait_until_ready()
        finally:
            ended.set()
            for caller in callers:
                caller.join()
        assert set(seen) == {200}, f"a restart was seen by callers: {seen}"
        self.say(f"two servers were restarted: {seen[200]} requests were answered with 200, none with anything else")

    def _call_until(self, ended: Event, seen: Counter[int]) -> None:
        while not ended.is_set():
            seen[self.http.get("/version").status_code] += 1  # an address without a rate limit

    def _look_up_secrets(self) -> None:
        """Call addresses that hold secrets; no log of nginx has the secret, and the access log has the calls."""
        if not self.front.startswith("https"):
            return
        for link in LINKS:
            self.http.get(link.format(SECRET), headers={"Referer": f"{self.front}{link.format(SECRET)}"})
        logs = sorted(self.folder.glob("*access.log")) + sorted(self.folder.glob("*error.log"))
        for log in logs:
            lines = [line for line in log.read_text().splitlines() if SECRET in line]
            assert not lines, f"{log.name} has a secret: {lines[0]}"
        assert not logs or any('"GET /login/password"' in log.read_text() for log in logs)

    def lose_processes(self) -> None:
        """Kill a process of each kind: requests are served, and orders are done."""
        self.workers.pop().kill()
        if self.front.startswith("https"):
            self.apis.pop().kill()
            self.ports.pop()
        until("one worker is left", lambda: self.apis[0].numbers()["crofter_workers"] == 1)
        assert self.http.post(f"{self.path}/reboot").status_code == 200
        until("it was rebooted", lambda: self.http.get(self.path).json()["status"] == "running")

    def keep(self) -> None:
        """Back up a running system, and verify the audit log."""
        # Before the backup: a checkpoint that is newer does not match what is restored from it.
        self.command("admin", "audit", "checkpoint", str(self.folder / "checkpoint"))
        (made,) = self.command("admin", "backup", str(self.folder / "backup"))
        assert Path(made["file"]).stat().st_mode & 0o777 == 0o600
        assert self.command("admin", "audit", "verify") == []
        shown = self.command("admin", "doctor", code=1)  # the mail server of the walk is none
        assert [finding["check"] for finding in shown if not finding["ok"]] == ["mail"], shown

    def stop(self) -> None:
        codes = {process.name: process.stop() for process in (*self.apis, *self.workers)}
        assert set(codes.values()) == {0}, codes
        self._look_up_secrets()  # nginx writes more about a request that no server answers

    def after(self) -> None:
        """With everything stopped: another key, the backup put back, the schema of a release."""
        old = self.env["CROFTER_SECRET_KEY"]
        self.env |= {"CROFTER_SECRET_KEY": os.urandom(32).hex(), "CROFTER_FORMER_SECRET_KEYS": old}
        self.done.add("admin rotate-key")
        flags = ["--config", str(self.config)]
        subprocess.run([CROFTER, "admin", "rotate-key", *flags], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.command("admin", "restore", str(self.folder / "backup"), code=1)
        self.command("admin", "restore", str(self.folder / "backup"), "--replace")
        assert self.command("admin", "audit", "verify", "--checkpoint", str(self.folder / "checkpoint")) == []
        subprocess.run([CROFTER, "migrate", *flags], env=self.env, check=True, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        self._exits.close()
        shutil.rmtree(self.folder / "tsdb", ignore_errors=True)
