"""Real instances for tests, through the public API: libvirt hosts without KVM, and a server that may be killed."""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tools.ports import free_ports

from crofter.drivers.hypervisor.libvirt.binding import LibvirtError
from tests.drivers.libvirt_fleet import Daemons
from tests.drivers.real import MEDIA
from tests.served import CROFTER, TOKEN, Process, environment

PASSWORD = "correct-Horse-7-battery"
PORTS = 5
"""Ports per host. Two hosts of a region share a machine's port during its move."""
OPTIONS = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=60")
PATIENCE = 400.0
"""Seconds. What takes half a minute here takes several where the processors have other work."""


def answers(port: int, patience: float = 5) -> bool:
    """True if the guest's SSH responds, checked without a process, which would take CPU time from the guest.

    QEMU accepts the connection before the guest is ready, and retries slowly: frequent short attempts are faster.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), patience) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


class RealCloud:
    """Two hosts, a server that may be killed, and a key to sign in with."""

    def __init__(self, folder: Path, regions: tuple[str, ...] = ("us-east", "eu-west"), each: int = 1) -> None:
        self.folder = folder
        self._first_port = free_ports(2 * PORTS)
        self.daemons = self.make_daemons(folder / "h", regions, each)
        self.begun = time.monotonic()
        self.env = {"CROFTER_DRIVER": "libvirt", "CROFTER_BOOTSTRAP_TOKEN": TOKEN}
        for name in ("helper", "kernels"):
            (folder / "data" / "media").mkdir(parents=True, exist_ok=True)
            (folder / "data" / "media" / name).symlink_to(MEDIA / name)
        self.server: Process | None = None
        self._ports: dict[int, int] = {}

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def make_daemons(self, folder: Path, regions: tuple[str, ...], each: int) -> Daemons:
        return Daemons(folder, regions, each)

    def open(self) -> None:
        self._key()
        self._add_hosts()
        self.serve()

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - self.begun:6.1f} s  {what}", flush=True)

    @property
    def first_region(self) -> str:
        return next(iter(self.daemons.regions.values()))

    def _key(self) -> None:
        self.key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)

    def admin(self, *words: str) -> str:
        command = [CROFTER, "admin", *words, "--data", str(self.folder / "data")]
        completed = subprocess.run(command, env=environment(**self.env), capture_output=True, text=True, timeout=300)
        assert completed.returncode == 0, completed.stderr
        self.admin_stderr = completed.stderr
        return completed.stdout

    def _add_hosts(self) -> None:
        self.admin("init")
        tiny = MEDIA / "tiny.qcow2"
        digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
        self.admin("images", "import", str(tiny), "--id", "compute/debian12", "--sum", digest)
        for number, region in self.daemons.regions.items():
            places = ("--pool", str(self.daemons.pool(number)), "--volumes", str(self.daemons.volumes(region)))
            sizes = ("--disk", "1000000", "--memory", "100000")
            words = (*places, *sizes, *self.network(number), "--allow-emulation")
            self.admin("hosts", "add", region, self.daemons.uri(number), *words)

    def network(self, number: int) -> tuple[str, ...]:
        """Return the network options of a host for the command that adds it."""
        return "--forward", str(self.forward(number))

    def forward(self, host: int) -> int:
        """The port of machine 0 of a host."""
        beside = [number for number, region in self.daemons.regions.items() if region == self.daemons.regions[host]]
        return self._first_port + PORTS * beside.index(host)

    def port(self, number: int) -> int:
        """Where an instance is signed in to, on the host that has it now."""
        try:
            self._ports[number] = self.forward(self.daemons.host_of(f"-i-{number}")) + number
        except LibvirtError:
            pass  # a daemon was killed, and its machines are where they were
        return self._ports[number]

    def serve(self) -> None:
        self.server = Process("--log", "json", "--data", str(self.folder / "data"), env=self.env)
        self.client = self.server.client(patient=True)

    def kill_server(self) -> None:
        self._stop_server()
        self.serve()

    def _stop_server(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.client.close()
            self.server.close()
            self.server = None

    def close(self) -> None:
        self._stop_server()
        self.daemons.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # calls of a user

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self.client.request(method, f"/v4/compute/instances{path}", json=body or None)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def events(self) -> list[Any]:
        events: list[Any] = self.client.get("/v4/account/events").json()["data"]
        return events

    def until(self, seen: Callable[[], bool], seconds: float = PATIENCE) -> None:
        ends = time.monotonic() + seconds
        while not seen():
            failed = [event for event in self.events() if event["status"] == "failed"]
            if failed:
                print(*(line for line in self.server.log().splitlines() if '"method"' not in line), sep="\n")  # type: ignore[union-attr]
            assert not failed, failed
            assert time.monotonic() < ends, (self.events()[:3], self.call("GET", "")["data"], self.daemons.left())
            time.sleep(0.2)

    def create(self, label: str, **more: Any) -> Any:
        """Create the smallest instance in the first region, with a key or a password."""
        wanted = {
            "region": self.first_region,
            "type": "g6-nanode-1",
            "image": "compute/debian12",
            "root_pass": PASSWORD,
        }
        keys = [Path(f"{self.key}.pub").read_text().strip()]
        return self.call("POST", "", **wanted, label=label, authorized_keys=keys, **more)

    def status(self, number: int) -> str:
        status: str = self.call("GET", f"/{number}")["status"]
        return status

    def settled(self, number: int, status: str = "running") -> None:
        """Wait until all work has ended and check the status."""
        passing = ("scheduled", "started")
        self.until(
            lambda: not any(event["status"] in passing for event in self.events()) and self.status(number) == status
        )

    def ssh(self, number: int, command: str, *, password: str | None = None) -> str:
        """Return the output of a command inside the guest, waiting for SSH."""
        words = self.sign_in(number, password)
        ends = time.monotonic() + PATIENCE
        while True:
            if self.listens(number):
                done = subprocess.run([*words, command], capture_output=True, text=True)
                if done.returncode == 0:
                    return done.stdout.strip()
                assert time.monotonic() < ends, done.stderr
            assert time.monotonic() < ends, "nobody answers"
            time.sleep(0.2)

    def listens(self, number: int) -> bool:
        """True if the guest's SSH port responds."""
        return answers(self.port(number))

    def lets_in(self, number: int, password: str) -> bool:
        """True if a running guest accepts this password."""
        return subprocess.run([*self.sign_in(number, password), "true"], capture_output=True).returncode == 0

    def sign_in(self, number: int, password: str | None) -> list[str]:
        words = ["ssh", *(f"-o{option}" for option in OPTIONS)]
        if password is None:
            words += ["-i", str(self.key), "-oBatchMode=yes"]
        else:
            words = ["sshpass", "-p", password, *words, "-oPubkeyAuthentication=no"]
        return [*words, *self.guest_at(number)]

    def guest_at(self, number: int) -> tuple[str, ...]:
        return "-p", str(self.port(number)), "root@127.0.0.1"
