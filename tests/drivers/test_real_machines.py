"""A real instance from the cradle to the grave, through the public API: two libvirt hosts, no KVM, and much goes wrong.

``make real`` runs it alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drivers.real import MEDIA, short_folder, why_not
from tests.served import TOKEN, Process, run

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
    pytest.mark.soak,
]

if why_not() is None:
    from tests.drivers.libvirt_fleet import Daemons

PASSWORD = "correct-Horse-7-battery"
OPTIONS = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=5")


def free_ports() -> int:
    """The first of some ports that nobody has, below those that systems give out: instance N is reached at the Nth."""
    for first in range(23000 + os.getpid() % 4000, 32000, 10):
        try:
            for port in range(first + 1, first + 9):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise AssertionError("no port is free")


class World:
    """Two hosts in two regions, a server that may be killed, and a key to sign in with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_ports()
        self.daemons = Daemons(folder / "h", ("us-east", "eu-west"), 1, forward=self.port)
        self.begun = time.monotonic()
        self.env = {"CROFTER_DRIVER": "libvirt", "CROFTER_BOOTSTRAP_TOKEN": TOKEN}
        for name in ("helper", "kernels"):
            (folder / "data" / "media").mkdir(parents=True, exist_ok=True)
            (folder / "data" / "media" / name).symlink_to(MEDIA / name)
        self.server: Process | None = None

    def open(self) -> None:
        self._key()
        self._add_hosts()
        self.serve()

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - self.begun:6.1f} s  {what}", flush=True)

    def _key(self) -> None:
        self.key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)

    def admin(self, *words: str) -> str:
        flags = ("--data", str(self.folder / "data"))
        done = run("admin", *words, *flags, env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _add_hosts(self) -> None:
        self.admin("init")
        tiny = MEDIA / "tiny.qcow2"
        digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
        self.admin("images", "import", str(tiny), "--id", "compute/debian12", "--sum", digest)
        for number, region in self.daemons.regions.items():
            places = ("--pool", str(self.daemons.pool(number)), "--volumes", str(self.daemons.volumes(region)))
            sizes = ("--forward", str(self.port), "--disk", "1000000", "--memory", "100000", "--allow-emulation")
            self.admin("hosts", "add", region, self.daemons.uri(number), *places, *sizes)

    def serve(self) -> None:
        self.server = Process("--log", "json", "--data", str(self.folder / "data"), env=self.env)
        self.client = self.server.client()

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

    # ---- what somebody with an account does -------------------------------------------------------------------------

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self.client.request(method, f"/v4/compute/instances{path}", json=body or None)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def events(self) -> list[Any]:
        found: list[Any] = self.client.get("/v4/account/events").json()["data"]
        return found

    def until(self, seen: Callable[[], bool], seconds: float = 180) -> None:
        ends = time.monotonic() + seconds
        while not seen():
            failed = [event for event in self.events() if event["status"] == "failed"]
            if failed:
                print(*(line for line in self.server.log().splitlines() if '"method"' not in line), sep="\n")  # type: ignore[union-attr]
            assert not failed, failed
            assert time.monotonic() < ends, (self.events()[:3], self.call("GET", "")["data"])
            time.sleep(0.2)

    def status(self, number: int) -> str:
        found: str = self.call("GET", f"/{number}")["status"]
        return found

    def settled(self, number: int, status: str = "running") -> None:
        """Nothing is under way any more, and the instance is so."""
        passing = ("scheduled", "started")
        self.until(
            lambda: not any(event["status"] in passing for event in self.events()) and self.status(number) == status
        )

    def ssh(self, number: int, command: str, *, password: str | None = None) -> str:
        """What a command prints inside the guest, as soon as it lets us in."""
        words = ["ssh", *(f"-o{option}" for option in OPTIONS), "-p", str(self.port + number)]
        if password is None:
            words += ["-i", str(self.key), "-oBatchMode=yes"]
        else:
            words = ["sshpass", "-p", password, *words, "-oPubkeyAuthentication=no"]
        ends = time.monotonic() + 120
        while True:
            done = subprocess.run([*words, "root@127.0.0.1", command], capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.strip()
            assert time.monotonic() < ends, done.stderr
            time.sleep(0.5)


@pytest.fixture
def world() -> Iterator[World]:
    folder = short_folder()
    made = World(folder)
    try:
        made.open()
        yield made
    finally:
        made.close()


def test_an_instance_lives_on_real_hosts_whatever_is_killed(world: World) -> None:
    created = world.call(
        "POST",
        "",
        region="us-east",
        type="g6-nanode-1",
        image="compute/debian12",
        root_pass=PASSWORD,
        label="first",
        authorized_keys=[Path(f"{world.key}.pub").read_text().strip()],
        backups_enabled=True,
    )
    number = created["id"]
    world.until(lambda: world.status(number) == "provisioning")
    world.kill_server()
    world.say("the server was killed while it deployed, and started again")
    world.settled(number)
    world.say("running")
    address = world.ssh(number, "ip -4 -o addr show eth0")
    assert f" {created['ipv4'][0]}/" in address, "the guest has the address that the interface shows"
    assert world.ssh(number, "hostname", password=PASSWORD) == "first"
    world.say("signed in with key and password")
    _crash_daemon_and_guest(world, number)
    _save_and_restore(world, number)
    _resize_and_clone(world, number)
    _migrate(world, number)
    _leave_nothing(world)


def _crash_daemon_and_guest(world: World, number: int) -> None:
    host = next(iter(world.daemons.regions))
    world.daemons.unplug(host)
    assert world.ssh(number, "echo alive") == "alive"
    assert world.status(number) == "running", "unknown is not off"
    world.daemons.plug(host)
    domain = next(name for name in world.daemons.left() if name.endswith(f"-i-{number}"))
    world.ssh(number, "echo kept > /root/file; sync")
    os.kill(world.daemons.process_of(host, domain), 9)
    world.until(lambda: any(event["action"] == "lassie_reboot" for event in world.events()))
    world.say("libvirtd was killed, then QEMU; the watchdog has noticed")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"


def _save_and_restore(world: World, number: int) -> None:
    saved = world.call("POST", f"/{number}/backups", label="before")
    world.settled(number)
    world.say("a snapshot was taken of the running machine")
    world.ssh(number, "rm /root/file; sync")
    world.call("POST", f"/{number}/backups/{saved['id']}/restore", compute_id=number, overwrite=True)
    world.until(lambda: world.status(number) in ("offline", "running") and _quiet(world))
    if world.status(number) == "offline":
        world.call("POST", f"/{number}/boot")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"
    world.say("and restored")


def _quiet(world: World) -> bool:
    return not any(event["status"] in ("scheduled", "started") for event in world.events())


def _resize_and_clone(world: World, number: int) -> None:
    world.call("POST", f"/{number}/resize", type="g6-standard-1", allow_auto_disk_resize=True)
    world.until(lambda: world.status(number) != "running")
    world.kill_server()
    world.settled(number)
    memory = int(world.ssh(number, "free -m | awk '/^Mem/{print $2}'"))
    assert memory > 1500, memory
    world.say("resized, while the server was killed")
    world.call("POST", f"/{number}/shutdown")
    world.settled(number, "offline")
    copy = world.call("POST", f"/{number}/clone", region="us-east", type="g6-standard-1")["id"]
    world.settled(copy, "offline")
    world.say("shut down and cloned")
    world.call("DELETE", f"/{copy}")


def _migrate(world: World, number: int) -> None:
    world.until(lambda: _quiet(world))
    world.call("POST", f"/{number}/migrate", region="eu-west")
    world.until(lambda: _quiet(world) and world.call("GET", f"/{number}")["region"] == "eu-west")
    if world.status(number) == "offline":
        world.call("POST", f"/{number}/boot")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"
    world.say("migrated to the other host")


def _leave_nothing(world: World) -> None:
    for instance in world.call("GET", "")["data"]:
        world.call("DELETE", f"/{instance['id']}")
    world.until(lambda: world.call("GET", "")["data"] == [] and _quiet(world))
    world.until(lambda: world.daemons.left() == [], 60)
    assert world.admin("hosts", "reconcile", "--json").strip() == "[]"
    world.say("deleted, and nothing is left on the hosts")
