"""Environment of the walk: PostgreSQL, processes of crofter and Prometheus, on free ports of this machine."""

from __future__ import annotations

import datetime
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tools.ports import free_ports

ROOT = Path(__file__).resolve().parent.parent.parent
CROFTER = str(Path(sys.executable).with_name("crofter"))
PATIENCE = 90.0
ASKING = httpx2.Client(timeout=30, verify=False, trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))
"""Shared client for internal endpoints: creating a client takes longer than a request."""


def until(what: str, happened: Callable[[], Any]) -> Any:
    """Wait for a true value and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (seen := happened()):
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain: {what}")
        time.sleep(0.1)
    return seen


@contextmanager
def postgresql(programs: Path) -> Iterator[str]:
    """A server from the programs of an installation, such as /usr/lib/postgresql/15/bin; its address."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: a socket's path has few characters
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        user = {"user": "nobody", "group": "nogroup"}
        shutil.chown(folder, "nobody", "nogroup")
    quiet: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, **user}
    data, port = folder / "d", free_ports()
    control = [str(programs / "pg_ctl"), "-w", "-D", str(data), "-l", str(folder / "log")]
    subprocess.run([str(programs / "initdb"), "-A", "trust", "-U", "crofter", "-D", str(data)], **quiet)
    options = f"-p {port} -k {folder} -c listen_addresses= -c fsync=off"
    subprocess.run([*control, "-o", options, "start"], **quiet)
    try:
        made = [str(programs / "createdb"), "-h", str(folder), "-p", str(port), "-U", "crofter", "crofter"]
        subprocess.run(made, **quiet)
        yield f"postgresql://crofter@/crofter?host={folder}&port={port}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)
        shutil.rmtree(folder, ignore_errors=True)


class Process:
    """A process of crofter, with its own log and metrics port."""

    def __init__(self, folder: Path, name: str, *words: str, env: Mapping[str, str]) -> None:
        self.name = name
        self.metrics_port = free_ports()
        self._log = (folder / f"{name}.log").open("w+")
        command = [CROFTER, *words, "--metrics-port", str(self.metrics_port)]
        options: Any = {"env": dict(env), "stdin": subprocess.DEVNULL, "stderr": self._log}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, **options)

    @property
    def inside(self) -> str:
        """Return the address of metrics and health."""
        return f"http://127.0.0.1:{self.metrics_port}"

    def wait_until_ready(self) -> None:
        """Wait for the announcement of the address."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert readable, f"{self.name} does not start:\n{self.log()}"
        assert self.process.stdout.readline(), f"{self.name} has ended:\n{self.log()}"
        until(f"{self.name} is ready", lambda: self.ask("/health/ready").status_code == 200)

    def ask(self, path: str) -> httpx2.Response:
        return ASKING.get(f"{self.inside}{path}")

    def numbers(self) -> dict[str, float]:
        lines = self.ask("/metrics").text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def log(self) -> str:
        return Path(self._log.name).read_text()

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def stop(self) -> int:
        """Stop the process as systemd does, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(60)
        for file in (self.process.stdout, self._log):
            if file is not None:
                file.close()
        return code


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cloud.example")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    signed = builder.not_valid_after(now + datetime.timedelta(days=2)).sign(key, hashes.SHA256())
    files = folder / "fullchain.pem", folder / "privkey.pem"
    files[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption_algorithm=plain)
    )
    return files


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Prometheus:
    """A real one, which scrapes every second and has the rules of deploy/ without their patience."""

    def __init__(self, program: str, folder: Path, targets: Mapping[str, list[int]]) -> None:
        rules = (ROOT / "deploy" / "prometheus" / "crofter.rules.yml").read_text()
        (folder / "rules.yml").write_text(re.sub(r"\n +for: .*", "", rules))
        jobs = [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}
            for job, ports in targets.items()
        ]
        every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        settings = {"global": every, "rule_files": [str(folder / "rules.yml")], "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML too
        port = free_ports()
        self._url = f"http://127.0.0.1:{port}"
        flags = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
        command = [program, *flags, f"--web.listen-address=127.0.0.1:{port}"]
        self._process = subprocess.Popen(command, stderr=(folder / "prometheus.log").open("w"))
        until("Prometheus is ready", lambda: listens(port) and ASKING.get(f"{self._url}/-/ready").status_code == 200)

    def fires(self, alarm: str) -> bool:
        answer = ASKING.get(f"{self._url}/api/v1/alerts").json()
        return any(
            alert["labels"]["alertname"] == alarm for alert in answer["data"]["alerts"] if alert["state"] == "firing"
        )

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)
