"""The image of the Dockerfile, built and run: as a sandbox, and as the processes of the production file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from psycopg.conninfo import conninfo_to_dict
from tools.ports import free_ports

from tests.databases import PostgresServer
from tests.network import Line
from tests.test_container import OURS, ROOT, filled

BASE, IMAGE = "localhost/python:3.11-slim", "localhost/crofter"
PATIENCE = 300
"""Seconds for a container to be ready. Without layers each start copies the whole image."""
LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")
HERE = os.getuid() == 0 and shutil.which("apt-get") is not None

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not HERE, reason="the image is built as root on Debian, with podman and buildah"),
]


class Engine:
    """Debian's podman and buildah, with a storage that is removed in the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._store = ("--root", str(folder / "root"), "--runroot", str(folder / "run"), "--storage-driver", "vfs")

    def build(self) -> None:
        subprocess.run(["sh", "tools/container.sh", str(self.folder), BASE], cwd=ROOT, check=True)
        words = ("--isolation", "chroot", "--network", "host", "--pull-never", "--layers=false", "--format", "docker")
        subprocess.run(["buildah", *self._store, "build", *words, "-t", IMAGE, "."], cwd=ROOT, check=True)

    def podman(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", *self._store, *words]
        return subprocess.run(command, text=True, timeout=PATIENCE, capture_output=True, check=check)

    @contextmanager
    def running(self, *command: str, **variables: str) -> Iterator[str]:
        """The name of a container that runs the image with these variables, on the network of this machine."""
        given = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        secured = ("--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--network", "host")
        started = self.podman("run", "--detach", *secured, *LIMITS, *given, IMAGE, *command)
        name = started.stdout.strip()
        try:
            yield name
        finally:
            stopped = self.podman("stop", "--time", "30", name, check=False)
            code = self.podman("wait", name, check=False).stdout.strip()
            shown = self.log(name)
            self.podman("rm", "--force", "--volumes", name, check=False)
        assert (stopped.returncode, code) == (0, "0"), shown

    def log(self, name: str) -> str:
        shown = self.podman("logs", name, check=False)
        return shown.stdout + shown.stderr

    def wait_until_healthy(self, name: str) -> None:
        """Run the health check of the image until it is content."""
        until = time.monotonic() + PATIENCE
        while (last := self.podman("healthcheck", "run", name, check=False)).returncode:
            assert time.monotonic() < until, f"{last.stdout}{last.stderr}{self.log(name)}"
            time.sleep(0.5)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("images")
    made = Engine(folder)
    made.build()
    yield made
    shutil.rmtree(folder)


def test_the_image_without_settings_is_a_sandbox(engine: Engine) -> None:
    port = str(free_ports())
    with engine.running(CROFTER_PORT=port) as name:
        engine.wait_until_healthy(name)
        shown = engine.log(name)
        key, token = re.search(r"X-Sandbox-Key: (\S+)", shown), re.search(r"token +(\S+)", shown)
        assert key, shown
        assert token, shown
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            assert client.get("/v4/profile", headers={"Authorization": f"Bearer {token[1]}"}).status_code == 200
            made = client.post("/_sandbox/accounts", json={}, headers={"X-Sandbox-Key": key[1]})
            assert made.status_code == 200, made.text
            assert "@mantine/core" in client.get("/console/licences.txt").raise_for_status().text
            assert "The console is not built" not in client.get("/console/").raise_for_status().text


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty database, reached through a port: its socket is not in the containers."""
    name = postgres_server.empty()
    line = Line(f"{conninfo_to_dict(postgres_server.address(name))['host']}/.s.PGSQL.5432")
    yield f"postgresql://postgres@127.0.0.1:{line.port}/{name}"
    line.close()


def test_the_image_runs_the_processes_of_the_production_file(engine: Engine, database: str) -> None:
    variables = {
        name: {key: filled(str(value)) for key, value in service["environment"].items()}
        | {"CROFTER_DATABASE": database, "CROFTER_METRICS_PORT": str(free_ports()), "CROFTER_PORT": str(free_ports())}
        for name, service in OURS.items()
    }
    with engine.running(*OURS["api"]["command"], **variables["api"]) as api:
        engine.wait_until_healthy(api)
        with engine.running(*OURS["worker"]["command"], **variables["worker"]) as worker:
            engine.wait_until_healthy(worker)
            ready = json.loads(engine.podman("exec", api, "crofter", "health").stdout)
            assert ready["parts"]["worker"] is True
            login = engine.podman("exec", api, "cat", "/data/first-login.txt").stdout
            token = re.findall(r"token +(\S+)", login)[0]
            front = f"http://127.0.0.1:{variables['api']['CROFTER_PORT']}"
            answer = httpx2.get(f"{front}/v4/profile", headers={"Authorization": f"Bearer {token}"}, timeout=60)
            assert answer.status_code == 200, answer.text
