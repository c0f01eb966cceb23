"""Other test clouds, if installed, with their closest equivalents: a machine, a list of 100, a creation.

moto (Python) uses EC2's interface and keeps machines in memory. Prism (Node) invents responses from our openapi.json
and keeps nothing. Both do less than crofter, so no target depends on them.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from bench import client, machine
from bench.client import Make
from bench.work import INSTANCES, create_instance, get

DOCUMENT = Path(__file__).resolve().parent.parent / "openapi.json"
PATIENCE = 60.0
_CREDENTIAL = "any/20260101/us-east-1/ec2/aws4_request"


class Other(NamedTuple):
    name: str
    command: Callable[[int], list[str]]
    """Returns the command that serves on a port."""
    asked: Callable[[int], tuple[Make, Make, Make]]
    """Returns the requests to the server on a port, once its objects exist."""


def installed(python: str | None) -> list[Other]:
    others = []
    if python is not None and has(python, "moto.server, flask"):
        others.append(Other("moto", lambda port: [python, "-m", "moto.server", f"-p{port}"], _ask_moto))
    if (prism := shutil.which("prism")) is not None:
        flags = ["mock", "--host", "127.0.0.1", str(DOCUMENT)]
        others.append(Other("Prism", lambda port: [prism, *flags, "--port", str(port)], _ask_prism))
    return others


def has(python: str, modules: str) -> bool:
    return subprocess.run([python, "-c", f"import {modules}"], capture_output=True, check=False).returncode == 0


@contextmanager
def serving(other: Other) -> Iterator[tuple[int, Callable[[], list[int]]]]:
    """Yield the port and the processes of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(other.command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield port, lambda: [process.pid, *machine.children(process.pid)]
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _ask_moto(port: int) -> tuple[Make, Make, Make]:
    image = {"ImageId": "ami-12c6146b", "InstanceType": "t2.micro", "MinCount": "1"}
    made = client.send(port, _ec2("RunInstances", image | {"MaxCount": "100", "MinCount": "100"})).body
    number = re.findall(rb"<instanceId>([^<]+)", made)[49].decode()
    contents = (
        _ec2("DescribeInstances", {"InstanceId.1": number}),
        _ec2("DescribeInstances", {"MaxResults": "100"}),
        _ec2("RunInstances", image | {"MaxCount": "1"}),
    )
    single, listed, made_anew = ((lambda _number, content=content: content) for content in contents)
    return single, listed, made_anew


def _ec2(action: str, values: dict[str, str]) -> bytes:
    body = urlencode({"Action": action, "Version": "2016-11-15", **values}).encode()
    lines = (
        "POST / HTTP/1.1",
        "host: 127.0.0.1",
        f"authorization: AWS4-HMAC-SHA256 Credential={_CREDENTIAL}, SignedHeaders=host, Signature=0",
        "content-type: application/x-www-form-urlencoded",
        f"content-length: {len(body)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + body


def _ask_prism(_port: int) -> tuple[Make, Make, Make]:
    """Without the version, which is part of the server's address in the document."""
    single, listed = (get(path.removeprefix("/v4")) for path in (f"{INSTANCES}/50", INSTANCES))
    return single, listed, lambda number: create_instance(number).replace(b" /v4/", b" /", 1)
